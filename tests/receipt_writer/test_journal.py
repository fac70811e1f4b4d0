"""The intent journal: only the ledger itself begins turns, and what is recorded costs nothing any more."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path

import pytest

from receipt_writer.app import Service, open_service
from receipt_writer.identity import chains_folder
from receipt_writer.intents import MOST_DEADLINE_MS, encode_intent
from receipt_writer.journal import Journal, read_journal, sign_row
from receipt_writer.ledger import Append, Begin
from receipt_writer.signers.file import load_key
from receipt_writer.storage.head_file import HeadRecord, encode_slot, newest_record
from tests.receipt_writer.format.material import SeedSigner
from tests.receipt_writer.key_changes import at_work, in_force
from tests.receipt_writer.parts import Clock, intent, turn, ulid, verified

ORIGIN = "home/turns/-"
PRESENT, FORMER, STRANGER = (SeedSigner(bytes([number]) * 32) for number in (1, 2, 3))


def read(*lines: bytes, takes_unsigned: bool = False, recorded: str = "") -> Journal:
    keys = [PRESENT.public_key, FORMER.public_key]
    return read_journal(lines, ORIGIN, keys, lambda turn_id: turn_id == recorded, takes_unsigned=takes_unsigned)


def test_a_row_is_what_the_key_in_force_signed() -> None:
    one = intent(1, product_id='a,"signature":"b', started_at_ms=7, host="12.34")
    row = sign_row(one, ORIGIN, PRESENT)
    journal = read(row)
    assert (list(journal.intents.values()), list(journal.rows.values()), journal.refused) == ([one], [row], [])
    assert json.loads(row)["turnId"] == one.turn_id


def test_a_row_of_the_key_before_counts_and_is_to_be_signed_anew() -> None:
    journal = read(sign_row(intent(1), ORIGIN, FORMER))
    assert (list(journal.intents), journal.rows) == ([ulid("t_", 1)], {})


@pytest.mark.parametrize(
    "row",
    [
        sign_row(intent(1), ORIGIN, STRANGER),
        sign_row(intent(1), "home/turns/other", PRESENT),
        sign_row(intent(1), ORIGIN, PRESENT).replace(b'"gateway":"cli"', b'"gateway":"api"'),
        sign_row(intent(1), ORIGIN, PRESENT)[:-10] + b'"}',
        encode_intent(intent(1)),
        b"\0\0\0",
        b"",
    ],
)
def test_a_row_that_nobody_else_can_have_written_is_refused(row: bytes) -> None:
    good = sign_row(intent(2), ORIGIN, PRESENT)
    journal = read(row, good, takes_unsigned=True)
    assert (list(journal.intents), journal.refused, journal.unsigned) == ([ulid("t_", 2)], [row], 0)


def test_unsigned_rows_count_only_where_no_row_is_signed_and_none_had_to_be() -> None:
    rows = [encode_intent(intent(1)), encode_intent(intent(2))]
    assert read(*rows, takes_unsigned=True).unsigned == 2
    assert read(*rows).refused == rows


def test_a_row_of_a_recorded_turn_is_passed_over_whatever_it_says() -> None:
    assert read(b'{"turnId":"%b",garbage' % ulid("t_", 1).encode(), recorded=ulid("t_", 1)) == Journal()


def test_a_former_versions_deadline_without_end_is_shortened() -> None:
    row = encode_intent(intent(1, deadline_ms=2**62))
    assert read(row, takes_unsigned=True).intents[ulid("t_", 1)].deadline_ms == MOST_DEADLINE_MS


def journal_file(folder: Path) -> Path:
    return chains_folder(folder) / "intents.jsonl"


def outcomes(folder: Path) -> list[object]:
    return [entry.fields["turnId"] for entry in verified(folder, "L10")]


def used(folder: Path, *begun: int) -> None:
    """Begin turns and die."""
    service = open_service(folder, None, Clock())
    for number in begun:
        service.writer.commit_now([Begin(intent(number))])
    service.store._opened.close()  # type: ignore[attr-defined]


def restarted(folder: Path) -> None:
    open_service(folder, None, Clock()).store.close()


def as_a_former_version_left_it(folder: Path) -> None:
    """Take the signatures out of the journal, and the word about them out of the commit point."""
    key = load_key(folder / "entry.key", "entry")
    head = chains_folder(folder) / "head.json"
    record, _ = newest_record(head.read_bytes(), key.public_key)
    former = HeadRecord(record.epoch, record.commit, record.chains)
    head.write_bytes(encode_slot(former, key, 0) + encode_slot(former, key, 1))
    rows = [line.rpartition(b',"signature"')[0] + b"}" for line in journal_file(folder).read_bytes().splitlines()]
    journal_file(folder).write_bytes(b"".join(row + b"\n" for row in rows))


def test_a_row_that_somebody_appends_becomes_no_entry(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    used(folder)
    with journal_file(folder).open("ab") as file:
        file.write(encode_intent(intent(9)) + b"\n")
    restarted(folder)
    assert outcomes(folder) == []
    (aside,) = chains_folder(folder).glob("intents.refused-*")
    assert aside.read_bytes() == encode_intent(intent(9)) + b"\n"
    assert f"so no turn is recorded for them; they are in {aside.name}." in caplog.text


def test_a_former_versions_journal_is_believed_once_and_that_is_said(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    used(folder, 1, 2)
    as_a_former_version_left_it(folder)
    restarted(folder)
    assert outcomes(folder) == [ulid("t_", 1), ulid("t_", 2)]
    assert "2 rows of the intent journal are a former version's and unsigned; they were believed this once" in (
        caplog.text
    )
    journal_file(folder).write_bytes(encode_intent(intent(3)) + b"\n")
    restarted(folder)
    assert len(outcomes(folder)) == 2


async def test_a_rotation_signs_the_open_rows_anew(folder: Path) -> None:
    async with at_work(folder) as service:
        await service.writer.begin(Begin(intent(1)))
        old = in_force(service)
        await service.rotations.rotate("entry", old, "")
        await service.rotations.revoke("entry", old, "stolen")
        origin = service.queries.origin("L10")
        (row,) = journal_file(folder).read_bytes().splitlines()
        assert list(read_journal([row], origin, [in_force(service)], lambda _: False, takes_unsigned=False).rows)
    restarted(folder)
    lines = (chains_folder(folder) / "turns.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["turnId"] for line in lines] == [ulid("t_", 1)]


def filled(service: Service, first: int, last: int) -> None:
    numbers = range(first, last + 1)
    service.writer.commit_now([Begin(intent(number)) for number in numbers])
    service.writer.commit_now([Append("L10", turn(number)) for number in numbers])


def test_the_journal_is_shortened_while_the_writer_works(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("receipt_writer.open_turns.JOURNAL_ROWS", 400)
    service = open_service(folder, None, Clock())
    service.writer.commit_now([Begin(intent(1))])
    for first in range(2, 400, 100):
        filled(service, first, first + 99)
    (row,) = [line for line in journal_file(folder).read_bytes().splitlines() if ulid("t_", 1).encode() in line]
    assert len(journal_file(folder).read_bytes().splitlines()) < 400
    filled(service, 9001, 9001)
    assert row in journal_file(folder).read_bytes()
    service.store._opened.close()  # type: ignore[attr-defined]
    restarted(folder)
    assert verified(folder, "L10")[-1].fields["turnId"] == ulid("t_", 1)
    assert verified(folder, "L10")[-1].fields["outcome"] == "interrupted"


def test_very_many_abandoned_turns_are_recorded_after_the_start_in_one_sentence(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    service = open_service(folder, None, Clock())
    service.writer.commit_now([Begin(intent(number)) for number in range(1, 301)])
    service.store._opened.close()  # type: ignore[attr-defined]
    caplog.set_level(logging.WARNING)
    service = open_service(folder, None, Clock())
    assert service.ledger.indexes["L10"].head.size == 256
    assert "Entries 1 to 256 record 256 turns that never reported as interrupted; 44 more follow." in caplog.text

    async def look() -> None:
        running = asyncio.create_task(service.writer.run(lambda: None))
        await service.upkeep.look_once()
        await service.writer.drain()
        await running

    asyncio.run(look())
    service.store.close()
    assert len(set(outcomes(folder))) == 300
    assert len(caplog.records) == 2
