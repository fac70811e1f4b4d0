"""One server's pin: what of its tools may be offered, kept up with what it lists and with what its person accepts."""

from __future__ import annotations

from dataclasses import replace

from agent_host.mcp_clients import pinning
from agent_host.mcp_clients.pinning import Change, Manifest, ManifestFolder, ManifestVersion, Tools
from agent_host.mcp_clients.server_config import ServerConfig
from agent_host.mcp_clients.tool_changes import difference


class Pin:
    """Without a `folder` nothing is kept and whatever the server lists is offered.

    `version` is the product's, by which its own servers are pinned.
    """

    def __init__(self, config: ServerConfig, folder: ManifestFolder | None, version: str) -> None:
        self._config = config
        self._folder = folder
        self._version = version if config.builtin or folder is None else ""
        self._listed: Tools | None = None
        self._manifest = None if folder is None else folder.read(config.name)
        if self._manifest is not None and self._manifest.version != self._version:
            self._manifest = None if self._version else self._manifest  # ours of another version is seen anew

    @property
    def known(self) -> bool:
        """Whether there is a list to offer before the server has been asked."""
        return self._manifest is not None and bool(self._manifest.tools)

    @property
    def tools(self) -> Tools:
        """The tools that may be offered."""
        return () if self._manifest is None else pinning.offered(self._manifest)

    @property
    def pending(self) -> Tools:
        """What the server lists now, where nobody has accepted it."""
        return (self._manifest.pending if self._manifest else None) or ()

    @property
    def change(self) -> Change | None:
        """What the server changed and nobody has accepted."""
        manifest = self._manifest
        return (
            None
            if manifest is None or manifest.pending is None
            else pinning.change_between(manifest.tools, manifest.pending)
        )

    @property
    def changed_lines(self) -> tuple[str, ...]:
        """What the server changed and nobody has accepted, line by line."""
        manifest = self._manifest
        waits = manifest is not None and manifest.pending is not None
        return difference(manifest.tools, manifest.pending or ()) if manifest is not None and waits else ()

    @property
    def wants_answer(self) -> bool:
        """Whether there is a change that nobody has said yes or no to."""
        return self.change is not None and self._manifest is not None and not self._manifest.refused

    def observe(self, listed: Tools) -> None:
        """Takes in what the server lists now."""
        if listed is self._listed:
            return
        self._listed = listed
        if self._manifest is None:
            made = pinning.first_seen(self._config.name, listed, source_of(self._config), version=self._version)
        else:
            made = pinning.seen(self._manifest, listed, source_of(self._config), version=self._version)
        self._keep(made)

    def refresh(self) -> None:
        """Takes in what another process, such as `agent-host mcp accept`, wrote."""
        kept = None if self._folder is None or self._version else self._folder.read(self._config.name)
        if kept is not None and kept != self._manifest:
            self._manifest = kept
            listed, self._listed = self._listed, None
            if listed is not None:
                self.observe(listed)

    def answer(self, *, yes: bool) -> None:
        """Takes in what a person said about the change."""
        if self._manifest is not None and self._manifest.pending is not None:
            settle = pinning.accepted if yes else pinning.refused
            self._keep(settle(self._manifest, source_of(self._config)))

    def unrecorded(self) -> tuple[ManifestVersion, ...]:
        """Returns what the ledger has not been told of, oldest first."""
        return () if self._manifest is None else self._manifest.unrecorded

    def recorded(self, version: ManifestVersion) -> None:
        """Takes note that the ledger has a version now."""
        if self._manifest is not None:
            left = tuple(one for one in self._manifest.unrecorded if one.id != version.id)
            self._keep(replace(self._manifest, unrecorded=left))

    def _keep(self, manifest: Manifest) -> None:
        if self._folder is not None and manifest != self._manifest:
            self._folder.write(manifest)
        self._manifest = manifest


def source_of(config: ServerConfig) -> str:
    """Returns where a server comes from, without arguments, environment and query, which may hold secrets."""
    return f"stdio: {config.command}" if config.command is not None else config.address
