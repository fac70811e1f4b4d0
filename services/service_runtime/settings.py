"""Settings: command line > environment > nearest `.env` upward > `<home>/.env` > defaults (architecture, Processes).

Only entry points call `load_settings`; everything else is handed the frozen result, and `os.environ` is never changed.
"""

import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from service_runtime.errors import SetupError
from service_runtime.home import Home

_PREFIX = "PROMETHEUS_"
_OTEL = "OTEL_"
_READ = (_PREFIX, _OTEL, "ANTHROPIC_API_KEY", "OPENAI_API_KEY")
_HOST_ONLY = {f"{_PREFIX}{name}" for name in ("API_KEY", "WRITER_TOKEN", "WRITER_TOKEN_FILE")}  # of no use to a child


@dataclass(frozen=True)
class Settings:
    """What a process was told, merged by precedence; an empty value counts as not set."""

    home: Home
    values: Mapping[str, str] = field(default_factory=dict, repr=False)  # full names; may hold secrets, so no repr

    def get(self, name: str, default: str | None = None) -> str | None:
        """Return `PROMETHEUS_<name>`, or the default."""
        return self.values.get(_PREFIX + name, default)

    def outside(self, name: str) -> str | None:
        """Return a name that is not ours, such as `ANTHROPIC_API_KEY` or `OTEL_EXPORTER_OTLP_ENDPOINT`."""
        return self.values.get(name)

    def environment(self) -> dict[str, str]:
        """Return the `PROMETHEUS_*` and `OTEL_*` pairs for a child, home included, the host's own secrets left out."""
        ours = {name for name in self.values if name.startswith((_PREFIX, _OTEL))} - _HOST_ONLY
        return {name: self.values[name] for name in ours} | {f"{_PREFIX}HOME": str(self.home.path)}

    def zone(self) -> ZoneInfo:
        """Return the zone of `PROMETHEUS_TIMEZONE`, else the system's.

        Raises:
            SetupError: The name is no IANA zone.
        """
        name = self.get("TIMEZONE") or _system_zone()
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise SetupError(
                f"The time zone {name!r} is unknown; set PROMETHEUS_TIMEZONE to an IANA name such as Europe/Berlin."
            ) from error


def load_settings(environ: Mapping[str, str], cwd: Path, home: str | None = None) -> Settings:
    """Merge the sources for one process; `home` is the command line's `--home`.

    Raises:
        SetupError: A `.env` cannot be read or has a broken line, or the home folder's name cannot be expanded.
    """
    nearest = next((folder / ".env" for folder in (cwd, *cwd.parents) if _is_file(folder / ".env")), None)
    values = (_read(nearest) if nearest else {}) | _ours(environ)
    root = _home_path(home or values.get(f"{_PREFIX}HOME"), cwd)
    if root / ".env" != nearest and _is_file(root / ".env"):
        values = _read(root / ".env") | values
    return Settings(Home(root), values)


def _home_path(told: str | None, cwd: Path) -> Path:
    if not told:
        import platformdirs

        return platformdirs.user_data_path("prometheus-agent", appauthor=False)
    try:
        return cwd / Path(told).expanduser()
    except RuntimeError as error:
        raise SetupError(
            f"The home folder {told!r} names an unknown user; set PROMETHEUS_HOME to a full path."
        ) from error


def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 - unlike Path.is_file, False where we may not look


def _ours(pairs: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in pairs.items() if value and name.startswith(_READ)}


def _read(path: Path) -> dict[str, str]:
    from dotenv.parser import parse_stream  # imported late: most processes have no .env

    try:
        bindings = list(parse_stream(io.StringIO(path.read_text(encoding="utf-8"))))
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"{path} cannot be read as UTF-8 text; repair it, remove it, or allow reading it.") from error
    for binding in bindings:
        if binding.error or (binding.value is None and (binding.key or "").startswith(_READ)):
            text = binding.original.string
            blank = text[: len(text) - len(text.lstrip())].count("\n")  # the parser counts from the lines before
            line = binding.original.line + blank
            raise SetupError(f"{path} line {line} is not NAME=value: put the value after = and close every quote.")
    return _ours({binding.key: binding.value for binding in bindings if binding.key})


def _system_zone() -> str:
    import tzlocal

    return tzlocal.get_localzone_name() or "UTC"
