"""What a release says of itself in the builds chain: digests of everything that makes it (layer L4)."""

import hashlib
import secrets
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from receipt_writer.errors import RequestRefusedError

PRODUCT = "prometheus-agent"
VERIFIERS = ("verify.py", "verify.mjs")

_PIECE_BYTES = 1 << 20
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_TIME_BITS, _RANDOM_BITS = 48, 80


@dataclass(frozen=True)
class Release:
    """A release as the person who makes it names it; empty texts are versions that do not apply."""

    version: str
    artefacts: tuple[Path, ...]
    lock: Path
    gate_verdict: str
    gate_report: Path | None
    prompt_version: str
    model_version: str
    config_version: str


def build_draft(release: Release) -> dict[str, object]:
    """Return the L4 draft of a release; the verifiers are those of this installation.

    Raises:
        RequestRefusedError: A file cannot be read, or a verifier is missing from this installation.
    """
    return {
        "productId": PRODUCT,
        "buildId": _build_id(time.time_ns() // 1_000_000),
        "version": release.version,
        "artefacts": [{"name": path.name, "digest": file_digest(path)} for path in release.artefacts],
        "lockHash": file_digest(release.lock),
        "verifiers": [{"name": path.name, "digest": file_digest(path)} for path in verifier_files()],
        "promptVersion": release.prompt_version,
        "modelVersion": release.model_version,
        "configVersion": release.config_version,
        "gateVerdict": release.gate_verdict,
        "gateReportHash": file_digest(release.gate_report) if release.gate_report else None,
    }


def verifier_files() -> tuple[Path, ...]:
    """Return the files of the installed verifiers; they are found, never imported."""
    spec = find_spec("verifier")
    folders = [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []
    return tuple(next((path for f in folders if (path := f / name).is_file()), Path(name)) for name in VERIFIERS)


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, lower hex.

    Raises:
        RequestRefusedError: It cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE_BYTES):
                digest.update(piece)
    except OSError as error:
        raise RequestRefusedError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}.") from error
    return digest.hexdigest()


def _build_id(now_ms: int) -> str:
    """Return `b_` and a ULID: 48 bits of time, 80 random ones, in Crockford's base32."""
    number = (now_ms & (1 << _TIME_BITS) - 1) << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
    return "b_" + "".join(_CROCKFORD[number >> 5 * place & 31] for place in reversed(range(26)))
