"""What every store of memories has to do (`memory_mcp.storage.protocol`); add a factory to try another one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memory_mcp.model import Memory, Origin, Source, Status, Trust
from memory_mcp.moments import Moment
from memory_mcp.normal_form import body_hash
from memory_mcp.scopes import parse_scope
from memory_mcp.storage.postgres import open_postgres
from memory_mcp.storage.protocol import Filter, MemoryStore, NewMemory, RecordedReply, Searched, Writer
from memory_mcp.storage.sqlite import FILE_NAME, open_sqlite
from memory_mcp.terms import IndexedText, indexed
from tests.memory_mcp.world import content, memory_id
from tests.postgres_server import PostgresServer

ORIGIN = Origin("prometheus", Trust.AGENT)
GLOBAL = Searched(parse_scope("global"))
EVERYWHERE = Searched()
AT_MS = 1_790_000_000_000

Open = Callable[[], MemoryStore]


def sqlite_factory(request: pytest.FixtureRequest) -> Open:
    """Opens one SQLite file again and again."""
    folder: Path = request.getfixturevalue("tmp_path")
    return lambda: open_sqlite(folder / FILE_NAME)


def postgres_factory(request: pytest.FixtureRequest) -> Open:
    """Opens the rows of a new tenant again and again."""
    server: PostgresServer = request.getfixturevalue("postgres")
    address = server.address(server.new_role(), server.shared_database())
    return lambda: open_postgres(address)


FACTORIES = {"sqlite": sqlite_factory, "postgres": postgres_factory}


@pytest.fixture(params=FACTORIES)
def open_store(request: pytest.FixtureRequest) -> Open:
    """Opens the same store every time it is called."""
    return FACTORIES[request.param](request)


@pytest.fixture
def store(open_store: Open) -> Iterator[MemoryStore]:
    """An empty store."""
    with closing(open_store()) as fresh:
        yield fresh


@contextmanager
def closing(store: MemoryStore) -> Iterator[MemoryStore]:
    """Close a store at the end of the block."""
    try:
        yield store
    finally:
        store.close()


def new(number: int, body: str, *, episode: str | None = None, position: int | None = None, **fields: Any) -> NewMemory:
    """A memory to store, indexed by its body."""
    origin = fields.pop("origin", ORIGIN)
    what = content(body, **fields)
    return NewMemory(
        memory_id(number), what, body_hash(what.body), origin, AT_MS + number, indexed([body]), episode, position
    )


def text(memory: Memory) -> IndexedText:
    """A memory as it was indexed."""
    return indexed([memory.content.body])


def inserted(store: MemoryStore, *memories: NewMemory) -> list[Memory]:
    """Store memories in one transaction."""
    with store.writing() as writer:
        return [writer.insert(memory) for memory in memories]


def live(store: MemoryStore) -> list[str]:
    """The bodies of the live memories, newest first."""
    with store.reading() as reader:
        return [memory.content.body for memory in reader.newest(None, None, None, 1000)]


def test_a_stored_memory_comes_back_as_it_was(store: MemoryStore) -> None:
    given = new(
        1,
        "Ünïcode 🎉\nsecond line \x00 end",
        kind="decision",
        scope="project:Apollo",
        subject="Bo",
        tags=["a", "b"],
        happened_at="2026-05-08T10:00Z",
        source_url="https://example.org",
        episode="chat 1",
    )
    (memory,) = inserted(store, given)
    with store.reading() as reader:
        found = reader.memory(given.id)

    assert found == memory
    assert (memory.content, memory.origin, memory.body_hash) == (given.content, ORIGIN, given.body_hash)
    assert (memory.created_at_ms, memory.last_seen_at_ms) == (AT_MS + 1, AT_MS + 1)
    assert (memory.episode, memory.position, memory.status) == ("chat 1", 0, Status.LIVE)
    assert memory.content.happened == Moment(1_778_234_400_000, "2026-05-08T10:00:00+00:00")
    assert (memory.words, memory.distinct_terms) == (given.text.words, len(given.text.counts))


def test_an_origin_may_hold_any_character(store: MemoryStore) -> None:
    odd = Origin("a\0b \uf8ff", Trust.IMPORT)
    given = replace(new(1, "kept"), origin=odd)
    (memory,) = inserted(store, given)
    with store.writing() as writer:
        wanted = Source(odd.client)
        assert writer.newest(None, None, None, 10, wanted) == [memory]
        assert writer.matching(EVERYWHERE, Filter(source=wanted)) == {memory.number}
        writer.forget(memory, given.text, odd.client, AT_MS)
        gone = writer.memory(given.id)

    assert gone is not None
    assert (gone.origin, gone.forgotten_by) == (odd, odd.client)


def test_a_restored_memory_is_found_again_and_takes_another_place_when_its_own_is_taken(store: MemoryStore) -> None:
    first, second, retired = inserted(
        store, new(1, "one cat", episode="chat"), new(2, "two cats", episode="chat"), new(3, "old cat")
    )
    with store.writing() as writer:
        writer.supersede(retired, text(retired), second.id, AT_MS)
        before = writer.totals(EVERYWHERE), writer.totals(Searched(with_superseded=True))
        was = [writer.memory(one.id) for one in (first, second, retired)]
        for one in was:
            assert one is not None
            writer.forget(one, text(one), "x", AT_MS + 5)
        for number in (1, 2, 3):
            forgotten = writer.memory(memory_id(number))
            assert forgotten is not None
            writer.restore(forgotten, text(forgotten))
        assert [writer.memory(one.id) for one in (first, second, retired)] == was
        assert (writer.totals(EVERYWHERE), writer.totals(Searched(with_superseded=True))) == before

        writer.forget(first, text(first), "x", AT_MS + 6)
        writer.insert(new(4, "in its place", episode="chat", position=0))
        gone = writer.memory(first.id)
        assert gone is not None
        writer.restore(gone, text(gone))
        back = writer.memory(first.id)

    assert back is not None
    assert (back.status, back.position) == (Status.LIVE, 2)
    assert sorted(live(store)) == ["in its place", "one cat", "two cats"]


def test_what_was_committed_is_there_after_opening_again(open_store: Open) -> None:
    with closing(open_store()) as store:
        inserted(store, new(1, "kept"))

    with closing(open_store()) as store:
        assert live(store) == ["kept"]


def test_a_transaction_that_raises_leaves_nothing(store: MemoryStore) -> None:
    inserted(store, new(1, "before"))

    def fail_midway() -> None:
        with store.writing() as writer:
            writer.insert(new(2, "lost", scope="project:x", episode="chat"))
            writer.record_reply(RecordedReply("k", "h", memory_id(2), deduped=False, superseded=()), AT_MS)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_midway()
    assert live(store) == ["before"]
    with store.reading() as reader:
        assert reader.reply_to("k") is None
        assert reader.frequencies(EVERYWHERE, ["lost"], 10) == {}
        assert reader.totals(EVERYWHERE).memories == 1


def test_memories_are_found_by_number_id_and_body(store: MemoryStore) -> None:
    one, two = inserted(store, new(1, "One"), new(2, "Two", scope="project:x"))
    with store.reading() as reader:
        assert reader.memories([two.number, one.number, 999]) == {one.number: one, two.number: two}
        assert reader.memory(memory_id(3)) is None
        assert reader.live_with_body(one.content.scope, body_hash(" ONE ")) == one
        assert reader.live_with_body(two.content.scope, one.body_hash) is None


def test_a_scope_is_shown_as_it_was_first_written(store: MemoryStore) -> None:
    first, second = inserted(store, new(1, "One", scope="project:Apollo"), new(2, "Two", scope="project:APOLLO"))

    assert first.content.scope.name == second.content.scope.name == "project:Apollo"


def test_places_in_a_conversation_are_given_in_order_and_kept(store: MemoryStore) -> None:
    one, two, other = inserted(
        store, new(1, "a", episode="e"), new(2, "b", episode="e"), new(3, "c", episode="e", scope="project:x")
    )
    with store.writing() as writer:
        writer.supersede(one, text(one), memory_id(4), AT_MS)
        again = writer.insert(new(4, "a2", episode="e", position=0))
        last = writer.insert(new(5, "d", episode="e"))

    assert [memory.position for memory in (one, two, other, again, last)] == [0, 1, 0, 0, 2]
    assert one.episode_number == two.episode_number == again.episode_number != other.episode_number


def test_the_newest_come_first_and_a_page_goes_on_where_the_last_ended(store: MemoryStore) -> None:
    memories = inserted(store, *(new(number, f"m{number}") for number in range(1, 6)))
    with store.reading() as reader:
        first = reader.newest(None, None, None, 2)
        rest = reader.newest(None, None, (first[-1].created_at_ms, first[-1].number), 10)

    assert [memory.number for memory in first + rest] == [memory.number for memory in reversed(memories)]


def test_the_newest_can_be_of_one_scope_and_kind(store: MemoryStore) -> None:
    inserted(store, new(1, "a"), new(2, "b", scope="project:x"), new(3, "c", scope="project:x", kind="decision"))
    with store.reading() as reader:
        scope = parse_scope("project:X")
        assert [memory.content.body for memory in reader.newest(scope, None, None, 9)] == ["c", "b"]
        decisions = reader.newest(None, content("x", kind="decision").kind, None, 9)
        assert [memory.content.body for memory in decisions] == ["c"]


def test_the_newest_can_be_of_one_client_and_trust(store: MemoryStore) -> None:
    page = Origin("claude-ai", Trust.WEB)
    inserted(store, new(1, "a"), new(2, "b", origin=page), new(3, "c", origin=Origin("claude-ai", Trust.USER)))

    def bodies(**source: Any) -> list[str]:
        with store.reading() as reader:
            found = reader.newest(None, None, None, 9, Source(**source))
            passing = reader.matching(EVERYWHERE, Filter(source=Source(**source)))
        assert {memory.number for memory in found} == passing
        return [memory.content.body for memory in found]

    assert bodies(client="claude-ai") == ["c", "b"]
    assert bodies(trust=Trust.WEB) == bodies(client="claude-ai", trust=Trust.WEB) == ["b"]
    assert bodies(client="prometheus", trust=Trust.WEB) == []


def test_every_memory_is_read_in_order_whatever_its_status(store: MemoryStore) -> None:
    memories = inserted(store, *(new(number, f"m{number}") for number in range(1, 6)))
    with store.writing() as writer:
        writer.supersede(memories[0], text(memories[0]), memory_id(2), AT_MS)
        writer.forget(memories[3], text(memories[3]), "x", AT_MS)
    with store.reading() as reader:
        first = reader.every(0, 3)
        rest = reader.every(first[-1].number, 3)

    assert [memory.number for memory in first + rest] == [memory.number for memory in memories]
    assert [memory.status for memory in first + rest].count(Status.LIVE) == 3


def test_what_is_not_live_any_more_is_known_by_scope_and_body(store: MemoryStore) -> None:
    live_one, old, gone, again = inserted(
        store, new(1, "live"), new(2, "old"), new(3, "gone", scope="project:x"), new(4, "again")
    )
    with store.writing() as writer:
        writer.supersede(old, text(old), live_one.id, AT_MS)
        for memory in (gone, again):
            writer.forget(memory, text(memory), "x", AT_MS)
        writer.erase(gone)
        last = writer.insert(new(5, "again"))
        writer.forget(last, text(last), "x", AT_MS)
        retired = writer.retired_bodies()

    assert retired == {
        ("global", body_hash("old")): old.id,
        ("project:x", body_hash("gone")): gone.id,
        ("global", body_hash("again")): last.id,
    }


def test_a_place_that_is_taken_is_not_given_twice(store: MemoryStore) -> None:
    inserted(store, new(1, "a", episode="e"), new(2, "b", episode="e"))
    free, taken = inserted(store, new(3, "c", episode="e", position=7), new(4, "d", episode="e", position=1))

    assert (free.position, taken.position) == (7, 8)


def test_stating_again_moves_only_the_last_seen_time(store: MemoryStore) -> None:
    (memory,) = inserted(store, new(1, "One"))
    with store.writing() as writer:
        writer.touch(memory, AT_MS + 9)
        touched = writer.memory(memory.id)

    assert touched is not None
    assert (touched.last_seen_at_ms, touched.created_at_ms) == (AT_MS + 9, memory.created_at_ms)


def test_the_index_knows_each_term_of_each_memory(store: MemoryStore) -> None:
    one, two = inserted(store, new(1, "dog dog cat", episode="e"), new(2, "dog"))
    with store.reading() as reader:
        assert reader.frequencies(GLOBAL, ["dog", "cat", "cow"], 10) == {"dog": 2, "cat": 1}
        assert reader.frequencies(GLOBAL, ["dog"], 1) == {"dog": 1}
        postings = reader.postings(GLOBAL, ["dog", "cow"])
        assert sorted(postings["dog"]) == [(one.number, 2, 3, one.episode_number, 0), (two.number, 1, 1, None, None)]
        assert postings["cow"] == []
        assert reader.postings(GLOBAL, ["dog"], [two.number]) == {"dog": [(two.number, 1, 1, None, None)]}
        totals = reader.totals(GLOBAL)
        assert (totals.memories, totals.words, totals.episodes) == (2, 4, {one.episode_number: 3})


def test_scopes_are_indexed_apart_and_searched_together(store: MemoryStore) -> None:
    inserted(store, new(1, "dog"), new(2, "dog", scope="project:x", episode="e"), new(3, "dog cat", scope="project:y"))
    with store.reading() as reader:
        assert reader.frequencies(GLOBAL, ["dog"], 10) == {"dog": 1}
        assert reader.frequencies(EVERYWHERE, ["dog"], 10) == {"dog": 3}
        assert len(reader.postings(EVERYWHERE, ["dog"])["dog"]) == 3
        assert reader.totals(EVERYWHERE).words == 4
        assert reader.totals(GLOBAL).episodes == {}
        nowhere = Searched(parse_scope("project:none"))
        assert (reader.totals(nowhere).memories, reader.postings(nowhere, ["dog"])) == (0, {"dog": []})


def test_a_superseded_memory_moves_to_the_other_part_of_the_index(store: MemoryStore) -> None:
    (old,) = inserted(store, new(1, "dog cat", episode="e"))
    with store.writing() as writer:
        writer.supersede(old, text(old), memory_id(2), AT_MS + 5)
        writer.insert(new(2, "dog", episode="e", position=0))
        both = Searched(GLOBAL.scope, with_superseded=True)
        kept = writer.memory(old.id)
        assert kept is not None
        assert (kept.status, kept.superseded_by, kept.retired_at_ms) == (Status.SUPERSEDED, memory_id(2), AT_MS + 5)
        assert writer.superseded_by(memory_id(2)) == (old.id,)
        assert writer.frequencies(GLOBAL, ["dog", "cat"], 10) == {"dog": 1}
        assert writer.frequencies(both, ["dog", "cat"], 10) == {"dog": 2, "cat": 1}
        assert (writer.totals(GLOBAL).words, writer.totals(both).words) == (1, 3)
        assert set(writer.totals(GLOBAL).episodes.values()) == {1}
        assert writer.live_with_body(old.content.scope, old.body_hash) is None

    assert live(store) == ["dog"]


@pytest.mark.parametrize("superseded_first", [False, True])
def test_a_forgotten_memory_leaves_the_whole_index(store: MemoryStore, superseded_first: bool) -> None:
    (memory,) = inserted(store, new(1, "dog cat", episode="e"))
    both = Searched(with_superseded=True)
    with store.writing() as writer:
        if superseded_first:
            writer.supersede(memory, text(memory), memory_id(2), AT_MS)
        current = writer.memory(memory.id)
        assert current is not None
        writer.forget(current, text(memory), "claude-ai", AT_MS + 7)
        gone = writer.memory(memory.id)
        assert gone is not None
        assert (gone.status, gone.forgotten_at_ms, gone.forgotten_by) == (Status.FORGOTTEN, AT_MS + 7, "claude-ai")
        assert writer.frequencies(both, ["dog", "cat"], 10) == {}
        totals = writer.totals(both)
        assert (totals.memories, totals.words, totals.episodes) == (0, 0, {})

    assert live(store) == []


def test_a_memory_whose_terms_are_worked_out_otherwise_today_leaves_nothing_behind(store: MemoryStore) -> None:
    (memory,) = inserted(store, new(1, "dog cat"))
    with store.writing() as writer:
        writer.forget(memory, indexed(["dogs and cats"]), "x", AT_MS)
        assert writer.frequencies(Searched(with_superseded=True), ["dog", "cat"], 10) == {}


def test_an_erased_memory_keeps_only_that_it_was_there(store: MemoryStore) -> None:
    (memory,) = inserted(store, new(1, "secret", subject="code", tags=["a"], source_url="https://example.org"))
    with store.writing() as writer:
        writer.forget(memory, text(memory), "x", AT_MS)
        writer.erase(memory)
        erased = writer.memory(memory.id)

    assert erased is not None
    assert erased.status is Status.ERASED
    assert (erased.content.body, erased.content.subject, erased.content.tags) == ("", None, ())
    assert erased.content.source_url is None
    assert (erased.body_hash, erased.created_at_ms) == (memory.body_hash, memory.created_at_ms)


def test_filters_tell_which_memories_pass(store: MemoryStore) -> None:
    dated, plain, forgotten = inserted(
        store,
        new(1, "a", kind="episode", tags=["x", "y"], happened_at="2026-05-08"),
        new(2, "b", tags=["x"], scope="project:z"),
        new(3, "c"),
    )
    with store.writing() as writer:
        writer.forget(forgotten, text(forgotten), "x", AT_MS)

        def passing(searched: Searched = EVERYWHERE, **fields: Any) -> set[int]:
            return writer.matching(searched, Filter(**fields))

        both = {dated.number, plain.number}
        assert passing() == passing(tags=("x",)) == both
        assert passing(kind=dated.content.kind) == passing(tags=("x", "y")) == {dated.number}
        assert passing(GLOBAL) == passing(before_ms=AT_MS) == {dated.number}
        assert passing(after_ms=plain.created_at_ms) == {plain.number}
        assert passing(before_ms=plain.created_at_ms) == {dated.number}
        assert passing(tags=("y", "z")) == set()
        assert passing(Searched(with_superseded=True)) == both


def test_subjects_are_given_for_those_that_have_one(store: MemoryStore) -> None:
    one, two = inserted(store, new(1, "a", subject="Bo"), new(2, "b"))
    with store.reading() as reader:
        assert reader.subjects([one.number, two.number, 99]) == {one.number: "Bo"}


def test_a_recorded_reply_comes_back(store: MemoryStore) -> None:
    reply = RecordedReply("k1", "hash", memory_id(1), deduped=True, superseded=(memory_id(2), memory_id(3)))
    with store.writing() as writer:
        writer.record_reply(reply, AT_MS)

    with store.reading() as reader:
        assert reader.reply_to("k1") == reply
        assert reader.reply_to("k2") is None


def test_a_reader_sees_one_moment(store: MemoryStore, open_store: Open) -> None:
    inserted(store, new(1, "one"))
    with closing(open_store()) as other, store.reading() as reader:
        assert reader.totals(EVERYWHERE).memories == 1
        inserted(other, new(2, "two"))
        assert reader.totals(EVERYWHERE).memories == 1
    assert live(store) == ["two", "one"]


def test_many_threads_write_and_read_at_once(store: MemoryStore) -> None:
    ready = threading.Barrier(8)

    def work(worker: int) -> None:
        ready.wait(timeout=30)
        for number in range(5):
            inserted(store, new(worker * 5 + number + 1, f"memory {worker} {number}", episode="e"))
            live(store)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))

    assert len(live(store)) == 40
    with store.reading() as reader:
        places = [memory.position for memory in reader.newest(None, None, None, 100)]
        assert sorted(place for place in places if place is not None) == list(range(40))


def test_totals_always_equal_what_the_index_holds(store: MemoryStore) -> None:
    bodies = [f"word{number % 7} dog {number}" for number in range(20)]
    memories = inserted(store, *(new(n + 1, body, episode=f"e{n % 3}") for n, body in enumerate(bodies)))

    def counted(writer: Writer, searched: Searched) -> tuple[int, int]:
        rows = writer.postings(searched, ["dog"])["dog"]
        return len(rows), sum(words for _, _, words, _, _ in rows)

    with store.writing() as writer:
        for number, memory in enumerate(memories):
            if number % 3 == 0:
                writer.supersede(memory, text(memory), memory_id(99), AT_MS)
            elif number % 3 == 1:
                writer.forget(memory, text(memory), "x", AT_MS)
        for searched in (EVERYWHERE, Searched(with_superseded=True)):
            totals = writer.totals(searched)
            assert (totals.memories, totals.words) == counted(writer, searched)
        assert sum(writer.totals(EVERYWHERE).episodes.values()) == counted(writer, EVERYWHERE)[1]


def test_purging_an_untouched_store_leaves_nothing_to_name(store: MemoryStore) -> None:
    inserted(store, new(1, "one"))

    assert store.purge() == ()
    assert live(store) == ["one"]


def test_closing_twice_is_no_error(open_store: Open) -> None:
    store = open_store()
    store.close()
    store.close()
