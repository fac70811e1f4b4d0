"""How well the memory server finds what it was told: LoCoMo through the MCP tools.

LoCoMo (Maharana et al., 2024, arXiv 2402.17753) is ten long conversations of two people. Each turn is one memory, one
scope a conversation, and every question is asked through `memory_search`: by words, and with the packaged model when
its extra is installed. The data may be used to measure but not be passed on (CC BY-NC 4.0), so it is read where it
lies; without it this part is left out. The peer for all of it is SQLite FTS5 with the words of the question OR-ed, as
simple memory servers do; `memory_peers` are asked on the first conversations alone, or they would take an hour.

Honesty: the weights of the ranking were chosen while looking at these conversations, and the questions share words with
their evidence. `memory_paraphrases` shows the other case.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sqlite3
import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

from evals.bench import memory_basic_memory, memory_peers
from memory_mcp.embedding.background import Meaning
from memory_mcp.embedding.packaged import load_packaged
from memory_mcp.errors import EmbeddingError
from memory_mcp.storage.sqlite import FILE_NAME, open_sqlite
from memory_mcp.terms import content_terms

LOCOMO = Path(__file__).parents[3] / "shared" / "data" / "locomo10.json"
ADVERSARIAL = 5
EVIDENCE = re.compile(r"D\d+:\d+")
PEER_CONVERSATIONS = 2
_FOUND = 20


@dataclass(frozen=True)
class Turn:
    """One thing said: its id in the data, its session, who said it, what, and on which day."""

    id: str
    session: int
    speaker: str
    body: str
    day: str


@dataclass(frozen=True)
class Question:
    """A question, the ids of the turns that answer it, and its category."""

    text: str
    evidence: frozenset[str]
    category: int


@dataclass(frozen=True)
class Conversation:
    """One conversation and its questions."""

    scope: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Outcome:
    """What a search gave for a question: the ids of the turns found, best first."""

    question: Question
    found: tuple[str, ...]


def conversations(path: Path) -> Iterator[Conversation]:
    """Yields the conversations of the data; questions without usable evidence are left out."""
    for number, sample in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        turns = tuple(_turns(sample["conversation"]))
        known = frozenset(turn.id for turn in turns)
        asked = (
            Question(
                entry["question"], known & frozenset(EVIDENCE.findall(" ".join(entry["evidence"]))), entry["category"]
            )
            for entry in sample["qa"]
        )
        yield Conversation(f"project:conversation {number}", turns, tuple(one for one in asked if one.evidence))


def _turns(conversation: dict[str, Any]) -> Iterator[Turn]:
    for session in count(1):
        written = conversation.get(f"session_{session}_date_time")
        if written is None:
            return
        day = datetime.strptime(written.split(" on ")[1], "%d %B, %Y").date()  # noqa: DTZ007 - a day has no zone
        for turn in conversation.get(f"session_{session}", ()):
            image = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            yield Turn(turn["dia_id"], session, turn["speaker"], turn["text"] + image, day.isoformat())


@dataclass(frozen=True)
class Answers:
    """What the tools gave: the outcomes, and the share of questions without an answer, here and put elsewhere."""

    outcomes: list[Outcome]
    empty: float
    elsewhere: float


async def stored(data: Sequence[Conversation], home: Path) -> dict[str, list[str]]:
    """Stores every turn through `memory_remember`; returns the turns of each memory by its id."""
    ids: dict[str, list[str]] = {}
    async with _client(home) as client:
        for conversation in data:
            for turn in conversation.turns:
                arguments = {"body": turn.body, "subject": turn.speaker, "scope": conversation.scope}
                arguments |= {"happened_at": turn.day, "episode": f"session {turn.session}"}
                answer = (await client.call_tool("memory_remember", arguments)).structured_content or {}
                ids.setdefault(answer["memory"]["id"], []).append(turn.id)
    return ids


async def asked(data: Sequence[Conversation], home: Path, ids: dict[str, list[str]], **settings: str) -> Answers:
    """Asks every question through `memory_search`, in its own conversation and in another one."""
    outcomes: list[Outcome] = []
    empty = elsewhere = 0
    async with _client(home, **settings) as client:

        async def entries(question: str, scope: str, *, explain: bool = False) -> list[dict[str, Any]]:
            arguments = {"query": question, "scope": scope, "limit": _FOUND, "explain": explain}
            answer = (await client.call_tool("memory_search", arguments)).structured_content or {}
            return list(answer["entries"])

        if settings:
            first = data[0].turns[0].body
            while "dense" not in (await entries(first, data[0].scope, explain=True))[0]["parts"]:
                continue  # the model loads in the background
        for place, conversation in enumerate(data):
            other = data[(place + 1) % len(data)].scope
            for question in conversation.questions:
                found = [
                    turn for entry in await entries(question.text, conversation.scope) for turn in ids[entry["id"]]
                ]
                outcomes.append(Outcome(question, tuple(found)))
                empty += not found
                elsewhere += not await entries(question.text, other)
    return Answers(outcomes, empty / len(outcomes), elsewhere / len(outcomes))


def _client(home: Path, **settings: str) -> Any:
    from fastmcp import Client

    from memory_mcp.app import build
    from service_runtime.settings import load_settings

    environ = {"PROMETHEUS_HOME": str(home), "PROMETHEUS_MEMORY_MIRROR": "off", **settings}
    return Client(build(load_settings(environ, home)))


def give_vectors(home: Path) -> None:
    """Gives every stored memory its vector, as the server does in the background.

    Raises:
        EmbeddingError: The packaged model is not installed.
    """
    store = open_sqlite(home / "memory" / FILE_NAME)
    meaning = Meaning(store, load_packaged)
    try:
        while meaning.step():
            pass
    finally:
        store.close()


def by_plain_full_text(data: Sequence[Conversation]) -> Iterator[Outcome]:
    """Yields what SQLite FTS5 finds with all words of the question OR-ed, one index a conversation."""
    for conversation in data:
        connection = sqlite3.connect(":memory:")
        connection.execute("CREATE VIRTUAL TABLE turn USING fts5(id UNINDEXED, body)")
        rows = ((turn.id, f"{turn.speaker}: {turn.body}") for turn in conversation.turns)
        connection.executemany("INSERT INTO turn VALUES (?, ?)", rows)
        for question in conversation.questions:
            words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question.text))
            hits = connection.execute("SELECT id FROM turn WHERE turn MATCH ? ORDER BY rank LIMIT 20", (words,))
            yield Outcome(question, tuple(turn for (turn,) in hits))
        connection.close()


def figures(outcomes: Sequence[Outcome], session_of: Callable[[str], str]) -> dict[str, float]:
    """Returns recall@k and hit@10 over categories 1 to 4, and over all five recall@10 and session hits."""
    plain = [outcome for outcome in outcomes if outcome.question.category != ADVERSARIAL]
    return {
        **{f"recall@{k}": _mean(_recall(outcome, k) for outcome in plain) for k in (1, 5, 10, 20)},
        "hit@10": _mean(_recall(outcome, 10) > 0 for outcome in plain),
        "recall@10, all five": _mean(_recall(outcome, 10) for outcome in outcomes),
        "any session in 5, all five": _mean(_session_hit(outcome, session_of) for outcome in outcomes),
    }


def _recall(outcome: Outcome, k: int) -> float:
    return len(outcome.question.evidence & set(outcome.found[:k])) / len(outcome.question.evidence)


def _session_hit(outcome: Outcome, session_of: Callable[[str], str]) -> bool:
    sessions = list(dict.fromkeys(session_of(turn) for turn in outcome.found))[:5]
    return any(session_of(turn) in sessions for turn in outcome.question.evidence)


def _mean(values: Iterable[float]) -> float:
    return statistics.fmean(values)


def print_recall(path: Path, *, dense: bool = True) -> None:
    """Measures and prints recall; says so when the data is not there."""
    if not path.exists():
        print(f"recall: not measured, {path.name} is not there (pass --data=FILE)")
        return
    data = list(conversations(path))
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        ids = asyncio.run(stored(data, home))
        words = asyncio.run(asked(data, home, ids))
        both = _with_model(data, home, ids) if dense else None
    plain = sum(outcome.question.category != ADVERSARIAL for outcome in words.outcomes)
    turns = sum(len(one.turns) for one in data)
    print(f"recall, {turns} memories, {plain} questions ({len(words.outcomes)} of all five categories)")
    peer, ours = _figures(list(by_plain_full_text(data))), _figures(words.outcomes)
    model = _figures(both.outcomes) if both else {}
    for name, value in ours.items():
        added = f"   with the packaged model {model[name]:.3f}" if model else ""
        print(f"  {name:<28} {value:.3f}{added}   plain FTS5 {peer[name]:.3f}   ratio {value / peer[name]:.2f}")
    for name, answers in (("by words", words), ("with the packaged model", both)):
        if answers:
            silent = f"own conversation {answers.empty:.3f}, another conversation {answers.elsewhere:.3f}"
            print(f"  no answer, {name}: {silent}")
    _print_peers(data[:PEER_CONVERSATIONS], words.outcomes)


def _with_model(data: Sequence[Conversation], home: Path, ids: dict[str, list[str]]) -> Answers | None:
    try:
        give_vectors(home)
    except EmbeddingError as error:
        print(f"recall with a model: not measured. {error}")
        return None
    return asyncio.run(asked(data, home, ids, PROMETHEUS_EMBEDDINGS="packaged"))


def _print_peers(data: Sequence[Conversation], ours: Sequence[Outcome]) -> None:
    mine = _figures(ours[: sum(len(one.questions) for one in data)])["recall@10"]
    print(f"recall@10 beside others, the first {len(data)} conversations: ours by words {mine:.3f}")
    as_asked, any_word = _by_basic_memory(data)
    peers = (
        ("server-memory, longest word", _by_server_memory(data)),
        ("mem0, MiniLM", _by_mem0(data)),
        ("basic-memory, as asked", as_asked),
        ("basic-memory, words OR-ed", any_word),
    )
    for name, found in peers:
        if found is None:
            absent = memory_basic_memory.NOT_INSTALLED if "basic" in name else "not installed (make bench-peers)"
            print(f"  {name:<28} left out: {absent}")
        else:
            value = _figures(found)["recall@10"]
            print(f"  {name:<28} {value:.3f}   ours is {mine / value if value else float('inf'):.2f} times that")


def _by_server_memory(data: Sequence[Conversation]) -> list[Outcome] | None:
    """Asks the reference server for the longest word that says something; a whole question finds nothing in it."""
    if not memory_peers.NODE_SERVER.exists():
        return None
    return asyncio.run(_asked_server_memory(data))


async def _asked_server_memory(data: Sequence[Conversation]) -> list[Outcome]:
    from mcp import Client, StdioServerParameters

    outcomes = []
    for conversation in data:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "memory.jsonl"
            facts = [
                {
                    "type": "entity",
                    "name": turn.id,
                    "entityType": "turn",
                    "observations": [f"{turn.speaker}: {turn.body}"],
                }
                for turn in conversation.turns
            ]
            path.write_text("\n".join(map(json.dumps, facts)), encoding="utf-8")
            command = [str(memory_peers.NODE_SERVER)]
            environ = {**os.environ, "MEMORY_FILE_PATH": str(path)}
            async with Client(StdioServerParameters(command="node", args=command, env=environ)) as client:
                for question in conversation.questions:
                    said = [word for word in re.findall(r"\w+", question.text) if content_terms(word)]
                    answer = await client.call_tool("search_nodes", {"query": max(said, key=len, default="")})
                    found = (answer.structured_content or {}).get("entities", [])
                    outcomes.append(Outcome(question, tuple(entity["name"] for entity in found)))
    return outcomes


def _by_basic_memory(data: Sequence[Conversation]) -> tuple[list[Outcome] | None, list[Outcome] | None]:
    """Asks basic-memory the question as it is, and with its words OR-ed; one server a conversation."""
    if not memory_basic_memory.COMMAND.exists():
        return None, None
    return asyncio.run(_asked_basic_memory(data))


async def _asked_basic_memory(data: Sequence[Conversation]) -> tuple[list[Outcome], list[Outcome]]:
    as_asked: list[Outcome] = []
    any_word: list[Outcome] = []
    for conversation in data:
        notes = {f"note {number}": f"{one.speaker}: {one.body}" for number, one in enumerate(conversation.turns)}
        turns = dict(zip(notes, (turn.id for turn in conversation.turns), strict=True))
        async with memory_basic_memory.basic_memory(notes) as peer:
            for question in conversation.questions:
                for query, outcomes in (
                    (question.text, as_asked),
                    (memory_basic_memory.any_of(question.text), any_word),
                ):
                    _, found = await peer.search(query)
                    outcomes.append(Outcome(question, tuple(turns[title] for title in found)))
    return as_asked, any_word


def _by_mem0(data: Sequence[Conversation]) -> list[Outcome] | None:
    """Asks mem0 with the vectors of the same packaged model, one user a conversation."""
    if not memory_peers.MEM0_PYTHON.exists():
        return None
    try:
        embedder = load_packaged()
    except EmbeddingError:
        return None

    def vectors(texts: Sequence[str]) -> list[list[float]]:
        return [[float(part) for part in vector.parts] for vector in embedder.embed(texts)]

    outcomes = []
    with memory_peers.Mem0() as peer:
        for conversation in data:
            ids: dict[str, list[str]] = {}
            for turn in conversation.turns:
                ids.setdefault(f"{turn.speaker}: {turn.body}", []).append(turn.id)
            user = conversation.scope.replace(" ", "-")  # mem0 takes no space in a name
            peer.bulk(list(ids), vectors(list(ids)), user)
            for question in conversation.questions:
                _, found = peer.search(question.text, vectors([question.text])[0], user)
                outcomes.append(Outcome(question, tuple(turn for text in found for turn in ids[text])))
    return outcomes


def _figures(outcomes: Sequence[Outcome]) -> dict[str, float]:
    return figures(outcomes, lambda turn: turn.partition(":")[0])
