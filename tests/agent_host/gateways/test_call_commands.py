"""`agent-host decide`, `review`, `replay`, `reveal`, `forget`, as a person meets them, before a real writer."""

from __future__ import annotations

import io
import json
import sqlite3
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import pytest_asyncio

from agent_host.app import open_calls, open_desk
from agent_host.call_parts import calls_of_model
from agent_host.constrained import Decision, run_constrained_ai
from agent_host.errors import BudgetSpentError, NoDecisionError, UsageError
from agent_host.gateways.commands.command import Desk
from agent_host.gateways.conversation import converse
from agent_host.gateways.decide import decide
from agent_host.gateways.openings import forget, reveal
from agent_host.gateways.plain_screen import PlainScreen
from agent_host.gateways.replay import replay_call
from agent_host.gateways.review import give_verdict, list_reviews, ruling_of, waiting_calls
from agent_host.gateways.watch import watch_chain
from agent_host.home_lock import HomeLock
from agent_host.identifiers import new_call_id
from agent_host.providers.protocol import Identity, JsonValue, Usage
from service_runtime.settings import Settings, load_settings
from tests.agent_host.constrained.parts import GOOD, MESSAGE, spec, sure_spec
from tests.agent_host.gateways.talking import EchoHost, Typed
from tests.fakes import anthropic_server as wire
from tests.receipt_writer.parts import running, ulid, verified

UNSURE: JsonValue = {"mood": "glad", "note": "", "confidence": 10}
BETTER = '{"mood": "sad", "note": "", "confidence": 9000}'
SPEC = sure_spec(model_identity=Identity("offline", "mood-rules", "1"))


@dataclass
class Place:
    """A home whose writer runs elsewhere, and the folder of that writer's ledger."""

    environ: dict[str, str]
    ledger: Path

    @property
    def settings(self) -> Settings:
        return load_settings(self.environ, self.ledger, None)

    async def decide(self) -> Decision:
        """Makes a decision that waits for a person."""
        async with AsyncExitStack() as resources:
            desk = open_desk(self.settings, self.environ, resources)
            options = open_calls(self.settings, desk, resources)
            return await run_constrained_ai(SPEC, MESSAGE, replace(options, provider=None, code=lambda _: UNSURE))


@pytest_asyncio.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    with tempfile.TemporaryDirectory(prefix="rw-") as folder:
        async with running(Path(folder)) as one:
            environ = {"PROMETHEUS_HOME": str(tmp_path / "home"), "PROMETHEUS_WRITER": one.target}
            yield Place(environ, Path(folder))


async def test_a_case_is_listed_ruled_on_and_recorded(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    decision = await place.decide()
    assert await list_reviews(place.settings, place.environ, as_json=True) == 0
    (case,) = json.loads(capsys.readouterr().out)
    assert (case["call_id"], case["proposal"], case["input"]) == (decision.call_id, UNSURE, MESSAGE)
    assert await list_reviews(place.settings, place.environ, as_json=False) == 0
    assert 'proposed  {"mood": "glad"' in capsys.readouterr().out

    ruling = ruling_of("amended", "ana", BETTER, "He was sad.")
    assert await give_verdict(place.settings, place.environ, decision.call_id, ruling) == 0
    assert capsys.readouterr().out == f"{decision.call_id}: amended.\nreview 1 signed, of {decision.call_id}\n"
    (entry,) = verified(place.ledger, "L6")
    assert (entry.fields["verdict"], entry.fields["reviewer"]) == ("amended", "ana")

    assert await list_reviews(place.settings, place.environ, as_json=False) == 0
    assert capsys.readouterr().out == "Nothing waits for a review.\n"


async def test_a_verdict_without_a_writer_is_kept_and_recorded_with_the_next(
    place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_host.writer_link.ANSWER_TIMEOUT_S", 0.1)
    monkeypatch.setattr("agent_host.writer_link._LIVE_TIMEOUT_S", 0.1)
    first, second = await place.decide(), await place.decide()
    away = Place({**place.environ, "PROMETHEUS_WRITER": f"unix:{place.ledger}/nobody.sock"}, place.ledger)
    assert await give_verdict(away.settings, away.environ, first.call_id, ruling_of("approved", "ana", None, "")) == 0
    assert "The verdict is kept" in capsys.readouterr().out
    await list_reviews(away.settings, away.environ, as_json=False)
    assert capsys.readouterr().err.startswith("Verdicts that wait for the writer: 1;")

    await give_verdict(place.settings, place.environ, second.call_id, ruling_of("rejected", "ana", None, ""))
    assert capsys.readouterr().out.splitlines()[1:] == [
        f"review 1 signed, of {first.call_id}",
        f"review 2 signed, of {second.call_id}",
    ]


async def test_a_spec_in_a_file_is_called_without_python(
    place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec_file = tmp_path / "mood.json"  # JSON is YAML
    spec_file.write_text(json.dumps({**spec().as_json(), "model_identity": None}))
    status = await decide(place.settings, place.environ, spec_file, json.dumps(MESSAGE), as_json=False)
    output, line, reason = capsys.readouterr().out.splitlines()
    assert (status, json.loads(output)) == (1, {"mood": "unknown", "note": ""})
    assert line.startswith("fallback_provider | c_")
    assert line.endswith(" | decision 1 signed")
    assert reason.startswith("The offline rules are no language model")

    await decide(place.settings, place.environ, spec_file, json.dumps(MESSAGE), as_json=True)
    assert json.loads(capsys.readouterr().out)["entry_id"] == 2
    for bad, why in (("{", "The input cannot be used: the input is not one JSON"), ("[]", "must be a JSON object")):
        with pytest.raises(UsageError, match=why):
            await decide(place.settings, place.environ, spec_file, bad, as_json=False)
    with pytest.raises(UsageError, match="lacks the field 'message'"):
        await decide(place.settings, place.environ, spec_file, "{}", as_json=False)
    assert len(verified(place.ledger, "L12")) == 2


async def test_a_call_id_of_the_command_line_gives_the_same_decision_and_one_entry(
    place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec_file, call_id = tmp_path / "mood.json", new_call_id()
    spec_file.write_text(json.dumps({**spec().as_json(), "model_identity": None}))
    said = []
    for _ in range(2):
        await decide(place.settings, place.environ, spec_file, json.dumps(MESSAGE), as_json=True, call_id=call_id)
        said.append(json.loads(capsys.readouterr().out))
    assert said[0] == said[1]
    assert [entry.fields["callId"] for entry in verified(place.ledger, "L12")] == [call_id]
    with pytest.raises(UsageError, match="call_id must be c_ and a ULID"):
        await decide(place.settings, place.environ, spec_file, json.dumps(MESSAGE), as_json=True, call_id="mine")


async def test_a_spec_that_raises_is_one_json_document_too(
    place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec_file = tmp_path / "mood.json"
    strict = spec(fallback_behavior="raise", deterministic_default=None)
    spec_file.write_text(json.dumps({**strict.as_json(), "model_identity": None}))
    assert await decide(place.settings, place.environ, spec_file, json.dumps(MESSAGE), as_json=True) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["output"], told["exit_state"], told["entry_id"]) == (None, "fallback_provider", 1)
    with pytest.raises(NoDecisionError, match="No usable decision under mood-reader"):
        await decide(place.settings, place.environ, spec_file, json.dumps(MESSAGE), as_json=False)


async def test_a_day_that_cost_what_it_may_stops_calls_of_the_command_line_politely(
    place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec_file = tmp_path / "mood.json"
    spec_file.write_text(json.dumps({**spec().as_json(), "model_identity": None}))
    answer = wire.Answer([wire.text(GOOD)], usage={"input_tokens": 60_000, "output_tokens": 9_000})  # $0.21
    async with wire.anthropic_server(*[answer] * 3) as server:
        environ = place.environ | {
            "PROMETHEUS_PROVIDER": "anthropic",
            "PROMETHEUS_API_KEY": wire.KEY,
            "PROMETHEUS_BASE_URL": server.url,
            "PROMETHEUS_DAY_BUDGET_USD": "0.10",
        }
        settings = Place(environ, place.ledger).settings
        told = []
        for _ in range(2):
            await decide(settings, environ, spec_file, json.dumps(MESSAGE), as_json=True)
            told.append(json.loads(capsys.readouterr().out))
        with pytest.raises(BudgetSpentError, match=r"today has cost about \$0\.21.*PROMETHEUS_DAY_BUDGET_USD"):
            await replay_call(settings, environ, told[0]["call_id"], as_json=False)

    assert len(server.requests) == 1
    first, second = told
    assert (first["exit_state"], second["exit_state"]) == ("ok", "fallback_provider")
    assert second["reason"].startswith("I stopped before the next model call: today has cost about $0.21")
    assert len(verified(place.ledger, "L12")) == 2  # the one that asked nobody too


async def test_a_call_is_answered_by_the_model_of_its_spec(place: Place) -> None:
    environ = {**place.environ, "PROMETHEUS_PROVIDER": "anthropic", "ANTHROPIC_API_KEY": "test-key-0815"}
    settings = Place(environ, place.ledger).settings
    small = Identity("anthropic", "claude-haiku-5-5", "5-5")
    async with AsyncExitStack() as resources:
        calls = open_calls(settings, open_desk(settings, environ, resources), resources)
        assert calls.provider is not None
        assert calls.provider.identity != small
        chosen = calls_of_model(settings, calls, small, resources)
        assert chosen.provider is not None
        assert chosen.provider.identity == small
        assert chosen.cost(Usage(1_000_000)) != calls.cost(Usage(1_000_000))
        assert calls_of_model(settings, calls, Identity("openai", "gpt-x", "x"), resources) is calls


async def test_a_replay_by_another_provider_than_then_says_what_to_set(place: Place) -> None:
    small = sure_spec(model_identity=Identity("anthropic", "claude-haiku-5-5", "5-5"))
    async with AsyncExitStack() as resources:
        desk = open_desk(place.settings, place.environ, resources)
        options = open_calls(place.settings, desk, resources)
        decision = await run_constrained_ai(small, MESSAGE, replace(options, provider=None, code=lambda _: UNSURE))
    with pytest.raises(
        UsageError, match=r"was answered by anthropic/claude-haiku-5-5 \(5-5\).*set PROMETHEUS_PROVIDER"
    ):
        await replay_call(place.settings, place.environ, decision.call_id, as_json=False)


async def test_an_opening_is_revealed_with_its_key_and_forgotten_for_good(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    decision = await place.decide()
    await give_verdict(place.settings, place.environ, decision.call_id, ruling_of("amended", "ana", BETTER, ""))
    capsys.readouterr()
    await reveal(place.settings, place.environ, decision.call_id, as_json=True)
    rows = {row["field"]: row for row in json.loads(capsys.readouterr().out)}
    (entry,) = verified(place.ledger, "L12")
    assert rows["inputHash"]["value"] == MESSAGE
    assert rows["inputHash"]["digest"] == entry.fields["inputHash"]
    (review,) = verified(place.ledger, "L6")
    await reveal(place.settings, place.environ, str(review.fields["reviewId"]), as_json=False)
    assert '"mood":"sad"' in capsys.readouterr().out

    await forget(place.settings, place.environ, decision.call_id)
    assert capsys.readouterr().out.startswith(f"Forgot {decision.call_id}.")
    for gone in (decision.call_id, str(review.fields["reviewId"])):
        with pytest.raises(UsageError, match="There is no opening of"):
            await reveal(place.settings, place.environ, gone, as_json=False)
    with pytest.raises(UsageError, match=r"nothing of .* to forget"):
        await forget(place.settings, place.environ, decision.call_id)


async def test_a_replay_says_what_is_missing(place: Place) -> None:
    with pytest.raises(UsageError, match="The ledger has no call 'c_none'"):
        await replay_call(place.settings, place.environ, "c_none", as_json=False)


async def test_calls_are_made_and_replayed_beside_a_host_that_holds_the_home(
    place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec_file = tmp_path / "mood.json"
    spec_file.write_text(json.dumps({**spec().as_json(), "model_identity": None}))
    holder = HomeLock(place.settings.home.folder("host") / "lock", place.settings.home.path)
    await decide(place.settings, place.environ, spec_file, json.dumps(MESSAGE), as_json=True)
    call_id = json.loads(capsys.readouterr().out)["call_id"]
    assert await replay_call(place.settings, place.environ, call_id, as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["same"] is True
    holder.release()
    assert [entry.fields["exitState"] for entry in verified(place.ledger, "L12")] == ["fallback_provider"] * 2
    assert not (place.settings.home.path / "host" / "spool.jsonl").exists()


async def test_a_verdict_that_cannot_stand_is_refused_with_what_to_do(place: Place) -> None:
    decision = await place.decide()
    with pytest.raises(UsageError, match="amended output cannot be used: the output is not one JSON value"):
        ruling_of("amended", "ana", "sad", "")
    with pytest.raises(UsageError, match="does not satisfy the output_schema of mood-reader"):
        await give_verdict(place.settings, place.environ, decision.call_id, ruling_of("amended", "ana", "{}", ""))
    for name in ("", "x" * 5000, "ev\x1b[31mil\nx", "b\udcff"):
        with pytest.raises(UsageError, match="A reviewer has a name of 1 to 200 printable characters"):
            await give_verdict(place.settings, place.environ, decision.call_id, ruling_of("rejected", name, None, ""))
    with pytest.raises(UsageError, match="A comment is text"):
        await give_verdict(
            place.settings, place.environ, decision.call_id, ruling_of("rejected", "ana", None, "c\udcff")
        )
    with pytest.raises(UsageError, match="is not in the review queue"):
        await give_verdict(place.settings, place.environ, "c_none", ruling_of("approved", "ana", None, ""))


def keep_poison(place: Place, call_id: str, reviewer: str) -> None:
    """Keeps a verdict that no ledger takes, as builds before this one did."""
    ruling: dict[str, JsonValue] = {
        "productId": "prometheus-agent",
        "reviewId": ulid("r_", 1),
        "callId": call_id,
        "reviewer": reviewer,
    }
    ruling |= {"verdict": "rejected", "outputHash": None, "commentHash": None, "commitment": "hmac-sha256"}
    with closing(sqlite3.connect(place.settings.home.path / "host" / "calls.db")) as other, other:
        other.execute(
            "UPDATE reviews SET state = 'ruled', verdict = 'rejected', ruling = ? WHERE call_id = ?",
            (json.dumps(ruling), call_id),
        )


@pytest.mark.parametrize("reviewer", ["x" * 5000, "b\udcff"])
async def test_a_verdict_that_the_writer_refuses_stops_no_other_and_can_be_given_again(
    place: Place, reviewer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = [(await place.decide()).call_id for _ in range(2)]
    keep_poison(place, first, reviewer)
    assert await give_verdict(place.settings, place.environ, second, ruling_of("rejected", "bob", None, "")) == 0
    assert capsys.readouterr().out == f"{second}: rejected.\nreview 1 signed, of {second}\n"

    await list_reviews(place.settings, place.environ, as_json=False)
    listed = capsys.readouterr()
    assert (listed.out.startswith(first), "\n  refused   " in listed.out, listed.err) == (True, True, "")
    assert await give_verdict(place.settings, place.environ, first, ruling_of("rejected", "bob", None, "")) == 0
    assert [entry.fields["callId"] for entry in verified(place.ledger, "L6")] == [second, first]


async def test_a_case_that_cannot_be_read_hides_no_other_and_can_be_rejected_or_forgotten(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    lost, gone, good = [(await place.decide()).call_id for _ in range(3)]
    with closing(sqlite3.connect(place.settings.home.path / "host" / "calls.db")) as other, other:
        other.execute("INSERT INTO specs VALUES ('0', '{\"spec_id\": 1}')")
        other.execute("UPDATE reviews SET spec_hash = '0' WHERE call_id = ?", (lost,))
        other.execute("UPDATE reviews SET input = '{' WHERE call_id = ?", (gone,))

    await list_reviews(place.settings, place.environ, as_json=True)
    assert [case["spec_id"] for case in json.loads(capsys.readouterr().out)] == [None, None, "mood-reader"]
    assert [spec_id for _, spec_id in waiting_calls(place.settings)] == ["unreadable", "unreadable", "mood-reader"]
    with pytest.raises(UsageError, match=r"cannot be read any more .*; reject it, or `agent-host forget"):
        await give_verdict(place.settings, place.environ, lost, ruling_of("approved", "bob", None, ""))
    assert await give_verdict(place.settings, place.environ, lost, ruling_of("rejected", "bob", None, "")) == 0
    assert await give_verdict(place.settings, place.environ, good, ruling_of("approved", "bob", None, "")) == 0
    assert await forget(place.settings, place.environ, gone) == 0
    with pytest.raises(UsageError, match="There is nothing of ''"):
        await forget(place.settings, place.environ, "")


async def test_a_watch_needs_a_chain_and_somebody_to_trust(place: Place) -> None:
    with pytest.raises(UsageError, match="There is no chain 'diary' to watch; there are turns, decisions, reviews"):
        await watch_chain(place.settings, place.environ, "diary", None)
    with pytest.raises(UsageError, match="name the policy of that writer with --policy"):
        await watch_chain(place.settings, place.environ, "decisions", None)


async def test_a_conversation_lists_what_waits_and_takes_a_verdict(place: Place) -> None:
    call_id = (await place.decide()).call_id
    out = io.StringIO()
    typed = Typed("/review", f"/review reject {call_id} not so", "/review", None)
    desk = Desk(EchoHost(), place.settings, place.environ)

    await converse(desk, typed, PlainScreen(out, live=False))

    listed, ruled, signed, nothing = out.getvalue().split("\n", 5)[0], *out.getvalue().splitlines()[-3:]
    assert listed.startswith(call_id)
    assert ruled == f"{call_id}: rejected."
    assert signed == f"review 1 signed, of {call_id}"
    assert nothing == "Nothing waits for a review."
