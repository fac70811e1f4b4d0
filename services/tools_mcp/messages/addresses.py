"""Recipients as a mail header takes them (RFC 5322): `jane@example.org`, `Doe, Jane <jane@example.org>`, a mere name.

Python's own writer of headers reads encoded words in what it is given (RFC 2047), so that a subject could hold a line
break and another header; here every text that is not plain is encoded whole, and so read as what it was.
"""

import re
from dataclasses import dataclass
from email.header import Header

import idna

_SPEC = re.compile(r'(?P<user>"[^"\\\x00-\x1f]+"|[^\s\x00-\x1f\x7f"(),:;<>@\[\]\\]+)@(?P<host>[^\s"(),:;<>@\\]+)')
_NAMED = re.compile(r'(?P<name>[^<>]*|"(?:[^"\\]|\\.)*")\s*<(?P<spec>[^<>]*)>')
_ESCAPED = re.compile(r"\\(.)")
_LITERAL = re.compile(r"\[[0-9A-Fa-f.:]+\]")
_PLAIN = re.compile(r"[ -~]*")
_MOST_USER_BYTES = 64
_MOST_LINE = 70


@dataclass(frozen=True)
class Mailbox:
    """An address that mail can go to; the host is ASCII (IDNA 2008), the user may not be (RFC 6531)."""

    name: str
    user: str
    host: str


def mailbox(text: str) -> Mailbox | None:
    """Return the one address in a text, with its name when it has one; None for text that is no address."""
    named = _NAMED.fullmatch(text.strip())
    found = _SPEC.fullmatch((named["spec"] if named else text).strip())
    if found is None or not _is_user(found["user"]):
        return None
    host = _ascii_host(found["host"])
    return Mailbox(_unquoted(named["name"].strip()) if named else "", found["user"], host) if host else None


def header(name: str, text: str) -> str:
    """Return a header line of a text, folded where it is long."""
    return f"{name}: {_text(text, name)}\r\n"


def address_header(name: str, recipients: tuple[str, ...]) -> str:
    """Return a header line of recipients; a mere name is an empty group, since a header has no other place for one."""
    told = ",\r\n ".join(map(_recipient, recipients))
    return f"{name}: {told}\r\n"


def _recipient(text: str) -> str:
    found = mailbox(text)
    if found is None:
        return f"{_phrase(text)}:;"
    address = f"{found.user}@{found.host}"
    return f"{_phrase(found.name)} <{address}>" if found.name else address


def _phrase(text: str) -> str:
    if not _PLAIN.fullmatch(text) or "=?" in text:
        return _encoded(text, "To")
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'


def _text(text: str, name: str) -> str:
    is_plain = _PLAIN.fullmatch(text) and "=?" not in text and len(text) <= _MOST_LINE
    return text if is_plain else _encoded(text, name)


def _encoded(text: str, name: str) -> str:
    return Header(text, charset="utf-8", header_name=name, maxlinelen=76).encode(linesep="\r\n")


def _is_user(user: str) -> bool:
    dots = not user.startswith('"') and (user.startswith(".") or user.endswith(".") or ".." in user)
    return not dots and "=?" not in user and len(user.encode()) <= _MOST_USER_BYTES


def _ascii_host(host: str) -> str | None:
    if _LITERAL.fullmatch(host):
        return host
    try:
        return idna.encode(host, uts46=True).decode()
    except (idna.IDNAError, UnicodeError):
        return None


def _unquoted(name: str) -> str:
    is_quoted = len(name) > 1 and name.startswith('"') and name.endswith('"')
    return _ESCAPED.sub(r"\1", name[1:-1]).strip() if is_quoted else name
