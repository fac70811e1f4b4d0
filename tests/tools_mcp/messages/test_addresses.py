from __future__ import annotations

from email import message_from_bytes
from email.headerregistry import Address
from email.policy import default

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_mcp.messages.addresses import Mailbox, address_header, header, mailbox

ENCODED = "=?utf-8?q?Hi=0D=0ABcc:_evil=40x.org=0D=0A=0D=0AForged_body?="
ONE_LINE = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=80).map(str.strip)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("jane@example.org", Mailbox("", "jane", "example.org")),
        ("<jane@example.org>", Mailbox("", "jane", "example.org")),
        ("Jane Doe <jane@example.org>", Mailbox("Jane Doe", "jane", "example.org")),
        ('"Jane Doe" <jane@example.org>', Mailbox("Jane Doe", "jane", "example.org")),
        ('"Doe, Jane \\"JD\\"" <jane@example.org>', Mailbox('Doe, Jane "JD"', "jane", "example.org")),
        ("Doe, Jane <jane@example.org>", Mailbox("Doe, Jane", "jane", "example.org")),
        ("[Sales] <sales@x.org>", Mailbox("[Sales]", "sales", "x.org")),
        ("jane@bücher.de", Mailbox("", "jane", "xn--bcher-kva.de")),
        ("müller@example.org", Mailbox("", "müller", "example.org")),
        ('"jane doe"@example.org', Mailbox("", '"jane doe"', "example.org")),
        ("root@[192.0.2.1]", Mailbox("", "root", "[192.0.2.1]")),
        ("root@localhost", Mailbox("", "root", "localhost")),
    ],
)
def test_an_address_is_read_however_people_write_it(text: str, found: Mailbox) -> None:
    assert mailbox(text) == found


@pytest.mark.parametrize(
    "text",
    [
        *("Jane", "jane@", "@example.org", "a@b@c", "a b@c", "a@x, b@y", "A <a@x>, B <b@y>", ".a@x.org", "a..b@x.org"),
        *("a@-", "a@x..org", "a@x org", f"{'a' * 65}@x.org", "=?utf-8?q?a?=@x.org", "<>", "", "a@[", "a\x00@x.org"),
    ],
)
def test_what_is_no_single_address_is_none(text: str) -> None:
    assert mailbox(text) is None


@pytest.mark.parametrize(
    ("text", "user", "name"),
    [
        ('"Jane Doe" <jane@example.org>', "jane", "Jane Doe"),
        ("Doe, Jane <jane@example.org>", "jane", "Doe, Jane"),
        ("[Sales] <sales@x.org>", "sales", "[Sales]"),
        ("Müller & Söhne <m@x.org>", "m", "Müller & Söhne"),
        ("=?utf-8?q?X=0D=0ABcc:_evil=40x.org?= <a@x.org>", "a", "=?utf-8?q?X=0D=0ABcc:_evil=40x.org?="),
    ],
)
def test_another_program_reads_the_recipient_that_was_written(text: str, user: str, name: str) -> None:
    message = message_from_bytes(f"{address_header('To', (text, 'bo@example.org'))}\r\nhi".encode(), policy=default)
    first, second = message["To"].addresses
    assert (first.username, first.display_name) == (user, name)
    assert second == Address("", "bo", "example.org")
    assert message["Bcc"] is None


def test_an_address_beyond_ascii_keeps_its_user_and_has_a_host_that_resolves() -> None:
    written = address_header("To", ("müller@bücher.de",))
    assert written == "To: müller@xn--bcher-kva.de\r\n"


def test_a_mere_name_is_a_group_of_nobody() -> None:
    message = message_from_bytes(f"{address_header('To', ('Ana; Bo',))}\r\nhi".encode(), policy=default)
    (group,) = message["To"].groups
    assert (group.display_name, group.addresses) == ("Ana; Bo", ())


@pytest.mark.parametrize(
    "text", [ENCODED, "Fwd: =?UTF-8?B?SGVsbG8=?= please check", "Grüße " * 40 + "!", "x" * 300, ""]
)
def test_a_subject_is_read_as_the_text_it_was(text: str) -> None:
    written = header("Subject", text)
    message = message_from_bytes(f"{written}\r\nhi".encode(), policy=default)
    assert message["Subject"] == text
    assert message["Bcc"] is None
    assert message.get_content() == "hi"
    assert all(len(line) <= 78 for line in written.split("\r\n"))


@given(ONE_LINE)
def test_no_text_ends_its_header(text: str) -> None:
    for written in (
        header("Subject", text),
        address_header("To", (text,)),
        address_header("To", (f"{text} <a@x.org>",)),
    ):
        assert not [line for line in written.split("\r\n")[1:-1] if not line.startswith(" ")]
        assert message_from_bytes(f"{written}\r\nhi".encode(), policy=default).get_content() == "hi"
