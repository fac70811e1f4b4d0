"""What must not leave a process in a span: text that has the shape of a known kind of token (agent.md row 88)."""

import re
from typing import Final

HIDDEN: Final = "***"

_SECRET_SHAPES = re.compile(
    r"(?i:bearer)\s+[A-Za-z0-9._~+/=-]{8,}"  # RFC 6750 section 2.1
    r"|\b[spr]k-[A-Za-z0-9_-]{16,}"  # model providers' keys
    r"|\bgh[a-z]{1,2}_[A-Za-z0-9]{20,}"
    r"|\bxox[a-z]-[A-Za-z0-9-]{10,}"
    r"|\bAKIA[0-9A-Z]{16}\b"
    r"|\beyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"  # RFC 7519 compact form
    r"|(?<=://)[^/\s:@\"]+:[^/\s@\"]+(?=@)"  # RFC 3986 section 3.2.1
)
_ASSIGNED = re.compile(
    r"(?i)((?<![a-z])(?:(?:api|access|private)[_-]?key|token|secret|password|passwd))=[^\s&\"'<>;,*]{4,}"
)


def redact_text(text: str) -> str:
    """Return the text with every token-shaped part hidden."""
    return _ASSIGNED.sub(rf"\1={HIDDEN}", _SECRET_SHAPES.sub(HIDDEN, text))
