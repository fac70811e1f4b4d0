from __future__ import annotations

import re
from datetime import datetime
from email import message_from_bytes
from email.policy import default
from zoneinfo import ZoneInfo

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tools_mcp.messages.files import SUFFIXES, decode, encode, file_stem, is_kept
from tools_mcp.messages.model import Channel, Draft
from tools_mcp.texts import many_lines, one_line

NINE = datetime(2026, 12, 1, 9, 0, tzinfo=ZoneInfo("Europe/Berlin"))
SOME = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
RECIPIENT = SOME.map(lambda text: one_line(text, "to", 400).replace(",", "")).filter(bool)
SUBJECT = SOME.map(lambda text: one_line(text, "subject", 400))
BODY = SOME.map(lambda text: many_lines(text, "body", 400).strip("\n")).filter(lambda text: bool(text.strip()))


def draft(channel: Channel = "email", to: tuple[str, ...] = ("ana@example.org",), **fields: str) -> Draft:
    return Draft(channel, to, fields.get("subject", "Hello"), fields.get("body", "See you at nine."), NINE, "")


@given(
    channel=st.sampled_from(list(SUFFIXES)), to=st.lists(RECIPIENT, min_size=1, max_size=3), subject=SUBJECT, body=BODY
)
def test_a_draft_is_read_back_as_it_was_written(channel: Channel, to: list[str], subject: str, body: str) -> None:
    made = Draft(channel, tuple(to), subject, body, NINE, "ab" * 32)
    assert decode(encode(made), SUFFIXES[channel]) == made


def test_an_email_is_a_message_that_mail_programs_open_as_unsent() -> None:
    content = encode(draft(to=("Ana <ana@example.org>", "bo@example.org"), subject="Grüße", body="Schön.\n\nBis bald"))
    message = message_from_bytes(content, policy=default)
    assert [address.addr_spec for address in message["To"].addresses] == ["ana@example.org", "bo@example.org"]
    assert (message["Subject"], message["X-Unsent"]) == ("Grüße", "1")
    body = message.get_body(("plain",))
    assert body is not None
    assert body.get_content().replace("\r\n", "\n") == "Schön.\n\nBis bald\n"
    assert content.isascii()
    assert b"\n" not in content.replace(b"\r\n", b"")


@pytest.mark.parametrize("field", ["to", "subject"])
def test_a_line_break_cannot_smuggle_a_header_in(field: str) -> None:
    hostile = one_line("x\r\nBcc: everybody@example.org", field, 300)
    made = draft(to=(hostile,)) if field == "to" else draft(subject=hostile)
    message = message_from_bytes(encode(made), policy=default)
    assert message["Bcc"] is None


ENCODED = "=?utf-8?q?Hi=0D=0ABcc:_evil=40x.org=0D=0A=0D=0AForged_body?="


@pytest.mark.parametrize(
    "subject", [ENCODED, "=?utf-8?q?a=22b?=", "Fwd: =?UTF-8?B?SGVsbG8=?= please check", "=?x?b?", "a  b", "x" * 300]
)
def test_an_encoded_word_stays_the_text_it_is(subject: str) -> None:
    made = draft(to=(f"{ENCODED} <a@x.org>", ENCODED), subject=subject)
    message = message_from_bytes(encode(made), policy=default)
    assert decode(encode(made), ".eml") == made
    assert is_kept(made, encode(made))
    assert message["Bcc"] is None
    assert message["Subject"] == subject
    body = message.get_body(("plain",))
    assert body is not None
    assert body.get_content() == "See you at nine.\r\n"


def test_a_draft_whose_file_says_something_else_is_not_kept() -> None:
    assert not is_kept(draft(), encode(draft(subject="Another")))
    assert not is_kept(draft(), encode(draft(body="Another.")))
    assert not is_kept(draft(), b"")


def test_a_draft_of_the_hour_that_comes_twice_is_kept() -> None:
    twice = Draft("email", ("ana@x.org",), "", "hi", datetime(2026, 10, 25, 2, 30, tzinfo=NINE.tzinfo), "")
    assert is_kept(twice, encode(twice))


@pytest.mark.parametrize("channel", ["sms", "chat"])
def test_a_draft_that_an_editor_saved_again_is_still_one(channel: Channel) -> None:
    made = draft(channel, body="Hi all\nbye")
    for content in (encode(made).replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + encode(made), encode(made).rstrip(b"\n")):
        assert decode(content, ".md") == made


def test_other_channels_are_markdown_with_front_matter_that_yaml_reads() -> None:
    content = encode(draft("chat", to=("#general: news",), body="Hi all")).decode()
    _, head, body = content.split("---\n", 2)
    assert yaml.safe_load(head)["to"] == ["#general: news"]
    assert body == "\nHi all\n"


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"To: a\r\n\r\nhi", b"---\nto: [\n---\n\nx\n", b"---\nto: 1\n---\n\nx\n"]
)
@pytest.mark.parametrize("suffix", [".eml", ".md"])
def test_a_file_that_is_no_draft_of_ours_is_passed_over(content: bytes, suffix: str) -> None:
    assert decode(content, suffix) is None


@given(st.binary(max_size=200), st.sampled_from([".eml", ".md"]))
def test_no_bytes_break_the_reader(content: bytes, suffix: str) -> None:
    assert decode(content, suffix) is None


@given(RECIPIENT)
def test_a_file_name_is_harmless_whoever_the_message_goes_to(name: str) -> None:
    stem = file_stem(draft(to=(name,)))
    assert re.fullmatch(r"2026-12-01-090000-[\w.-]+", stem)
    assert len(stem.encode()) < 90
    assert not stem.partition("090000-")[2].startswith(".")


def test_a_draft_of_the_earlier_form_is_still_one() -> None:
    content = (
        b"To: a@b.c\r\nSubject: Hi\r\nDate: Tue, 01 Dec 2026 00:22:25 +0100\r\nX-Unsent: 1\r\n"
        b'X-Prometheus-Draft: {"channel": "email", "to": ["a@b.c"], "subject": "Hi",\r\n'
        b' "created": "2026-12-01T00:22:25+01:00", "request":\r\n "6ab9"}\r\n'
        b'Content-Type: text/plain; charset="utf-8"\r\n'
        b"Content-Transfer-Encoding: 7bit\r\nMIME-Version: 1.0\r\n\r\nx\r\n"
    )
    draft = decode(content, ".eml")

    assert draft is not None
    assert (draft.to, draft.subject, draft.body, draft.request) == (("a@b.c",), "Hi", "x", "6ab9")
