"""What an address of a web service and a key or token for it may be: one rule each, whoever reads them. Pure."""

from __future__ import annotations

from urllib.parse import urlsplit


def is_web_address(address: str) -> bool:
    """Tells whether a text is an `http` or `https` address with a host."""
    try:
        parts = urlsplit(address)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def is_token(text: str) -> bool:
    """Tells whether a text can be sent as a key or a bearer token: printable ASCII without blanks, and not empty."""
    return bool(text) and text.isascii() and text.isprintable() and " " not in text
