"""How well and how fast the memory server finds things: `python -m evals.bench.memory_recall`.

Recall is measured with LoCoMo (Maharana et al., 2024, arXiv 2402.17753): ten long conversations of two people, each
turn one memory, one scope a conversation, every question asked through the MCP tool `memory_search`. The data may be
used to measure but not be passed on (CC BY-NC 4.0), so it is read where it lies; without it that part is left out. The
peer in the same run is SQLite FTS5 with the words of the question OR-ed, as simple memory servers do.

Speed is measured inside the service, on invented text with the word frequencies of natural language (Zipf).

Honesty: the weights of the ranking were chosen while looking at these conversations, and the questions share words with
their evidence. Expect less on facts that are asked for in other words.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import secrets
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate, count
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from memory_mcp import intake
from memory_mcp.memory import MemoryService
from memory_mcp.search import MemorySearch, Request
from memory_mcp.storage.sqlite import FILE_NAME, open_sqlite

LOCOMO = Path(__file__).parents[3] / "shared" / "data" / "locomo10.json"
ADVERSARIAL = 5
EVIDENCE = re.compile(r"D\d+:\d+")
SEED = 7


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


async def through_the_tools(data: Sequence[Conversation], folder: Path) -> tuple[list[Outcome], int, int]:
    """Stores every turn and asks every question through the MCP tools of a server.

    Returns the outcomes, how many questions came back empty, and how many of as many questions put to another
    conversation did.
    """
    from fastmcp import Client

    from memory_mcp.app import build
    from service_runtime.settings import load_settings

    outcomes, empty, elsewhere = [], 0, 0
    async with Client(build(load_settings({"PROMETHEUS_HOME": str(folder)}, folder))) as client:

        async def found(question: str, scope: str) -> list[str]:
            arguments = {"query": question, "scope": scope, "limit": 20}
            answer = (await client.call_tool("memory_search", arguments)).structured_content or {}
            return [entry["id"] for entry in answer["entries"]]

        for conversation in data:
            ids: dict[str, list[str]] = {}
            for turn in conversation.turns:
                arguments = {"body": turn.body, "subject": turn.speaker, "scope": conversation.scope}
                arguments |= {"happened_at": turn.day, "episode": f"session {turn.session}"}
                answer = (await client.call_tool("memory_remember", arguments)).structured_content or {}
                ids.setdefault(answer["memory"]["id"], []).append(turn.id)
            for question in conversation.questions:
                turns = [turn for memory in await found(question.text, conversation.scope) for turn in ids[memory]]
                outcomes.append(Outcome(question, tuple(turns)))
                empty += not turns
        for place, conversation in enumerate(data):
            other = data[(place + 1) % len(data)].scope
            for question in conversation.questions:
                elsewhere += not await found(question.text, other)
    return outcomes, empty, elsewhere


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


def print_recall(path: Path) -> None:
    """Measures and prints recall; says so when the data is not there."""
    if not path.exists():
        print(f"recall: not measured, {path.name} is not there (pass --data)")
        return
    data = list(conversations(path))
    with tempfile.TemporaryDirectory() as folder:
        ours, empty, elsewhere = asyncio.run(through_the_tools(data, Path(folder)))
    peer = figures(list(by_plain_full_text(data)), lambda turn: turn.partition(":")[0])
    plain = sum(outcome.question.category != ADVERSARIAL for outcome in ours)
    print(f"recall, {sum(len(one.turns) for one in data)} memories, {plain} questions ({len(ours)} of all five)")
    for name, value in figures(ours, lambda turn: turn.partition(":")[0]).items():
        print(f"  {name:<28} {value:.3f}   plain FTS5 {peer[name]:.3f}   ratio {value / peer[name]:.2f}")
    print(f"  no answer, own conversation   {empty / len(ours):.3f}   another conversation {elsewhere / len(ours):.3f}")


def print_speed(memories: int) -> None:
    """Measures and prints search and remember inside the service, all memories in one scope."""
    texts = invented_texts(memories + 500)
    zone = ZoneInfo("UTC")
    with tempfile.TemporaryDirectory() as folder:
        store = open_sqlite(Path(folder) / FILE_NAME)
        search = MemorySearch(store, zone, lambda: secrets.token_hex(8))
        ids = (f"mem_{number:020x}" for number in count())
        service = MemoryService(store, search, zone, lambda: time.time_ns() // 1_000_000, lambda: next(ids))
        origin = intake.origin("bench")

        def remember(number: int, text: str) -> None:
            content = intake.content(zone, body=text, scope="project:bench")
            service.remember(content, origin, episode=f"episode {number // 20}")

        for number, text in enumerate(texts[:memories]):
            remember(number, text)
        asked = questions(texts[:memories], 300)
        searches = timed(lambda query: search.search(Request(query, scope="project:bench")), asked)
        writes = timed(lambda text: remember(memories, text), texts[memories:])
        store.close()
    print(f"speed, {memories} memories in one scope, ms (wall p50 / p95, CPU p50 / p95)")
    print(f"  memory_search    {searches}")
    print(f"  memory_remember  {writes}")


def invented_texts(number: int) -> list[str]:
    """Returns texts of 15 to 25 invented words, the nth most frequent word about 1/n as frequent as the first."""
    chance = random.Random(SEED)  # noqa: S311 - invented text, no secret
    syllables = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
    words = ["".join(chance.choices(syllables, k=3)) for _ in range(20_000)]
    weights = list(accumulate(1 / (place + 1) for place in range(len(words))))
    return [" ".join(chance.choices(words, cum_weights=weights, k=chance.randint(15, 25))) for _ in range(number)]


def questions(texts: Sequence[str], number: int) -> list[str]:
    """Returns six words of one text each, in another order."""
    chance = random.Random(SEED)  # noqa: S311 - invented text, no secret
    return [" ".join(chance.sample(chance.choice(texts).split(), 6)) for _ in range(number)]


def timed(action: Callable[[str], object], inputs: Sequence[str]) -> str:
    """Runs an action on each input and returns its times in words."""
    wall, cpu = [], []
    for value in inputs:
        started, worked = time.perf_counter(), time.process_time()
        action(value)
        cpu.append(time.process_time() - worked)
        wall.append(time.perf_counter() - started)
    return "   ".join(f"{_at(times, 0.5):.2f} / {_at(times, 0.95):.2f}" for times in (wall, cpu))


def _at(seconds: Sequence[float], share: float) -> float:
    return sorted(seconds)[int(len(seconds) * share)] * 1000


def main() -> int:
    """Measures what the command line asks for."""
    parser = argparse.ArgumentParser(description="Recall and speed of the memory server.")
    parser.add_argument("--data", type=Path, default=LOCOMO, help="the file locomo10.json")
    parser.add_argument("--memories", type=int, default=10_000, help="size of the store for the speed (default: 10000)")
    parser.add_argument("--only", choices=("recall", "speed"), help="measure one of the two")
    options, _ = parser.parse_known_args()
    if options.only != "speed":
        print_recall(options.data)
    if options.only != "recall":
        print_speed(options.memories)
    return 0


if __name__ == "__main__":
    sys.exit(main())
