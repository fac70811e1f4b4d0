import ipaddress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tools_mcp.search.ssrf import NEVER_FETCHED, NOT_PUBLIC, PUBLIC_ADDRESSES
from tools_mcp.search.addresses import Refusal, Target, is_public, read_target


def test_the_table_is_as_long_as_was_asked() -> None:
    assert len(set(NEVER_FETCHED)) >= 40


@pytest.mark.parametrize("url", NEVER_FETCHED)
def test_an_address_that_is_not_public_or_oddly_written_is_refused_in_one_sentence(url: str) -> None:
    found = read_target(url)

    assert isinstance(found, Refusal), found
    assert found.reason.endswith(".")
    assert "\n" not in found.reason


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("https://example.org", Target("https", "example.org", 443, "/")),
        ("HTTPS://Example.ORG:443/A?b=c#d", Target("https", "example.org", 443, "/A?b=c")),
        ("http://example.org.:8080/", Target("http", "example.org", 8080, "/")),
        ("https://example.org:8443?q=ü", Target("https", "example.org", 8443, "/?q=%C3%BC")),
        ("https://bücher.example/é%20ü", Target("https", "xn--bcher-kva.example", 443, "/%C3%A9%20%C3%BC")),
        ("https://\uff45\uff58ample.org/", Target("https", "example.org", 443, "/")),
        ("https://my_site.example.org/", Target("https", "my_site.example.org", 443, "/")),
        ("https://93.184.215.14/", Target("https", "93.184.215.14", 443, "/")),
        ("https://[2606:2800:21F::1]/", Target("https", "2606:2800:21f::1", 443, "/")),
        (
            "https://example.org/?next=http://127.0.0.1/",
            Target("https", "example.org", 443, "/?next=http://127.0.0.1/"),
        ),
        ("https://example.org/@user", Target("https", "example.org", 443, "/@user")),
    ],
)
def test_a_public_address_is_read(url: str, read: Target) -> None:
    assert read_target(url) == read


def test_an_address_is_written_as_it_was_read() -> None:
    for url in ("https://example.org/a?b", "http://example.org:8080/", "https://[2606:2800:21f::1]:8443/x"):
        target = read_target(url)

        assert isinstance(target, Target)
        assert target.url == url
        assert read_target(target.url) == target


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_what_is_not_the_public_internet_is_known(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC_ADDRESSES)
def test_the_public_internet_is_known(address: str) -> None:
    assert is_public(address)


@settings(deadline=None, max_examples=100)
@given(st.ip_addresses())
def test_nothing_is_public_that_python_knows_as_special(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    if is_public(str(address)):
        assert address.is_global
        assert not address.is_multicast


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32 - 1))
def test_an_ipv4_address_inside_an_ipv6_one_is_never_public(number: int) -> None:
    low = ipaddress.IPv4Address(number)
    mixed = [int(ipaddress.IPv6Address("::ffff:0:0")), int(ipaddress.IPv6Address("64:ff9b::")), 0]

    assert not any(is_public(str(ipaddress.IPv6Address(prefix | int(low)))) for prefix in mixed)
    assert not is_public(str(ipaddress.IPv6Address((0x2002 << 112) | (int(low) << 80))))


hosts = st.one_of(
    st.text(max_size=30),
    st.text(alphabet="0123456789abcfx.:[]%@-", max_size=30),
    st.ip_addresses().map(str),
)


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(["http://", "https://", "HTTP:", "//", ""]), hosts, st.text(max_size=20))
def test_any_text_is_read_or_refused_and_never_leads_to_a_place_that_is_not_public(
    scheme: str, host: str, rest: str
) -> None:
    found = read_target(scheme + host + rest)

    if isinstance(found, Target):
        assert found.host.isascii()
        assert found.path.startswith("/")
        assert found.path.isascii()
        assert " " not in found.path
        assert not found.is_literal or is_public(found.host)
        assert read_target(found.url) == found


@pytest.mark.parametrize(
    "url", ["http://[2606:4700::1]x/", "http://[2606:4700::1].example/", "http://[2606:4700::1]80/"]
)
def test_what_follows_the_brackets_is_a_port_or_nothing(url: str) -> None:
    assert isinstance(read_target(url), Refusal)


def test_an_address_that_grows_too_long_when_it_is_written_out_is_refused() -> None:
    assert isinstance(read_target("http://a.example/" + "\U0001f600" * 1_900), Refusal)
    assert isinstance(read_target("http://a.example/" + "\U0001f600" * 100), Target)
