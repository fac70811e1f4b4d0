from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.tools_mcp.running import call, here, refused, settings
from tools_mcp.errors import ConflictError, InvalidInputError, NotFoundError, StoreError
from tools_mcp.messages.model import Channel
from tools_mcp.messages.outbox import Asked, Outbox, check, open_outbox

WHOM = ("ana@example.org",)


@pytest.fixture
def outbox(tmp_path: Path) -> Outbox:
    return open_outbox(settings(tmp_path))


def asked(body: str = "See you at nine.", to: tuple[str, ...] = WHOM, channel: Channel = "email") -> Asked:
    return Asked(to, "Hello", body, channel)


def names(outbox: Outbox) -> list[str]:
    return sorted(path.name for path in outbox.root.iterdir() if not path.name.startswith("."))


@pytest.mark.parametrize(("channel", "suffix"), [("email", ".eml"), ("sms", ".md"), ("chat", ".md")])
def test_a_draft_is_one_private_file(outbox: Outbox, channel: Channel, suffix: str) -> None:
    status, kept = outbox.draft(asked(channel=channel), None)
    (name,) = names(outbox)
    assert (status, name) == ("drafted", f"{kept.id}{suffix}")
    assert (outbox.root / name).stat().st_mode & 0o077 == 0
    assert outbox.newest() == [kept]


def test_two_messages_to_one_person_in_one_second_are_two_drafts(outbox: Outbox) -> None:
    still = Outbox(outbox.root, outbox.zone, lambda: datetime(2026, 12, 1, 9, tzinfo=outbox.zone), outbox.lock)
    ids = {still.draft(asked(), None)[1].id for _ in range(3)}
    assert len(ids) == len(names(outbox)) == 3


@pytest.mark.parametrize(
    "to", ["../../etc/passwd", "/etc/passwd", "..", ".", "a\\..\\b", "%2e%2e%2f", "CON", "x" * 300]
)
def test_no_recipient_leads_out_of_the_outbox(outbox: Outbox, to: str) -> None:
    outbox.draft(asked(to=(to,)), None)
    assert len(names(outbox)) == 1
    assert [one.draft.to for one in outbox.newest()] == [(to,)]


def test_the_same_key_gives_the_same_draft_and_never_a_second_one(outbox: Outbox) -> None:
    first = outbox.draft(asked(), "k")
    assert outbox.draft(asked(), "k") == ("exists", first[1])
    with pytest.raises(ConflictError, match="made another message"):
        outbox.draft(asked("Other words."), "k")
    assert len(names(outbox)) == 1


def test_a_key_whose_draft_was_discarded_is_not_used_again(outbox: Outbox) -> None:
    _, kept = outbox.draft(asked(), "k")
    outbox.discard(kept.id)
    with pytest.raises(ConflictError, match="was discarded"):
        outbox.draft(asked(), "k")


def test_a_discarded_draft_can_be_taken_back(outbox: Outbox) -> None:
    _, kept = outbox.draft(asked(), None)
    assert outbox.discard(kept.id) == kept
    assert outbox.newest() == []
    (outbox.root / ".trash" / f"{kept.id}.eml").rename(outbox.root / f"{kept.id}.eml")
    assert outbox.newest() == [kept]


def test_discarding_twice_is_discarding_once(outbox: Outbox) -> None:
    _, kept = outbox.draft(asked(), None)
    assert outbox.discard(kept.id) == outbox.discard(kept.id) == kept


def test_a_draft_that_cannot_be_read_back_is_refused_and_not_answered_for(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools_mcp.messages.outbox.encode", lambda _: b"Subject: something else\r\n\r\n")
    with pytest.raises(InvalidInputError, match="cannot be kept as it is"):
        outbox.draft(asked(), None)
    assert names(outbox) == []


def test_a_key_finds_a_draft_with_an_encoded_word_in_its_subject(outbox: Outbox) -> None:
    words = Asked(WHOM, "=?utf-8?q?a=22b?=", "hi", "email")
    first = outbox.draft(words, "k")
    assert outbox.draft(words, "k") == ("exists", first[1])
    assert outbox.newest() == [first[1]]


def test_line_separators_of_any_kind_stay_line_breaks(outbox: Outbox) -> None:
    _, kept = outbox.draft(asked("a\u2028b\u0085c\x0cd"), None)
    assert kept.draft.body == "a\nb\nc\nd"


def test_a_new_draft_takes_no_name_that_lies_in_the_trash(outbox: Outbox) -> None:
    still = Outbox(outbox.root, outbox.zone, lambda: datetime(2026, 12, 1, 9, tzinfo=outbox.zone), outbox.lock)
    _, first = still.draft(asked(), None)
    still.discard(first.id)
    _, second = still.draft(asked("again"), None)
    still.discard(second.id)
    assert first.id != second.id


@pytest.mark.parametrize("message_id", ["nobody", "", "../x", ".prometheus/lock"])
def test_an_unknown_id_discards_nothing(outbox: Outbox, message_id: str) -> None:
    outbox.draft(asked(), None)
    with pytest.raises(NotFoundError, match="message_list tells the ids"):
        outbox.discard(message_id)
    assert len(names(outbox)) == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (asked(to=()), "at least one name or address"),
        (asked(to=(" ",)), "at least one name or address"),
        (asked(to=("a, b",)), "has a comma in it"),
        (asked(to=("A <a@x.org>, B <b@y.org>",)), "has a comma in it"),
        (asked(to=("jane@",)), "is no e-mail address"),
        (asked(body=" \n"), "has no text"),
        (asked(body="\ud83d"), "half of a surrogate pair"),
        (asked(body="x" * 50_001), "send at most 50000"),
    ],
)
def test_what_cannot_be_drafted_is_refused_in_one_sentence(outbox: Outbox, wrong: Asked, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        outbox.draft(wrong, None)
    assert names(outbox) == []


def test_files_of_other_programs_are_left_alone(outbox: Outbox) -> None:
    (outbox.root / "mine.eml").write_text("Subject: mine\n\nnot a draft\n")
    (outbox.root / "huge.md").write_bytes(b"x" * 1_000_001)
    (outbox.root / "link.md").symlink_to("/etc/passwd")
    outbox.draft(asked(), None)
    assert len(outbox.newest()) == 1
    assert {"mine.eml", "huge.md", "link.md"} < set(names(outbox))


def test_the_newest_comes_first(outbox: Outbox) -> None:
    start = datetime(2026, 12, 1, 9, tzinfo=outbox.zone)
    for minute in (0, 2, 1):
        at = Outbox(outbox.root, outbox.zone, lambda m=minute: start + timedelta(minutes=m), outbox.lock)  # type: ignore[misc]
        at.draft(asked(f"minute {minute}"), None)
    assert [one.draft.body for one in outbox.newest()] == ["minute 2", "minute 1", "minute 0"]


def test_a_folder_that_cannot_be_written_is_told_and_nothing_is_lost(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tools_mcp.messages.outbox.secure_write", refuse)
    with pytest.raises(StoreError, match="cannot be written: no space left on device"):
        outbox.draft(asked(), None)
    assert names(outbox) == []


def test_check_counts_the_drafts(tmp_path: Path) -> None:
    open_outbox(settings(tmp_path)).draft(asked(), None)
    assert check(settings(tmp_path)) == "messages: 1 drafts, none sent"


async def test_every_answer_says_that_nothing_was_sent(tmp_path: Path) -> None:
    async with here("messages", tmp_path) as client:
        made = await call(client, "message_draft", to="Ana", body="hi", channel="chat")
        listed = await call(client, "message_list")
        gone = await call(client, "message_discard", id=made["message"]["id"])
    assert [answer["sent"] for answer in (made, listed, gone)] == [False, False, False]
    assert listed["messages"] == [made["message"]]


async def test_a_recipient_may_come_alone_as_a_list_or_as_a_list_in_a_string(tmp_path: Path) -> None:
    async with here("messages", tmp_path) as client:
        sent = [await call(client, "message_draft", to=to, body="hi") for to in ("Ana", ["Ana", "Bo"], '["Ana","Bo"]')]
        said = await refused(client, "message_draft", to=[], body="hi")
    assert [one["message"]["to"] for one in sent] == [["Ana"], ["Ana", "Bo"], ["Ana", "Bo"]]
    assert "at least one name or address" in said


async def test_a_recipient_that_begins_like_a_list_is_one(tmp_path: Path) -> None:
    async with here("messages", tmp_path) as client:
        made = await call(client, "message_draft", to="[Sales] <sales@x.org>", body="hi")
        named = await call(client, "message_draft", to=["Doe, Jane <jane@example.org>"], body="hi")
        handle = await call(client, "message_draft", to="@jane", body="hi", channel="chat")
    assert made["message"]["to"] == ["[Sales] <sales@x.org>"]
    assert named["message"]["to"] == ["Doe, Jane <jane@example.org>"]
    assert handle["message"]["to"] == ["@jane"]


async def test_drafts_come_in_pages_that_meet(tmp_path: Path) -> None:
    async with here("messages", tmp_path) as client:
        for number in range(25):
            await call(client, "message_draft", to="Ana", body=f"{number} {'用' * 900}")
        seen: list[str] = []
        cursor = None
        while True:
            page = await call(client, "message_list", limit=100, cursor=cursor)
            seen += [one["id"] for one in page["messages"]]
            cursor = page.get("next_cursor")
            if cursor is None:
                break
    assert len(seen) == len(set(seen)) == 25
