"""A web on the loopback interface: real HTTP and HTTPS servers, names that lead to public addresses, all recorded.

The rules of the fetcher stay in force: the resolver gives public addresses, and the connector takes a connection to one
of them to a server here. Nothing else is connected to.
"""

import datetime as dt
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpcore2
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PUBLIC, OTHER_PUBLIC = "93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"
Answering = Callable[[BaseHTTPRequestHandler], None]


@dataclass(frozen=True)
class Canned:
    """What a server answers to one path."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "text/html; charset=utf-8"})


def to(place: str, status: int = 302) -> Canned:
    """A redirect."""
    return Canned(b"", status, {"Location": place})


@dataclass
class Web:
    """The pages by `scheme://host/path`, what names lead to, and everything that happened."""

    pages: dict[str, Canned | Answering] = field(default_factory=dict)
    names: dict[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    """The answers of the resolver, call by call; the last one stays. A name that is not here leads to `PUBLIC`."""
    ports: dict[int, int] = field(default_factory=dict)
    unanswered: set[str] = field(default_factory=set)
    resolved: list[str] = field(default_factory=list)
    connected: list[tuple[str, int]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    greeted: list[str | None] = field(default_factory=list)
    """The names that TLS clients asked for (SNI)."""
    over: threading.Event = field(default_factory=threading.Event)

    async def resolve(self, host: str, _port: int) -> Sequence[str]:
        """Answer like a resolver that may change its mind."""
        calls = self.resolved.count(host)
        self.resolved.append(host)
        answers = self.names.get(host, [[PUBLIC]])
        found = answers[min(calls, len(answers) - 1)]
        if not found:
            raise OSError
        return found

    async def connect(self, address: str, port: int, timeout_s: float) -> httpcore2.AsyncNetworkStream:
        """Connect to the server here that stands for the port."""
        self.connected.append((address, port))
        if address in self.unanswered:
            raise httpcore2.ConnectError
        return await httpcore2.AnyIOBackend().connect_tcp("127.0.0.1", self.ports[port], timeout=timeout_s)

    @property
    def pages_asked(self) -> list[str]:
        """The requests without those for robots.txt."""
        return [url for url in self.asked if not url.endswith("/robots.txt")]


@contextmanager
def web_of_ours(certificates: "Certificates | None" = None) -> Iterator[Web]:
    """Servers for the ports 80 and, with certificates, 443."""
    web = Web()
    servers = {80: _server(web, "http")}
    if certificates:
        servers[443] = _server(web, "https")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates.server)
        context.sni_callback = lambda _, name, __: web.greeted.append(name)
        servers[443].socket = context.wrap_socket(servers[443].socket, server_side=True, do_handshake_on_connect=False)
    threads = [threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.01}) for one in servers.values()]
    web.ports = {port: one.server_address[1] for port, one in servers.items()}
    for thread in threads:
        thread.start()
    try:
        yield web
    finally:
        web.over.set()
        for one in servers.values():
            one.shutdown()
            one.server_close()
        for thread in threads:
            thread.join()


def _server(web: Web, scheme: str) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = f"{scheme}://{self.headers.get('Host')}{self.path}"
            web.asked.append(url)
            web.headers.append(dict(self.headers.items()))
            answer = web.pages.get(url, Canned(b"", 404))
            if not isinstance(answer, Canned):
                answer(self)
                return
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def handle(self) -> None:
            try:
                super().handle()
            except (OSError, ssl.SSLError):  # the client hung up
                self.close_connection = True

        def finish(self) -> None:
            try:
                super().finish()
            except (OSError, ssl.SSLError, ValueError):
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    return server


@dataclass(frozen=True)
class Certificates:
    """A certificate for some names, signed by an authority that only the given client context trusts."""

    server: Path
    trust: ssl.SSLContext


def certificates(folder: Path, *names: str) -> Certificates:
    """Make an authority and a server certificate, valid for an hour from now."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Authority of the tests")])
    now = dt.datetime.now(dt.UTC)

    def signed(subject: x509.Name, owner: ec.EllipticCurvePrivateKey, part: x509.ExtensionType) -> x509.Certificate:
        return (
            x509.CertificateBuilder(issuer, subject, owner.public_key(), x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(hours=1))
            .not_valid_after(now + dt.timedelta(hours=1))
            .add_extension(part, critical=False)
            .sign(authority_key, hashes.SHA256())
        )

    authority = signed(issuer, authority_key, x509.BasicConstraints(ca=True, path_length=None))
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    server = signed(subject, key, x509.SubjectAlternativeName([x509.DNSName(name) for name in names]))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = folder / "server.pem"
    path.write_bytes(private + server.public_bytes(serialization.Encoding.PEM))
    trust = ssl.create_default_context(cadata=authority.public_bytes(serialization.Encoding.PEM).decode())
    return Certificates(path, trust)
