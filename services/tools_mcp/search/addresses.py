"""Which web addresses may be fetched, and which network addresses count as public. Pure.

A fetch tool is led by text from the web, so it must not reach what only this machine can reach: loopback, private and
link-local networks, carrier-grade NAT, cloud metadata services. Names are judged here before they are resolved, every
resolved address is judged before a connection is made. An address written in an unusual way is refused, not guessed.
"""

import ipaddress
import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, urlsplit

MOST_CHARACTERS = 2000
_PORTS = {"http": (80, 8080), "https": (443, 8443)}
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_MOST_NAME = 253
_LOCAL_ENDINGS = frozenset(  # RFC 6761, 6762, 7686, 8375, and what home and office routers serve
    (
        "localhost",
        "local",
        "localdomain",
        "internal",
        "intranet",
        "lan",
        "home",
        "corp",
        "private",
        "home.arpa",
        "onion",
    )
)
_UNQUOTED = "/?%:@!$&'()*+,;=~-._[]#"
_NOT_PUBLIC_4 = tuple(
    map(
        ipaddress.IPv4Network,
        (  # the IANA special-purpose registry, 6to4 relays, multicast, reserved; and Azure's agent, which hosts answer
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24"),
            *("203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32"),
        ),
    )
)
_UNICAST_6 = ipaddress.IPv6Network("2000::/3")  # outside it: loopback, mapped, NAT64, ULA, link-local, multicast
_NOT_PUBLIC_6 = tuple(  # inside it: Teredo and other protocol ranges, documentation, 6to4
    map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"))
)


@dataclass(frozen=True)
class Refusal:
    """An address that is not fetched; `reason` is one sentence."""

    reason: str


_NO_NAME = Refusal("The host is no valid name; send one such as example.org.")
_TOO_LONG = Refusal(f"The address is longer than {MOST_CHARACTERS} characters; send a shorter one.")


@dataclass(frozen=True)
class Target:
    """An address that may be looked up: all ASCII, the host in lower case without brackets or a dot at its end."""

    scheme: str
    host: str
    port: int
    path: str
    """The path and the query, as they go into the request."""

    @property
    def authority(self) -> str:
        """The host and, when it is not the scheme's own, the port: what the Host header says (RFC 9110, 7.2)."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme][0] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """The scheme and the authority."""
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        """The whole address, without a fragment."""
        return f"{self.origin}{self.path}"

    @property
    def is_literal(self) -> bool:
        """Whether the host is an IP address and no name."""
        return ":" in self.host or self.host.rpartition(".")[2].isdecimal()


def read_target(url: str) -> Target | Refusal:
    """Return where an address leads, or why it is not fetched; nothing is looked up."""
    if len(url) > MOST_CHARACTERS:
        return _TOO_LONG
    if "\\" in url or any(unicodedata.category(character)[0] in "CZ" for character in url):
        return Refusal("The address holds a space, a backslash or a hidden character; send it as a browser shows it.")
    try:
        parts = urlsplit(url)
        return _target(parts, parts.port)
    except ValueError:
        return Refusal("The address cannot be read; send one such as https://example.org/page.")


def _target(parts: SplitResult, told_port: int | None) -> Target | Refusal:
    scheme = parts.scheme
    if scheme not in _PORTS or not parts.netloc:
        return Refusal("Only http and https addresses are fetched; send one such as https://example.org/page.")
    if "@" in parts.netloc or "%" in parts.netloc:
        return Refusal("The address has a user name or an escaped character in its host; send it without.")
    host = _host(parts.netloc)
    if isinstance(host, Refusal):
        return host
    port = _PORTS[scheme][0] if told_port is None else told_port
    if port not in _PORTS[scheme]:
        allowed = " and ".join(map(str, _PORTS[scheme]))
        return Refusal(f"Port {port} is not fetched from; for {scheme} the ports are {allowed}.")
    path = quote(parts.path or "/", safe=_UNQUOTED)
    target = Target(scheme, host, port, f"{path}?{quote(parts.query, safe=_UNQUOTED)}" if parts.query else path)
    return target if len(target.url) <= MOST_CHARACTERS else _TOO_LONG


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet; anything else, also no address at all, is not."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv4Address):
        return not any(found in network for network in _NOT_PUBLIC_4)
    return found.scope_id is None and found in _UNICAST_6 and not any(found in network for network in _NOT_PUBLIC_6)


def not_public(host: str) -> Refusal:
    """Return the refusal of a host that does not lead into the public internet."""
    return Refusal(f"{host} does not lead into the public internet, so nothing is fetched from it.")


def _host(netloc: str) -> str | Refusal:
    if netloc.startswith("["):
        inside, _, port = netloc[1:].partition("]")
        return _literal_6(inside) if port[:1] in {"", ":"} else _NO_NAME
    name = _in_ascii(netloc.partition(":")[0])
    if name is None:
        return _NO_NAME
    labels = name.removesuffix(".").split(".")
    if re.fullmatch(r"\d+|0x[0-9a-f]*", labels[-1]):  # the URL Standard reads this as IPv4, in many notations
        return _literal_4(".".join(labels))
    if len(name) > _MOST_NAME or not all(_LABEL.fullmatch(label) for label in labels):
        return _NO_NAME
    endings = {".".join(labels[at:]) for at in range(len(labels))}
    return not_public(".".join(labels)) if len(labels) == 1 or endings & _LOCAL_ENDINGS else ".".join(labels)


def _in_ascii(name: str) -> str | None:
    """Return a name in lower case and in the letters of DNS; forms that only look like ASCII become it (UTS 46)."""
    if name.isascii():
        return name.lower()
    import idna

    try:
        return idna.encode(name, uts46=True).decode().lower()
    except (idna.IDNAError, UnicodeError):
        return None


def _literal_4(text: str) -> str | Refusal:
    try:
        address = ipaddress.IPv4Address(text)
    except ValueError:
        return Refusal("The host is a number in an unusual notation; send a name or four plain decimal numbers.")
    return str(address) if is_public(str(address)) else not_public(str(address))


def _literal_6(text: str) -> str | Refusal:
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return Refusal("The host is no IPv6 address; send a name such as example.org.")
    return str(address) if is_public(str(address)) else not_public(str(address))
