"""Memories of other programs, each in a sample as that program writes it."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_mcp.errors import InvalidArgumentError
from memory_mcp.model import Memory, Origin, Trust
from memory_mcp.scopes import parse_scope
from memory_mcp.transfer.bundle import Bundle, bundle_at, bundle_of_text
from memory_mcp.transfer.items import Foreign, Manner
from memory_mcp.transfer.reading import READERS, detected
from tests.memory_mcp.world import ZONE, World

REFERENCE = "\n".join(
    json.dumps(line)
    for line in (
        {
            "type": "entity",
            "name": "Bo Larsen",
            "entityType": "person",
            "observations": ["likes tea", "Bo Larsen leads"],
        },
        {"type": "entity", "name": "Mia", "entityType": "person", "observations": ["likes tea"]},
        {"type": "entity", "name": "Apollo", "entityType": "project", "observations": []},
        {"type": "relation", "from": "Bo Larsen", "to": "Apollo", "relationType": "works_on"},
    )
)
CHATGPT = [
    {
        "title": "Trams",
        "conversation_id": "c1",
        "create_time": 1715158800.5,
        "current_node": "d",
        "mapping": {
            "a": {"id": "a", "message": None, "parent": None, "children": ["b"]},
            "b": {"parent": "a", "children": ["c", "x"],
                  "message": {"author": {"role": "user"}, "create_time": 1715158800.5,
                              "content": {"content_type": "text", "parts": ["Does Oslo have trams?"]}}},
            "x": {"parent": "b", "children": [], "message": {"author": {"role": "assistant"}, "create_time": 1715158801,
                  "content": {"content_type": "text", "parts": ["A thrown away try."]}}},
            "c": {"parent": "b", "children": ["d"], "message": {"author": {"role": "tool"}, "create_time": 1715158802,
                  "content": {"content_type": "text", "parts": ["tool noise"]}}},
            "d": {"parent": "c", "children": [], "message": {"author": {"role": "assistant"}, "create_time": 1715158803,
                  "content": {"content_type": "multimodal_text", "parts": ["Yes, six lines.", {"asset": "x"}]}}},
        },
    },
    {"title": "Broken", "mapping": {"a": {"parent": "b", "message": {}}, "b": {"parent": "a", "message": 3}}},
]  # fmt: skip
CLAUDE = [
    {
        "uuid": "u1",
        "name": "Meetings",
        "created_at": "2026-05-08T10:00:00Z",
        "chat_messages": [
            {"sender": "human", "text": "When do we meet?", "created_at": "2026-05-08T10:00:00Z", "content": []},
            {"sender": "assistant", "text": "", "created_at": "2026-05-08T10:00:05Z",
             "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "On Mondays."}]},
            {"sender": "human", "text": "", "content": []},
        ],
    },
]  # fmt: skip
CLAUDE_MEMORIES = [
    {
        "conversations_memory": "**Work context**\n\nBo runs the design team.\n\n- Prefers short answers",
        "project_memories": {"p-1": "Apollo uses hexagons."},
        "account_uuid": "a",
    },
]
MEM0 = {
    "results": [
        {"id": "1", "memory": "Likes tea", "created_at": "2025-05-08T10:00:00-07:00", "user_id": "ann",
         "metadata": {"category": "food"}, "hash": "x"},
        {"id": "2", "memory": " ", "created_at": None},
        {"id": "3", "memory": "Lives in Oslo", "created_at": "soon", "categories": ["home", "place"], "run_id": "r1"},
    ],
}  # fmt: skip
NOTE = """---
title: Coffee Brewing
type: note
permalink: coffee-brewing
tags: [coffee, home]
created: 2026-05-08T10:00:00
---

# Coffee Brewing

Some words about coffee.

## Observations

- [method] Pour over gives more clarity #brewing #slow (from a book)
- [tip] Coffee brewing needs fresh beans
- [x] a task is no observation

## Relations

- relates_to [[Coffee Beans]]
- part_of [[Morning]] (every day)
"""
FACT = """---
name: deploy-steps
description: How we deploy
metadata:
  type: project
---

Run `make ship`, then watch the board.

- never on Fridays
"""
PLAIN = """# Memory

<!-- written by hand -->
Bo leads the team,
and Mia helps.

## Tea
- Mia likes green tea
  - but not in the evening
- [2024-03-01] - Bo stopped drinking coffee
1. a numbered one

```sh
- not a bullet
make ship
```
[Deploy](deploy.md) - how we deploy
"""


def by_body(world: World) -> dict[str, Memory]:
    """The memories of a store by what they say."""
    return {memory.content.body: memory for memory in world.all()}


def written(folder: Path, files: dict[str, Any]) -> Path:
    """A folder with these files; what is no text is written as JSON."""
    for name, what in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(what if isinstance(what, str) else json.dumps(what), encoding="utf-8")
    return folder


def test_the_reference_servers_file_becomes_memories_that_can_be_read_alone(world: World) -> None:
    done = world.take_in(REFERENCE)
    found = by_body(world)

    assert (done.format, done.skipped) == ("reference", [])
    assert list(found) == [
        "Bo Larsen: likes tea",
        "Bo Larsen leads",
        "Mia: likes tea",
        "Apollo (project)",
        "Bo Larsen works on Apollo",
    ]
    tea = found["Mia: likes tea"]
    assert (tea.content.subject, tea.content.tags, tea.origin) == (
        "Mia",
        ("person",),
        Origin("server-memory", Trust.IMPORT),
    )
    assert world.bodies("What does Mia like?")[0] == "Mia: likes tea"


def test_a_damaged_line_of_the_reference_server_costs_only_itself(world: World) -> None:
    damaged = (
        REFERENCE + '\n{"type":"entity","na\n{"type":"thing"}\n{"type":"relation","from":"a"}\n{"type":"entity"}\n[1]'
    )
    done = world.take_in(damaged)

    assert len(done.new) == 5
    assert [one.where for one in done.skipped] == [f"content.json line {number}" for number in range(5, 10)]


def test_the_export_of_chatgpt_keeps_the_branch_that_was_read_in_order(world: World, tmp_path: Path) -> None:
    done = world.take_in(written(tmp_path, {"conversations.json": CHATGPT, "user.json": {"id": "x"}, "chat.html": "x"}))
    one, two = world.all()

    assert (done.format, done.skipped) == ("chatgpt", [])
    assert [one.content.body, two.content.body] == ["User: Does Oslo have trams?", "Assistant: Yes, six lines."]
    assert (one.content.kind, one.content.subject, one.episode) == ("episode", "Trams", "c1")
    assert (one.position, two.position, one.created_at_ms) == (0, 1, 1_715_158_800_500)
    assert one.content.happened is not None
    assert one.content.happened.text == "2024-05-08T11:00:00+02:00"
    assert world.bodies("trams in May 2024")[0] == one.content.body


@pytest.mark.parametrize(
    "kept",
    [
        ["Likes tea.", "Lives in Oslo."],
        [{"content": "Likes tea.", "created_at": 1715158800}, {"text": "Lives in Oslo."}],
        {"memories": [{"id": "1", "content": "Likes tea."}, {"id": "2", "content": "Lives in Oslo."}]},
    ],
)
def test_what_chatgpt_keeps_in_memory_comes_in_too(world: World, tmp_path: Path, kept: Any) -> None:
    done = world.take_in(written(tmp_path, {"memories.json": kept}))

    assert (done.format, list(by_body(world))) == ("chatgpt", ["Likes tea.", "Lives in Oslo."])


def test_the_export_of_claude_has_conversations_and_memories(world: World, tmp_path: Path) -> None:
    files = {
        "conversations.json": CLAUDE,
        "memories.json": CLAUDE_MEMORIES,
        "projects.json": [{"uuid": "p", "name": "A"}],
    }
    done = world.take_in(written(tmp_path, files))
    found = by_body(world)

    assert (done.format, done.skipped) == ("claude", [])
    assert list(found) == [
        "User: When do we meet?",
        "Assistant: On Mondays.",
        "**Work context**",
        "Bo runs the design team.",
        "Prefers short answers",
        "Apollo uses hexagons.",
    ]
    assert found["Assistant: On Mondays."].position == 1
    assert found["Apollo uses hexagons."].content.tags == ("project p-1",)


@pytest.mark.parametrize("document", [MEM0, MEM0["results"]])
def test_an_export_of_mem0_keeps_times_owners_and_categories(world: World, document: Any) -> None:
    done = world.take_in(json.dumps(document))
    found = by_body(world)

    assert (done.format, [one.reason for one in done.skipped]) == ("mem0", ["It has no text."])
    assert found["Likes tea"].content.tags == ("food", "ann")
    assert found["Likes tea"].created_at_ms == 1_746_723_600_000
    assert (found["Lives in Oslo"].content.tags, found["Lives in Oslo"].episode) == (("home", "place"), "r1")


def test_a_note_of_basic_memory_gives_a_memory_an_observation_and_a_relation(world: World, tmp_path: Path) -> None:
    done = world.take_in(written(tmp_path, {"notes/coffee.md": NOTE}))
    found = by_body(world)

    assert (done.format, done.skipped) == ("basic-memory", [])
    first = found["Coffee Brewing: Pour over gives more clarity (from a book)"]
    assert first.content.tags == ("method", "brewing", "slow", "coffee", "home")
    assert first.created_at_ms == 1_778_227_200_000
    assert "Coffee brewing needs fresh beans" in found
    assert "Coffee Brewing relates to Coffee Beans" in found
    assert "Coffee Brewing part of Morning (every day)" in found
    (rest,) = [memory for memory in world.all() if memory.content.kind == "reference"]
    assert "Some words about coffee." in rest.content.body
    assert "- [x] a task is no observation" in rest.content.body
    assert len(found) == 5


def test_a_folder_of_claude_code_gives_a_memory_a_file_and_the_lines_that_lead_nowhere(
    world: World, tmp_path: Path
) -> None:
    index = "# Memory\n- [Deploy](memory/deploy.md) — how we deploy\n- Bo likes tea\n- [Gone](gone.md) — an old page\n"
    done = world.take_in(written(tmp_path, {"MEMORY.md": index, "memory/deploy.md": FACT, ".hidden/x.md": "secret"}))
    found = by_body(world)

    assert (done.format, done.skipped) == ("claude-code", [])
    fact = found["Run `make ship`, then watch the board.\n\n- never on Fridays"]
    assert (fact.content.subject, fact.content.kind, fact.content.tags) == ("deploy-steps", "fact", ("project",))
    assert {"Bo likes tea", "[Gone](gone.md) — an old page"} < set(found)
    assert len(found) == 3


def test_a_plain_list_gives_a_memory_a_bullet_or_paragraph_with_its_heading(world: World) -> None:
    done = world.take_in(PLAIN)
    found = by_body(world)

    assert (done.format, done.skipped) == ("memory-md", [])
    assert list(found) == [
        "Bo leads the team,\nand Mia helps.",
        "Mia likes green tea\n  - but not in the evening",
        "Bo stopped drinking coffee",
        "a numbered one",
        "```sh\n- not a bullet\nmake ship\n```\n[Deploy](deploy.md) - how we deploy",
    ]
    assert found["Bo leads the team,\nand Mia helps."].content.subject is None
    dated = found["Bo stopped drinking coffee"].content
    assert (dated.subject, dated.happened and dated.happened.text) == ("Tea", "2024-03-01")


SAMPLES: dict[str, Any] = {
    "reference": {"memory.jsonl": REFERENCE},
    "chatgpt": {"conversations.json": CHATGPT},
    "claude": {"conversations.json": CLAUDE, "memories.json": CLAUDE_MEMORIES},
    "mem0": {"mem0.json": MEM0},
    "basic-memory": {"coffee.md": NOTE},
    "claude-code": {"MEMORY.md": PLAIN, "deploy.md": FACT},
    "memory-md": {"MEMORY.md": PLAIN},
}


@pytest.mark.parametrize("name", SAMPLES)
def test_importing_a_second_time_changes_nothing(world: World, tmp_path: Path, name: str) -> None:
    folder = written(tmp_path, SAMPLES[name])
    first = world.take_in(folder)
    before = world.all()
    second = world.take_in(folder)

    assert first.format == second.format == name
    assert first.new
    assert (second.new, second.known, second.skipped) == ([], len(first.new), first.skipped)
    assert [memory.id for memory in world.all()] == [memory.id for memory in before]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_dry_run_counts_what_an_import_would_do_and_stores_nothing(world: World, tmp_path: Path, name: str) -> None:
    folder = written(tmp_path, SAMPLES[name])
    told = world.take_in(folder, dry_run=True)

    assert (world.all(), told.dry_run) == ([], True)
    done = world.take_in(folder)
    assert (len(told.new), told.known, told.skipped) == (len(done.new), done.known, done.skipped)


@pytest.mark.parametrize("name", SAMPLES)
def test_everything_imported_is_marked_as_such_and_goes_to_the_scope_that_was_named(
    world: World, tmp_path: Path, name: str
) -> None:
    world.take_in(written(tmp_path, SAMPLES[name]), scope="project:Old", format_name=name.upper())

    assert {memory.origin.trust for memory in world.all()} == {Trust.IMPORT}
    assert {memory.content.scope.name for memory in world.all()} == {"project:Old"}


def test_what_was_corrected_or_forgotten_here_does_not_come_back(world: World) -> None:
    done = world.take_in("- Mia likes tea\n- Bo leads\n- Oslo has trams")
    tea, bo, _ = done.new
    world.remember("Mia likes coffee", supersedes=tea)
    world.memory.forget(bo, Origin("x", Trust.USER), hard=True)

    again = world.take_in("- Mia likes tea\n- Bo leads\n- Oslo has trams")

    assert (again.new, again.known) == ([], 1)
    assert [one.reason for one in again.skipped] == [
        f"It was corrected or forgotten here ({id_})." for id_ in (tea, bo)
    ]


def test_what_is_too_long_is_left_out_and_what_can_be_cut_is_cut(world: World) -> None:
    rows = [
        {"memory": "x" * 70_000},
        {"memory": "fine", "categories": ["t" * 99, *map(str, range(30))], "created_at": 99_999_999_999_999_999},
    ]
    done = world.take_in(json.dumps(rows))
    (memory,) = world.all()

    assert [one.reason[:30] for one in done.skipped] == ["The body has 70,000 bytes, at "]
    assert len(memory.content.tags) == 20
    assert memory.content.tags[0] == "t" * 64


def test_a_time_in_the_future_is_taken_as_now(world: World) -> None:
    world.take_in(json.dumps([{"memory": "fine", "created_at": "2999-01-01"}]))

    assert world.all()[0].created_at_ms < 1_800_000_000_000


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", 10**30, -1])
def test_a_time_that_stands_for_none_is_left_out(world: World, time: object) -> None:
    world.take_in(json.dumps([{"memory": "fine", "created_at": time}]))

    assert 1_790_000_000_000 <= world.all()[0].created_at_ms < 1_800_000_000_000


@pytest.mark.parametrize("name", ["memory-md", "basic-memory", "markdown"])
@pytest.mark.parametrize(
    "text",
    [
        "<!--" * 20_000,
        "<!--\n" * 20_000,
        "<!---->" * 20_000,
        "- " + " " * 100_000 + "[[",
        "- [[a]]" + " " * 100_000 + "(",
        "# a" + " " * 100_000 + "b",
        "# " + "# " * 50_000 + "b",
        "- [" + "](" * 50_000,
    ],
)
def test_no_text_takes_the_square_of_its_length_to_read(name: str, text: str) -> None:
    manner = Manner(ZONE, parse_scope(None))
    before_s = time.process_time()
    with contextlib.suppress(InvalidArgumentError):
        READERS[name](bundle_of_text(text), manner)

    assert time.process_time() - before_s < 3  # of this process; the square took 7 to 26 s and more


def test_a_heading_keeps_what_belongs_to_it_and_loses_what_closes_it(world: World) -> None:
    world.take_in("# C#\n- has generics\n\n## Trams ##\n- are blue\n\n# Memory #\n- Bo leads\n\n# ##\n- Mia reads")

    subjects = {memory.content.body: memory.content.subject for memory in world.all()}
    assert subjects == {"has generics": "C#", "are blue": "Trams", "Bo leads": None, "Mia reads": None}


@pytest.mark.parametrize("text", ["{}", "[]", '{"a": 1}', "[[[[", "[" * 100_000, '{"results": []}', "[1, 2]", "null{"])
def test_what_is_no_export_is_refused_in_one_sentence(world: World, text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"cannot be told from what is in it|Nothing in it can be imported"):
        world.take_in(text if text != "null{" else '{"x": nope}')
    assert world.all() == []


def test_an_unknown_format_is_refused_with_the_known_ones(world: World) -> None:
    with pytest.raises(InvalidArgumentError, match=f"no format 'notion'; send auto or one of {', '.join(READERS)}"):
        world.take_in("- x", format_name="notion")


@pytest.mark.parametrize("name", READERS)
def test_no_reader_fails_on_what_another_program_wrote(world: World, tmp_path: Path, name: str) -> None:
    for number, files in enumerate(SAMPLES.values()):
        folder = written(tmp_path / str(number), files)
        with contextlib.suppress(InvalidArgumentError):  # anything else would fail the test
            world.take_in(folder, format_name=name)


ODD: tuple[Any, ...] = (None, True, 7, -1.5e300, "x", "", [], [1], {}, {"a": 1}, [[]], "9" * 400, "\ud83d")


def odd_versions(what: Any) -> Iterator[Any]:
    """A document with one value after the other replaced by something odd."""
    yield from ODD
    if isinstance(what, dict):
        for key, value in what.items():
            yield from ({**what, key: odd} for odd in odd_versions(value))
    elif isinstance(what, list):
        for place, value in enumerate(what):
            yield from ([*what[:place], odd, *what[place + 1 :]] for odd in odd_versions(value))


@pytest.mark.parametrize("name", ["chatgpt", "claude", "mem0", "reference"])
def test_no_odd_value_in_an_export_makes_a_reader_fail(name: str) -> None:
    manner = Manner(ZONE, parse_scope(None))
    (document, *_) = SAMPLES[name].values()
    documents = [json.loads(line) for line in document.splitlines()] if isinstance(document, str) else document
    count = 0
    for odd in odd_versions(documents):
        lines = "\n".join(map(json.dumps, odd)) if name == "reference" and isinstance(odd, list) else json.dumps(odd)
        bundle = Bundle("x", {"x.json": lines.encode()})
        detected(bundle)
        with contextlib.suppress(InvalidArgumentError):
            batch = READERS[name](bundle, manner)
            count += 1
            repeated = [item.where + (item.episode or "") for item in batch.items if isinstance(item, Foreign)]
            "".join([*repeated, *(one.where + one.reason for one in batch.skipped)]).encode()  # raises if it is no text

    assert count > 100


@pytest.mark.parametrize("name", SAMPLES)
def test_the_format_is_told_from_what_is_in_it(tmp_path: Path, name: str) -> None:
    assert detected(bundle_at(written(tmp_path, SAMPLES[name]))) == name
    if len(SAMPLES[name]) == 1:
        (what,) = SAMPLES[name].values()
        assert detected(bundle_of_text(what if isinstance(what, str) else json.dumps(what))) == name


@pytest.mark.parametrize(
    "head",
    [
        "a: &x [1]\nb: *x",
        "a: [",
        "- just\n- a list",
        "a: !!python/object:os.system x",
        "a: " + "[" * 5000,
        "x: " + "y" * 70_000,
    ],
)
def test_front_matter_that_cannot_be_read_costs_only_its_file(world: World, tmp_path: Path, head: str) -> None:
    done = world.take_in(written(tmp_path, {"a.md": f"---\n{head}\n---\nbody", "b.md": FACT}))

    assert len(done.new) == 1
    assert [one.where for one in done.skipped] == ["a.md"]
    assert "front matter of a.md" in done.skipped[0].reason
