"""When two texts are the same text: the form that is compared and its hash. Pure."""

from __future__ import annotations

import hashlib
import unicodedata


def normalised(text: str) -> str:
    """Returns the text with compatible characters, case and white space made one (NFKC, casefold, single spaces)."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def body_hash(body: str) -> str:
    """Returns the SHA-256 of the normalised body as 64 lower hex digits; equal in one scope means the same memory."""
    return hashlib.sha256(normalised(body).encode()).hexdigest()
