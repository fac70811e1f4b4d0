"""Bodies as they come over the wire, unpacked within a bound, and text in whatever character set it is. Pure."""

import codecs
import re
import zlib
from dataclasses import dataclass, field

ACCEPTED = "gzip, deflate"
_GZIP = zlib.MAX_WBITS | 16
_TELLING = 2  # the bytes that tell zlib's header from bare deflate
_META = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
_HEAD_BYTES = 4096
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_AS_BROWSERS_DO = {  # the Encoding Standard reads these labels as larger sets
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "tis-620": "cp874",
}
_NEVER = frozenset(("utf_7", "idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "mbcs", "oem"))


class UnreadableBodyError(Exception):
    """The body is not packed the way its header says."""


@dataclass
class Unpacker:
    """Collects a body, unpacking it as it comes; stops at `most` bytes, packed or unpacked, whatever it claims to be.

    A packed bomb costs no more than `most` bytes: each step unpacks only what still fits.
    """

    encoding: str
    most: int
    body: bytearray = field(default_factory=bytearray)
    is_cut: bool = False
    _taken: int = 0
    _start: bytes = b""
    _machine: "zlib._Decompress | None" = None
    _members: int = 0

    def __post_init__(self) -> None:
        if self.encoding not in {"", "identity", "gzip", "x-gzip", "deflate"}:
            raise UnreadableBodyError

    def feed(self, chunk: bytes) -> None:
        """Take the next piece.

        Raises:
            UnreadableBodyError: It is not packed the way the header says.
        """
        fitting = chunk[: self.most - self._taken]
        self._taken += len(fitting)
        if self.encoding in {"", "identity"}:
            self.body += fitting
        else:
            self._unpack(fitting)
        self.is_cut |= len(fitting) < len(chunk)

    def end(self) -> None:
        """Say that no more comes: a packed body without its end was cut on its way."""
        self.is_cut |= self._machine is not None or (bool(self._start) and not self._members)

    def _unpack(self, chunk: bytes) -> None:
        chunk, self._start = self._start + chunk, b""
        while chunk and not self.is_cut:
            if self._machine is None and len(chunk) < _TELLING:
                self._start = chunk
                return
            self._machine = self._machine or zlib.decompressobj(self._window(chunk))
            try:
                self.body += self._machine.decompress(chunk, self.most - len(self.body) + 1)
            except zlib.error as error:
                if self._members:  # what follows a whole one is padding, and browsers let it be
                    self._machine = None
                    return
                raise UnreadableBodyError from error
            if len(self.body) > self.most:
                del self.body[self.most :]
                self.is_cut = True
            chunk = self._machine.unused_data  # another member of the same file (RFC 1952, 2.2)
            if self._machine.eof:
                self._machine = None
                self._members += 1

    def _window(self, chunk: bytes) -> int:
        if self.encoding != "deflate":
            return _GZIP
        is_zlib = chunk[0] & 15 == 8 and (chunk[0] << 8 | chunk[1]) % 31 == 0  # noqa: PLR2004 - RFC 1950, 2.2
        return zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS  # servers send both and call them deflate


def text_of(body: bytes, declared: str = "", *, is_html: bool = False) -> str:
    """Return the text: a byte order mark counts first, then the header, then the page's own word, then a guess."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, errors="replace")
    found = _META.search(body[:_HEAD_BYTES]) if is_html else None
    told = found.group(1).decode("ascii") if found else ""
    if told.lower().startswith("utf-16"):  # whoever can read the tag is not reading UTF-16 (HTML Standard, 13.2.3.2)
        told = "utf-8"
    for label in (declared, told):
        if name := _codec(label):
            return body.decode(name, errors="replace")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":  # cut in the middle of a character
            return body.decode("utf-8", errors="replace")
        return body.decode(_guess(body), errors="replace")


def _codec(label: str) -> str:
    """Return Python's name of a character set, or nothing where it has none that is safe to use on strange bytes."""
    try:
        name = codecs.lookup(label.strip().strip("\"'")).name
        "".encode(name)
    except (LookupError, ValueError, AttributeError):
        return ""
    return "" if name.replace("-", "_") in _NEVER else _AS_BROWSERS_DO.get(name, name)


def _guess(body: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(body[:20_000]).best()
    return best.encoding if best else "cp1252"
