from __future__ import annotations

from typing import Any

import pytest

from memory_mcp import intake
from memory_mcp.errors import (
    IdempotencyConflictError,
    InvalidArgumentError,
    NotCurrentError,
    StoreDiskError,
    UnknownMemoryError,
)
from memory_mcp.model import Memory, Origin, Status, Trust
from tests.memory_mcp.world import ORIGIN, START_MS, World, content, memory_id

UNKNOWN = "mem_ffffffffffffffffffff"


def update(world: World, memory: Memory, *, key: str | None = None, **changes: Any) -> Memory:
    """Update a memory and return the version that is live then."""
    return world.memory.update(memory.id, intake.changes(**changes), ORIGIN, idempotency_key=key).memory


def test_a_remembered_memory_is_read_back_whole(world: World) -> None:
    done = world.remember(
        "Bo leads the team.",
        kind="decision",
        scope="project:Apollo",
        subject="Bo",
        tags=["People"],
        happened_at="2026-05-08",
        episode="chat 1",
    )
    memory = world.memory.get(done.memory.id).memory

    assert not done.deduped
    assert memory == done.memory
    assert memory.content.body == "Bo leads the team."
    assert (memory.content.kind, memory.content.scope.name) == ("decision", "project:Apollo")
    assert (memory.content.subject, memory.content.tags) == ("Bo", ("people",))
    assert memory.content.happened is not None
    assert memory.content.happened.text == "2026-05-08"
    assert (memory.episode, memory.position, memory.created_at_ms) == ("chat 1", 0, START_MS)
    assert (memory.origin, memory.status) == (ORIGIN, Status.LIVE)


def test_the_same_text_in_the_same_scope_is_one_memory(world: World) -> None:
    first = world.remember("The design team prefers morning meetings.")
    again = world.remember(" the design team  prefers MORNING meetings.")

    assert again.deduped
    assert again.memory.id == first.memory.id
    assert world.memory.get(first.memory.id).memory.last_seen_at_ms == START_MS + 1000
    assert world.everything() == ["The design team prefers morning meetings."]


def test_the_same_text_in_another_scope_is_another_memory(world: World) -> None:
    first = world.stored("Bo leads.")
    other = world.remember("Bo leads.", scope="project:Apollo")

    assert not other.deduped
    assert other.memory.id != first.id
    assert world.remember("Bo leads.", scope="PROJECT:apollo").memory.id == other.memory.id


def test_a_memory_that_supersedes_another_takes_its_place_in_searches(world: World) -> None:
    old = world.stored("Device A is red.")
    done = world.remember("Device A is blue.", supersedes=old.id)

    assert done.superseded == (old.id,)
    assert world.bodies("device A") == ["Device A is blue."]
    history = world.memory.get(old.id)
    assert (history.memory.status, history.memory.superseded_by) == (Status.SUPERSEDED, done.memory.id)
    assert world.memory.get(done.memory.id).supersedes == (old.id,)


def test_superseding_again_by_the_same_text_gives_the_same_answer(world: World) -> None:
    old = world.stored("Device A is red.")
    first = world.remember("Device A is blue.", supersedes=old.id)
    again = world.remember("Device A is blue.", supersedes=old.id)

    assert again.deduped
    assert (again.memory.id, again.superseded) == (first.memory.id, (old.id,))


def test_a_known_memory_can_supersede_another(world: World) -> None:
    old, new = world.stored("Device A is red."), world.stored("Device A is blue.")
    done = world.remember("Device A is blue.", supersedes=old.id)

    assert done.deduped
    assert (done.memory.id, done.superseded) == (new.id, (old.id,))
    assert world.everything() == ["Device A is blue."]


def test_the_same_text_superseding_itself_changes_nothing(world: World) -> None:
    old = world.stored("Device A is red.")
    done = world.remember("Device A is red.", supersedes=old.id)

    assert (done.memory.id, done.deduped, done.superseded) == (old.id, True, ())
    assert world.memory.get(old.id).memory.status is Status.LIVE


def test_only_a_live_memory_can_be_superseded_and_the_refusal_names_the_newest(world: World) -> None:
    old = world.stored("Device A is red.")
    middle = world.stored("Device A is blue.", supersedes=old.id)
    newest = world.stored("Device A is green.", supersedes=middle.id)

    with pytest.raises(NotCurrentError, match=f"{old.id} was superseded; the newest version is {newest.id}"):
        world.remember("Device A is black.", supersedes=old.id)
    assert world.everything() == ["Device A is green."]


def test_superseding_what_does_not_exist_stores_nothing(world: World) -> None:
    with pytest.raises(UnknownMemoryError, match=UNKNOWN):
        world.remember("Device A is blue.", supersedes=UNKNOWN)
    with pytest.raises(InvalidArgumentError, match="is no memory id"):
        world.remember("Device A is blue.", supersedes="the first one")
    assert world.everything() == []


def test_remembering_points_at_the_closest_live_memory(world: World) -> None:
    old = world.stored("Dana prefers green tea in the morning.", subject="Dana")
    world.stored("Dana prefers green tea in the evening.", scope="project:other")

    done = world.remember("Dana prefers black tea in the morning.", subject="dana")

    assert done.similar is not None
    assert done.similar.memory.id == old.id
    assert done.similar.conflicts
    assert world.remember("The printer is out of paper.").similar is None


def test_a_superseded_memory_is_not_close_to_anything(world: World) -> None:
    old = world.stored("Dana prefers green tea.")
    new = world.remember("Dana prefers black tea.", supersedes=old.id)

    assert new.similar is None


def test_a_stored_memory_is_reported_even_when_the_store_fails_right_after(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise StoreDiskError

    monkeypatch.setattr(world.search, "closest", fail)
    monkeypatch.setattr(world.store, "purge", fail)

    done = world.remember("The code is 4711.")
    erased = world.memory.forget(done.memory.id, ORIGIN, hard=True)

    assert done.similar is None
    assert erased.remains == ("the files of the store, which could not be cleaned now",)
    assert world.memory.get(done.memory.id).memory.status is Status.ERASED


def test_an_assumed_time_zone_is_said(world: World) -> None:
    assert world.remember("One.", happened_at="2026-05-08T10:00").zone_assumed == "Europe/Berlin"
    assert world.remember("Two.", happened_at="2026-05-08T10:00Z").zone_assumed is None
    assert world.remember("Three.", happened_at="2026-05-08").zone_assumed is None


def test_memories_of_a_conversation_keep_their_order(world: World) -> None:
    places = [world.stored(f"Turn {number}.", episode="chat 1").position for number in range(3)]
    other = world.stored("Turn 0.", episode="chat 1", scope="project:Apollo")

    assert places == [0, 1, 2]
    assert other.position == 0


def test_a_repeated_key_gives_the_same_reply_and_stores_nothing(world: World) -> None:
    first = world.remember("Bo leads.", key="k1")
    again = world.remember("Bo leads.", key="k1")

    assert not again.deduped
    assert again == first
    assert world.everything() == ["Bo leads."]


def test_a_key_keeps_its_reply_after_the_memory_was_superseded(world: World) -> None:
    old = world.stored("Bo leads.", key="k1")
    world.remember("Mia leads.", supersedes=old.id)

    again = world.remember("Bo leads.", key="k1")

    assert (again.memory.id, again.memory.status) == (old.id, Status.SUPERSEDED)
    assert world.everything() == ["Mia leads."]


def test_a_key_with_other_content_is_refused(world: World) -> None:
    world.remember("Bo leads.", key="k1")

    with pytest.raises(IdempotencyConflictError, match="'k1' was already used for other content"):
        world.remember("Mia leads.", key="k1")
    with pytest.raises(IdempotencyConflictError):
        world.remember("Bo leads.", scope="project:x", key="k1")
    assert world.everything() == ["Bo leads."]


def test_an_update_is_a_new_version_and_the_old_one_stays_readable(world: World) -> None:
    old = world.stored("Bo leads.", subject="Bo", tags=["people"], happened_at="2026-05-08", episode="chat 1")

    new = update(world, old, body="Bo and Mia lead.")

    assert new.id != old.id
    assert (new.content.subject, new.content.tags, new.content.happened) == ("Bo", ("people",), old.content.happened)
    assert (new.episode, new.position) == ("chat 1", 0)
    assert world.memory.get(old.id).memory.superseded_by == new.id
    assert world.memory.get(old.id).memory.content.body == "Bo leads."
    assert world.bodies("who leads") == ["Bo and Mia lead."]


def test_new_tags_are_a_new_version_that_is_still_found(world: World) -> None:
    old = world.stored("Bo leads.", tags=["people"])
    new = update(world, old, tags=["staff"])

    assert new.id != old.id
    assert [hit.memory.id for hit in world.find("leads", tags=["staff"]).hits] == [new.id]
    assert world.find("leads", tags=["people"]).hits == ()


def test_an_update_can_move_a_memory_to_another_scope(world: World) -> None:
    world.stored("Earlier.", scope="project:x", episode="chat 1")
    old = world.stored("Bo leads.", episode="chat 1")

    new = update(world, old, scope="project:x")

    assert (new.content.scope.name, new.position) == ("project:x", 1)
    assert world.bodies("leads", scope="global") == []
    assert world.bodies("leads", scope="project:x") == ["Bo leads."]


def test_an_update_that_changes_nothing_keeps_the_memory(world: World) -> None:
    old = world.stored("Bo leads.", subject="Bo")
    done = world.memory.update(old.id, intake.changes(body="Bo leads.", subject="Bo"), ORIGIN)

    assert (done.memory.id, done.deduped, done.superseded) == (old.id, True, ())


def test_an_update_to_what_another_memory_says_makes_them_one(world: World) -> None:
    old, other = world.stored("Bo leads."), world.stored("Mia leads.")
    done = world.memory.update(old.id, intake.changes(body="mia leads."), ORIGIN)

    assert (done.memory.id, done.deduped, done.superseded) == (other.id, True, (old.id,))
    assert world.everything() == ["Mia leads."]


@pytest.mark.parametrize("changes", [{"body": "Mia leads."}, {"tags": ["x"]}])
def test_the_same_update_sent_twice_makes_one_version(world: World, changes: dict[str, Any]) -> None:
    old = world.stored("Bo leads.")

    assert update(world, old, **changes).id == update(world, old, **changes).id
    assert len(world.everything()) == 1


def test_another_update_of_an_old_version_is_refused(world: World) -> None:
    old = world.stored("Bo leads.")
    new = update(world, old, body="Mia leads.")

    with pytest.raises(NotCurrentError, match=f"the newest version is {new.id}, send that id instead"):
        update(world, old, body="Ann leads.")
    with pytest.raises(NotCurrentError):
        update(world, old, tags=["x"])


def test_a_key_makes_an_update_repeatable_after_later_ones(world: World) -> None:
    old = world.stored("Bo leads.")
    first = update(world, old, key="k1", body="Mia leads.")
    update(world, first, body="Ann leads.")

    assert update(world, old, key="k1", body="Mia leads.").id == first.id
    with pytest.raises(IdempotencyConflictError):
        update(world, old, key="k1", body="Eve leads.")


def test_what_came_from_the_web_stays_untrusted_when_it_is_updated(world: World) -> None:
    web = Origin("claude-ai", Trust.WEB)
    old = world.memory.remember(content("Oslo has trams.", source_url="https://example.org"), web).memory

    new = update(world, old, tags=["north"])

    assert new.origin == Origin("prometheus", Trust.WEB)
    assert new.content.source_url == "https://example.org"


def test_a_forgotten_memory_cannot_be_updated(world: World) -> None:
    memory = world.stored("Bo leads.")
    world.memory.forget(memory.id, ORIGIN)

    with pytest.raises(NotCurrentError, match="was forgotten; remember its text again"):
        update(world, memory, body="Mia leads.")


def test_forgetting_takes_a_memory_out_of_searches_but_keeps_it_readable(world: World) -> None:
    memory = world.stored("Bo leads.")

    done = world.memory.forget(memory.id, Origin("claude-ai", Trust.AGENT))

    assert (done.already, done.erased, done.remains) == (False, False, ())
    assert world.bodies("Bo leads") == []
    assert world.bodies("Bo leads", include_retired=True) == []
    assert world.everything() == []
    kept = world.memory.get(memory.id).memory
    assert (kept.status, kept.content.body, kept.forgotten_by) == (Status.FORGOTTEN, "Bo leads.", "claude-ai")
    assert kept.forgotten_at_ms == done.at_ms


def test_forgetting_twice_is_no_error_and_tells_the_first_time(world: World) -> None:
    memory = world.stored("Bo leads.")
    first = world.memory.forget(memory.id, ORIGIN)
    second = world.memory.forget(memory.id, ORIGIN)

    assert second.already
    assert second.at_ms == first.at_ms


def test_forgetting_what_does_not_exist_is_an_error(world: World) -> None:
    with pytest.raises(UnknownMemoryError, match=f"There is no memory '{UNKNOWN}'; take an id from memory_search"):
        world.memory.forget(UNKNOWN, ORIGIN)


def test_a_forgotten_text_can_be_remembered_anew(world: World) -> None:
    memory = world.stored("Bo leads.")
    world.memory.forget(memory.id, ORIGIN)

    again = world.remember("Bo leads.")

    assert not again.deduped
    assert again.memory.id != memory.id
    assert world.bodies("Bo") == ["Bo leads."]


def test_a_superseded_memory_can_be_forgotten(world: World) -> None:
    old = world.stored("Bo leads.")
    update(world, old, body="Mia leads.")
    world.memory.forget(old.id, ORIGIN)

    assert world.bodies("leads", include_retired=True) == ["Mia leads."]
    assert world.memory.get(old.id).memory.status is Status.FORGOTTEN


def test_erasing_removes_the_text_and_keeps_what_happened(world: World) -> None:
    memory = world.stored("The code is 4711.", subject="code", tags=["secret"], source_url="https://example.org")
    done = world.memory.forget(memory.id, ORIGIN, hard=True)
    erased = world.memory.get(memory.id).memory

    assert (done.already, done.erased, done.remains) == (False, True, ())
    assert erased.status is Status.ERASED
    assert (erased.content.body, erased.content.subject, erased.content.tags) == ("", None, ())
    assert erased.content.source_url is None
    assert erased.body_hash == memory.body_hash
    assert world.memory.forget(memory.id, ORIGIN, hard=True).already


def test_what_was_forgotten_can_still_be_erased(world: World) -> None:
    memory = world.stored("The code is 4711.")
    world.memory.forget(memory.id, ORIGIN)

    done = world.memory.forget(memory.id, ORIGIN, hard=True)

    assert (done.already, done.erased) == (False, True)
    assert world.memory.get(memory.id).memory.content.body == ""


def test_erasing_one_version_names_the_others_that_still_have_the_text(world: World) -> None:
    first = world.stored("The code is 4711.")
    second = update(world, first, body="The code is 4712.")
    third = update(world, second, body="The code is 4713.")

    assert set(world.memory.forget(second.id, ORIGIN, hard=True).remains) == {
        f"the version {first.id}",
        f"the version {third.id}",
    }
    assert world.memory.forget(first.id, ORIGIN, hard=True).remains == (f"the version {third.id}",)


def test_a_key_still_answers_after_its_memory_was_erased(world: World) -> None:
    memory = world.stored("The code is 4711.", key="k1")
    world.memory.forget(memory.id, ORIGIN, hard=True)

    again = world.remember("The code is 4711.", key="k1")

    assert (again.memory.id, again.memory.status) == (memory.id, Status.ERASED)
    assert world.everything() == []


def test_reading_what_does_not_exist_is_an_error(world: World) -> None:
    with pytest.raises(UnknownMemoryError):
        world.memory.get(UNKNOWN)


def test_a_list_is_newest_first_and_pages_to_its_end(world: World) -> None:
    for number in range(5):
        world.remember(f"Memory {number}.")
    first = world.memory.newest(None, None, 2, None)
    second = world.memory.newest(None, None, 2, first.next_cursor)
    last = world.memory.newest(None, None, 2, second.next_cursor)

    bodies = [memory.content.body for page in (first, second, last) for memory in page.memories]
    assert bodies == [f"Memory {number}." for number in (4, 3, 2, 1, 0)]
    assert last.next_cursor is None


def test_a_list_can_be_of_one_scope_and_kind(world: World) -> None:
    world.remember("One.")
    wanted = world.stored("Two.", scope="project:x", kind="decision")
    world.remember("Three.", scope="project:x")

    assert world.memory.newest("project:X", "decision", None, None).memories == (wanted,)
    assert world.memory.newest("project:none", None, None, None).memories == ()


def test_a_cursor_of_another_list_is_refused(world: World) -> None:
    for number in range(3):
        world.remember(f"Memory {number}.")
    cursor = world.memory.newest(None, None, 1, None).next_cursor

    with pytest.raises(InvalidArgumentError, match="The cursor does not belong to this request"):
        world.memory.newest("global", None, 1, cursor)


def test_ids_are_given_in_the_form_that_is_accepted(world: World) -> None:
    assert world.stored("One.").id == intake.checked_id(memory_id(1))


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({}, ()),
        ({"subject": "Bo", "tags": ["people"], "happened_at": "2026-05-08"}, ()),
        ({"subject": "Mia"}, ("subject",)),
        ({"tags": ["x"], "happened_at": "2026-05-09"}, ("tags", "happened_at")),
        ({"kind": "decision", "source_url": "https://example.org"}, ("kind", "source_url")),
    ],
)
def test_a_known_memory_says_what_it_keeps_otherwise_than_it_was_sent(
    world: World, sent: dict[str, Any], kept: tuple[str, ...]
) -> None:
    world.remember("Bo leads.", subject="Bo", tags=["people"], happened_at="2026-05-08")
    done = world.remember("Bo  leads.", **sent)

    assert (done.deduped, done.kept) == (True, kept)


@pytest.mark.parametrize(("one", "other"), [("The wifi key is aBcD", "The wifi key is AbCd"), ("10\u00b2 m", "102 m")])
def test_a_text_taken_for_a_known_one_says_that_its_wording_differs_and_can_be_corrected(
    world: World, one: str, other: str
) -> None:
    memory = world.stored(one)
    done = world.remember(other)
    assert (done.memory.id, done.kept) == (memory.id, ("wording",))

    corrected = world.memory.update(memory.id, intake.changes(body=other), ORIGIN)

    assert (corrected.deduped, corrected.kept, corrected.superseded) == (False, (), (memory.id,))
    assert world.everything() == [other]


def test_an_update_onto_the_text_of_another_memory_says_what_was_not_taken_over(world: World) -> None:
    world.remember("Mia leads.")
    old = world.stored("Bo leads.", subject="lead", tags=["people"])

    done = world.memory.update(old.id, intake.changes(body="Mia leads."), ORIGIN)

    assert (done.deduped, done.superseded, done.kept) == (True, (old.id,), ("subject", "tags"))
