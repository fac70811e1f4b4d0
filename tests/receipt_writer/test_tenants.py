from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from receipt_writer.app import Service, open_service, open_tenant
from receipt_writer.errors import (
    CredentialRefusedError,
    LedgerDamagedError,
    StorageFailedError,
    WriterStoppedError,
)
from receipt_writer.identity import chains_folder
from receipt_writer.ledger import Begin
from receipt_writer.storage.filesystem import OsFileSystem
from receipt_writer.storage.lock import running_holder
from receipt_writer.tenants import Tenants, tenant_folder
from receipt_writer.tokens import Tokens, add_token, revoke_tokens
from receipt_writer.upkeep import Upkeep
from service_runtime.errors import SetupError
from tests.receipt_writer.format.material import START_MS
from tests.receipt_writer.parts import Clock, WatchedFiles, chain_file, decision, intent, turn, verified

FILES = OsFileSystem()


@dataclass
class Office:
    """Two tenants with a token each, and how often each one's ledger was opened."""

    folder: Path
    tenants: Tenants[Service]
    tokens: dict[str, str]
    opened: list[str] = field(default_factory=list)
    files: WatchedFiles = field(default_factory=WatchedFiles)


@asynccontextmanager
async def office(
    folder: Path,
    *,
    is_token_required: bool = False,
    before: Callable[[str], None] = lambda _: None,
    idle_s: float = 0.0,
) -> AsyncIterator[Office]:
    own = open_service(folder, clock=Clock())
    path = folder / "tokens.json"
    tokens = {name: add_token(FILES, path, name, START_MS) for name in ("acme", "globex")}

    def open_one(tenant_id: str) -> Service:
        one.opened.append(tenant_id)
        before(tenant_id)
        return open_tenant(own, tenant_id, one.files, Clock())

    tenants = Tenants(own, Tokens(path), open_one, is_token_required=is_token_required, idle_s=idle_s)
    one = Office(folder, tenants, tokens)
    tenants.start()
    try:
        yield one
    finally:
        await tenants.finish()
        tenants.close()


async def test_a_tenants_ledger_is_made_when_its_first_call_comes(folder: Path) -> None:
    async with office(folder) as one:
        assert not (folder / "tenants").exists()
        acme = await one.tenants.of(one.tokens["acme"])
        assert acme.folder == tenant_folder(folder, "acme")
        assert not tenant_folder(folder, "globex").exists()
        assert await one.tenants.of(one.tokens["acme"]) is acme
        assert one.opened == ["acme"]
    assert tenant_folder(folder, "acme").stat().st_mode & 0o777 == 0o700
    assert (folder / "tenants").stat().st_mode & 0o777 == 0o700


async def test_each_tenants_entries_carry_it_hang_on_its_origin_and_verify_under_its_own_keys(folder: Path) -> None:
    async with office(folder) as one:
        ledgers = {name: await one.tenants.of(one.tokens[name]) for name in ("acme", "globex")}
        ledgers["-"] = await one.tenants.of(None)
        for number, ledger in enumerate(ledgers.values()):
            await ledger.writer.append("L12", decision(number))
            await ledger.state.regenerate("requested")
    seen = {}
    for name in ("acme", "globex"):
        home = tenant_folder(folder, name)
        (entry,) = verified(home, "L12")
        assert entry.tenant_id == name
        assert verified(home, "L1")[0].tenant_id == name
        assert (home / "state.json").read_bytes() == chain_file(home, "L1").read_bytes()
        seen[name] = entry.attestation.public_key
    (own,) = verified(folder, "L12")
    assert own.tenant_id is None
    assert len({own.attestation.public_key, *seen.values()}) == 3


async def test_a_tenant_finds_its_ledger_again_after_a_restart(folder: Path) -> None:
    async with office(folder) as one:
        first = await (await one.tenants.of(one.tokens["acme"])).writer.append("L12", decision(1))
        token = one.tokens["acme"]
    async with office(folder) as one:
        acme = await one.tenants.of(token)
        assert (await acme.writer.append("L12", decision(1))).line == first.line
        assert (await acme.writer.append("L12", decision(2))).id == 2


async def test_the_same_ids_of_two_tenants_are_two_records(folder: Path) -> None:
    async with office(folder) as one:
        for name, gateway in (("acme", "cli"), ("globex", "api")):
            writer = (await one.tenants.of(one.tokens[name])).writer
            await writer.begin(Begin(intent(1, gateway=gateway)))
            entry = await writer.append("L10", turn(1, gateway=gateway))
            assert (entry.id, entry.tenant_id, entry.fields["gateway"]) == (1, name, gateway)


async def test_calls_that_come_together_open_a_tenant_once(folder: Path) -> None:
    async with office(folder) as one:
        ledgers = await asyncio.gather(*(one.tenants.of(one.tokens["acme"]) for _ in range(10)))
        assert len({id(ledger) for ledger in ledgers}) == 1
        assert one.opened == ["acme"]


async def test_a_caller_that_leaves_while_its_ledger_opens_spoils_it_for_nobody(folder: Path) -> None:
    held, entered = threading.Event(), threading.Event()

    def wait(_: str) -> None:
        entered.set()
        assert held.wait(20)

    async with office(folder, before=wait) as one:
        leaver = asyncio.create_task(one.tenants.of(one.tokens["acme"]))
        assert await asyncio.to_thread(entered.wait, 20)
        own = await one.tenants.of(None)
        await own.writer.append("L12", decision(1))  # meanwhile everybody else is served
        stays = asyncio.create_task(one.tenants.of(one.tokens["acme"]))
        await asyncio.sleep(0)
        leaver.cancel()
        held.set()
        assert (await (await stays).writer.append("L12", decision(1))).tenant_id == "acme"


async def test_a_token_that_nobody_has_is_refused(folder: Path) -> None:
    async with office(folder) as one:
        with pytest.raises(CredentialRefusedError, match="No tenant has this token"):
            await one.tenants.of("prt_unknown")


async def test_a_revoked_token_leads_nowhere_from_the_next_call_on(folder: Path) -> None:
    async with office(folder) as one:
        await one.tenants.of(one.tokens["acme"])
        revoke_tokens(FILES, folder / "tokens.json", one.tokens["acme"])
        with pytest.raises(CredentialRefusedError):
            await one.tenants.of(one.tokens["acme"])


async def test_a_writer_that_requires_tokens_serves_nobody_without_one(folder: Path) -> None:
    async with office(folder, is_token_required=True) as one:
        with pytest.raises(CredentialRefusedError, match="authorization: Bearer TOKEN"):
            await one.tenants.of(None)
        assert (await one.tenants.of(one.tokens["globex"])).folder == tenant_folder(folder, "globex")


async def test_the_end_of_one_ledgers_storage_ends_all_loudly(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with office(folder) as one:
        acme, own = await one.tenants.of(one.tokens["acme"]), await one.tenants.of(None)
        one.files.fails = ("sync", "decisions.jsonl")
        with pytest.raises(StorageFailedError):
            await acme.writer.append("L12", decision(1))
        await asyncio.wait_for(one.tenants.ended.wait(), 20)
        await one.tenants.finish()
        assert one.tenants.failure is acme.writer.failure is not None
        with pytest.raises(WriterStoppedError):
            await own.writer.append("L12", decision(1))
    assert [record.levelname for record in caplog.records if "could not be written" in record.message] == ["CRITICAL"]


async def test_a_ledger_that_cannot_be_opened_concerns_its_own_callers_only(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    refusing = True

    def refuse(tenant_id: str) -> None:
        if refusing and tenant_id == "acme":
            raise SetupError(f"{folder} is full of secrets.")

    async with office(folder, before=refuse) as one:
        with pytest.raises(StorageFailedError) as refusal:
            await one.tenants.of(one.tokens["acme"])
        assert "secrets" not in str(refusal.value)
        assert "secrets" in caplog.text
        await (await one.tenants.of(one.tokens["globex"])).writer.append("L12", decision(1))
        assert not one.tenants.ended.is_set()
        refusing = False
        await (await one.tenants.of(one.tokens["acme"])).writer.append("L12", decision(1))


async def test_a_tenants_damaged_ledger_is_named_so_and_not_touched(folder: Path) -> None:
    async with office(folder) as one:
        await (await one.tenants.of(one.tokens["acme"])).writer.append("L12", decision(1))
    chain = chain_file(tenant_folder(folder, "acme"))
    chain.write_bytes(chain.read_bytes().replace(b"drafter", b"grafter"))
    damaged = chain.read_bytes()
    async with office(folder) as one:
        with pytest.raises(LedgerDamagedError, match="entries of the chain decisions are not those"):
            await one.tenants.of(one.tokens["acme"])
        assert not one.tenants.ended.is_set()
    assert chain.read_bytes() == damaged


async def test_leaving_finishes_every_ledger_with_a_checkpoint_and_opens_no_more(folder: Path) -> None:
    async with office(folder) as one:
        acme = await one.tenants.of(one.tokens["acme"])
        await acme.writer.append("L12", decision(1))
        await one.tenants.finish()
        assert (tenant_folder(folder, "acme") / "decisions.checkpoint").exists()
        with pytest.raises(WriterStoppedError):
            await one.tenants.of(one.tokens["globex"])
        assert one.tenants.failure is None


async def test_upkeep_that_ends_by_itself_ends_the_writer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(_: Upkeep) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Upkeep, "look_once", broken)
    async with office(folder) as one:
        await asyncio.wait_for(one.tenants.ended.wait(), 20)
        await one.tenants.finish()
        assert "upkeep ended" in str(one.tenants.failure)


async def closed(tenants: Tenants[Service]) -> int:
    """Close what nobody uses; return how many ledgers that were, once they are closed."""
    tenants.close_idle()
    closing = list(tenants._closing.values())
    await asyncio.gather(*closing)
    return len(closing)


async def test_a_ledger_that_nobody_uses_is_closed_and_the_next_call_opens_it_again(folder: Path) -> None:
    told: list[Service] = []
    chains = chains_folder(tenant_folder(folder, "acme"))
    async with office(folder) as one:
        one.tenants.when_closed(told.append)
        acme = await one.tenants.of(one.tokens["acme"])
        first = await acme.writer.append("L12", decision(1))
        await acme.state.regenerate("requested")
        assert await closed(one.tenants) == 1
        assert (told, running_holder(FILES, chains)) == ([acme], None)
        assert (chains / "decisions.checkpoint").exists()
        assert not one.tenants.ended.is_set()
        again = await one.tenants.of(one.tokens["acme"])
        assert again is not acme
        assert (await again.writer.append("L12", decision(1))).line == first.line
        assert one.opened == ["acme", "acme"]


async def test_the_ledger_of_no_tenant_stays_open(folder: Path) -> None:
    async with office(folder) as one:
        assert await closed(one.tenants) == 0
        await (await one.tenants.of(None)).writer.append("L12", decision(1))


async def test_a_ledger_is_not_closed_before_its_time(folder: Path) -> None:
    async with office(folder, idle_s=900) as one:
        await one.tenants.of(one.tokens["acme"])
        assert await closed(one.tenants) == 0


async def test_a_ledger_with_an_open_call_an_open_turn_or_a_state_that_will_be_due_is_not_closed(folder: Path) -> None:
    async with office(folder) as one:
        acme = await one.tenants.of(one.tokens["acme"])
        with acme.uses.a_use():
            assert await closed(one.tenants) == 0
        await acme.writer.begin(Begin(intent(1)))
        assert await closed(one.tenants) == 0
        await acme.writer.append("L10", turn(1))
        assert await closed(one.tenants) == 0
        await acme.state.regenerate("requested")
        assert await closed(one.tenants) == 1


async def test_a_call_that_comes_while_its_ledger_is_closed_gets_it_anew(folder: Path) -> None:
    async with office(folder) as one:
        acme = await one.tenants.of(one.tokens["acme"])
        await acme.state.regenerate("requested")
        one.tenants.close_idle()
        with pytest.raises(WriterStoppedError, match="send this again, which opens it"), acme.uses.a_use():
            pass
        again = await one.tenants.of(one.tokens["acme"])
        assert (await again.writer.append("L12", decision(1))).tenant_id == "acme"
        assert again is not acme


async def test_a_storage_that_fails_while_an_idle_ledger_is_closed_ends_all_loudly(folder: Path) -> None:
    async with office(folder) as one:
        acme, own = await one.tenants.of(one.tokens["acme"]), await one.tenants.of(None)
        await acme.state.regenerate("requested")
        one.files.fails = ("sync", "head.json")
        await closed(one.tenants)
        await asyncio.wait_for(one.tenants.ended.wait(), 20)
        await one.tenants.finish()
        assert one.tenants.failure is acme.writer.failure is not None
        with pytest.raises(WriterStoppedError):
            await own.writer.append("L12", decision(1))
