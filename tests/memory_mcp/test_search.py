from __future__ import annotations

from dataclasses import replace

import pytest

from memory_mcp import intake
from memory_mcp.errors import InvalidArgumentError
from memory_mcp.scopes import parse_scope
from memory_mcp.terms import query_terms
from memory_mcp.weights import Weights
from tests.memory_mcp.world import ORIGIN, World

FACTS = (
    "The design team prefers morning meetings.",
    "I don't like olives.",
    "Ticket POL-358 is about spec 38.101 and the multi-agent setup.",
    "用户身份已确认 in the db",
    "サンドボックス修正テスト",
    "카드 결제 오류",
    "Müller\u2019s café is closed on Mondays.",
    "Grade 4: Week 1 Update",
    "The service account is called build_runner.",
    "Привет из Осло",
)


@pytest.fixture
def facts(world: World) -> World:
    """A store of ten unrelated facts."""
    for fact in FACTS:
        world.remember(fact)
    return world


@pytest.mark.parametrize(
    ("query", "fact"),
    [
        ("What do you know about the design team?", 0),
        ("meeting preferences of the DESIGN team", 0),
        ("don't", 1),
        ("dont", 1),
        ("olive", 1),
        ("POL-358", 2),
        ("pol 358", 2),
        ("38.101", 2),
        ("multi-agent", 2),
        ('"multi-agent"', 2),
        ("multi agent", 2),
        ("用户", 3),
        ("身份已", 3),
        ("db", 3),
        ("户", 3),
        ("サンドボックス", 4),
        ("修正", 4),
        ("결제", 5),
        ("muller", 6),
        ("Müller", 6),
        ("cafe", 6),
        ("CAFÉ monday", 6),
        ("Grade 4 Week 1", 7),
        ("build", 8),
        ("runner", 8),
        ("build_runner", 8),
        ("привет", 9),
    ],
)
def test_a_query_finds_its_fact_first(facts: World, query: str, fact: int) -> None:
    assert facts.bodies(query)[:1] == [FACTS[fact]]


@pytest.mark.parametrize(
    "query",
    [
        "what is the capital of France",
        "How tall is the Eiffel Tower?",
        "",
        "   ",
        "*",
        "🎉",
        '"',
        "NEAR(",
        "(((",
        "--",
        "\x00",
        "\ud83d",
        "OR AND NOT NEAR",
        "x",
        "中",
        "用门",
    ],
)
def test_an_unrelated_or_empty_query_finds_nothing(facts: World, query: str) -> None:
    found = facts.find(query)

    assert found.hits == ()
    assert found.next_cursor is None


@pytest.mark.parametrize(
    "query",
    [
        "a AND",
        '"unbalanced',
        "col:term",
        "a* b^2",
        "-not +plus",
        "{a}",
        "SELECT 1; --",
        "%",
        "a" * 4000,
        "'; DROP TABLE",
    ],
)
def test_no_query_is_an_error(facts: World, query: str) -> None:
    assert len(facts.find(query).hits) <= len(FACTS)


def test_words_that_look_like_operators_are_words(world: World) -> None:
    both, one = world.stored("Alex and Bob share a room."), world.stored("Alex is away.")

    assert [hit.memory.id for hit in world.find("Alex AND Bob").hits] == [both.id, one.id]


def test_the_best_match_comes_first_and_scores_fall(world: World) -> None:
    world.remember("The team met.")
    world.remember("The design team met in Oslo.")
    world.remember("The design was late.")

    hits = world.find("design team in Oslo").hits

    assert hits[0].memory.content.body == "The design team met in Oslo."
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert hits[0].score == pytest.approx(sum(hits[0].parts.values()), abs=1e-4)
    assert hits[0].snippet == "The <<design>> <<team>> met in <<Oslo>>."


def test_newer_memories_come_first_among_equals(world: World) -> None:
    for number in range(3):
        world.remember(f"Oslo {number}")

    assert world.bodies("Oslo") == ["Oslo 2", "Oslo 1", "Oslo 0"]


def test_a_fact_about_the_named_subject_comes_first(world: World) -> None:
    wanted = world.stored("Likes tea more than anything in the world.", subject="Dana Vu")
    world.stored("Likes tea.", subject="Bo")

    hits = world.find("Does Dana Vu like tea?").hits

    assert hits[0].memory.id == wanted.id
    assert hits[0].parts["subject"] > 0


def test_the_answer_next_to_the_question_is_lifted(world: World) -> None:
    world.remember("What is your dog called?", episode="chat 1")
    answer = world.stored("He is called Rex.", episode="chat 1")
    world.remember("A cat is called Tom.", episode="chat 2")

    hits = {hit.memory.id: hit for hit in world.find("What is the dog called?").hits}

    assert hits[answer.id].parts["neighbours"] > 0
    assert hits[answer.id].parts["episode"] > 0


def test_a_day_is_found_by_its_date_in_words(world: World) -> None:
    wanted = world.stored("Signed the lease.", happened_at="2023-05-08")
    world.remember("Signed the contract.", happened_at="2023-06-09T10:00:00+02:00")

    for query in ("What was signed in May 2023?", "signed on Monday", "signed 2023-05-08", "signed on the 8th"):
        assert world.find(query).hits[0].memory.id == wanted.id


def test_what_a_person_likes_is_found(world: World) -> None:
    world.remember("I like green tea.")

    assert world.bodies("What do I like?") == ["I like green tea."]


def test_when_a_memory_was_stored_is_no_word_of_it(world: World) -> None:
    world.remember("Signed the lease.")

    assert world.bodies("What happened in September 2026?") == []


def test_a_scope_bounds_a_search_and_all_is_the_default(world: World) -> None:
    world.remember("Oslo is global.")
    world.remember("Oslo is in Apollo.", scope="project:Apollo")

    found = world.find("Oslo", scope="project:apollo")

    assert [hit.memory.content.body for hit in found.hits] == ["Oslo is in Apollo."]
    assert found.scope == "project:apollo"
    assert (len(world.find("Oslo").hits), world.find("Oslo").scope) == (2, "all")
    assert world.find("Oslo", scope="project:none").hits == ()


def test_what_is_in_other_scopes_does_not_change_the_order(world: World) -> None:
    for body in ("The red boat.", "The boat of Dana.", "A red house."):
        world.remember(body, scope="project:x")
    before = [(hit.memory.id, hit.score) for hit in world.find("red boat", scope="project:x").hits]

    for number in range(30):
        world.remember(f"Red red boat {number}.", scope="project:y")

    assert [(hit.memory.id, hit.score) for hit in world.find("red boat", scope="project:x").hits] == before


def test_filters_narrow_a_search(world: World) -> None:
    old = world.stored("Oslo trip", kind="episode", tags=["travel", "north"], happened_at="2026-05-08T10:00Z")
    new = world.stored("Oslo office", kind="fact", tags=["work"], happened_at="2026-06-01")

    def ids(**fields: object) -> list[str]:
        return [hit.memory.id for hit in world.find("Oslo", **fields).hits]

    assert ids(kind="episode") == [old.id]
    assert ids(tags=["Travel"]) == [old.id]
    assert ids(tags=["travel", "north"]) == [old.id]
    assert ids(tags=["travel", "work"]) == []
    assert ids(after="2026-05-09") == [new.id]
    assert ids(before="2026-05-08") == []
    assert ids(after="2026-05-08", before="2026-05-09") == [old.id]
    assert ids(after="2026-05-08T12:00:00+02:00", before="2026-05-08T12:00:01+02:00") == [old.id]


def test_a_memory_without_a_date_is_filtered_by_when_it_was_stored(world: World) -> None:
    world.remember("Oslo office")

    assert world.bodies("Oslo", after="2026-09-01") == ["Oslo office"]
    assert world.bodies("Oslo", before="2026-09-01") == []


def test_superseded_memories_are_found_only_when_asked_for(world: World) -> None:
    old = world.stored("Device A is red.")
    world.remember("Device A is blue.", supersedes=old.id)

    assert world.bodies("device A") == ["Device A is blue."]
    assert set(world.bodies("device A", include_retired=True)) == {"Device A is blue.", "Device A is red."}


def test_pages_follow_each_other_without_gap_or_overlap(world: World) -> None:
    for number in range(7):
        world.remember(f"Oslo {number}")
    bodies, cursor = [], None
    while True:
        found = world.find("Oslo", limit=3, cursor=cursor)
        bodies.append([hit.memory.content.body for hit in found.hits])
        cursor = found.next_cursor
        if cursor is None:
            break

    assert [len(page) for page in bodies] == [3, 3, 1]
    assert [body for page in bodies for body in page] == [f"Oslo {number}" for number in reversed(range(7))]


def test_a_cursor_of_another_search_is_refused(world: World) -> None:
    for number in range(3):
        world.remember(f"Oslo {number}")
    cursor = world.find("Oslo", limit=1).next_cursor

    for fields in ({"query": "Bergen"}, {"scope": "global"}, {"kind": "fact"}, {"include_retired": True}):
        with pytest.raises(InvalidArgumentError, match="does not belong to this request"):
            world.find(**({"query": "Oslo", "cursor": cursor} | fields))


@pytest.mark.parametrize(("limit", "count"), [(None, 10), (0, 1), (-3, 1), (1000, 50)])
def test_the_number_of_hits_is_clamped(world: World, limit: int | None, count: int) -> None:
    for number in range(60):
        world.remember(f"Oslo {number}")

    assert len(world.find("Oslo", limit=limit).hits) == count


def test_every_search_has_its_own_trace_id(world: World) -> None:
    assert [world.find("Oslo").trace_id for _ in range(2)] == ["rt_1", "rt_2"]


def test_too_long_a_query_or_a_bad_filter_is_one_sentence(world: World) -> None:
    with pytest.raises(InvalidArgumentError, match="send at most 4,000, the words that matter"):
        world.find("x" * 4001)
    with pytest.raises(InvalidArgumentError, match="The after 'soon' is no time"):
        world.find("x", after="soon")
    with pytest.raises(InvalidArgumentError, match="There is no kind 'dream'"):
        world.find("x", kind="dream")


def test_frequent_words_do_not_drown_the_rare_one(world: World) -> None:
    lean = World(world.store, Weights(read_least=5, read_share=0.0))
    wanted = lean.stored("The team met Quill.")
    for number in range(40):
        lean.remember(f"The team met on day {number} in town.")

    assert lean.find("When did the team meet Quill in town?").hits[0].memory.id == wanted.id


def test_an_updated_memory_is_found_by_its_new_words_only(world: World) -> None:
    old = world.stored("The printer is jammed.")
    world.memory.update(old.id, intake.changes(body="The printer is repaired."), ORIGIN)

    assert world.bodies("jammed") == []
    assert world.bodies("repaired printer") == ["The printer is repaired."]


def test_a_query_that_is_much_longer_than_the_fact_still_finds_it_by_name(world: World) -> None:
    world.remember("Priya is vegan.")

    query = "Does Priya have any dietary restrictions I should plan the team dinner around?"
    assert world.bodies(query) == ["Priya is vegan."]


def test_recall_is_one_block_newest_first_with_dates_and_ids(world: World) -> None:
    old = world.stored("Oslo trip was long.", subject="Trip", happened_at="2025-01-02")
    new = world.stored("Oslo office opens.", source_url="https://example.org/a")

    recalled = world.search.recall("Oslo")

    assert recalled.block.splitlines() == [
        f"- 2026-09-21 Oslo office opens. ({new.id}, global, from https://example.org/a)",
        f"- 2025-01-02 Trip: Oslo trip was long. ({old.id}, global)",
    ]
    assert (recalled.memories, recalled.omitted, recalled.scope) == ((new, old), 0, "all")


def test_recall_marks_what_other_people_wrote(world: World) -> None:
    world.take_in("- Oslo has trams")

    assert world.search.recall("Oslo trams").block.endswith(", global, untrusted)")


def test_recall_keeps_to_its_budget_and_says_what_did_not_fit(world: World) -> None:
    for number in range(30):
        world.remember(f"Oslo {number} " + "word " * 50)

    recalled = world.search.recall("Oslo", token_budget=300)

    assert 0 < len(recalled.block.encode()) <= 1200
    assert len(recalled.memories) + recalled.omitted == 30
    assert len(world.search.recall("Oslo", token_budget=-1).memories) == 1


def test_recall_of_nothing_is_empty(world: World) -> None:
    recalled = world.search.recall("Oslo")

    assert (recalled.block, recalled.memories, recalled.omitted) == ("", (), 0)


def test_the_closest_memory_is_one_of_the_same_scope(world: World) -> None:
    first = world.stored("Dana prefers green tea.")
    second = world.stored("Dana prefers black tea.")

    similar = world.search.closest(second)
    assert similar is not None
    assert similar.memory.id == first.id
    elsewhere = replace(second, content=replace(second.content, scope=parse_scope("project:x")))
    assert world.search.closest(elsewhere) is None


def test_a_memory_without_a_word_has_nothing_close(world: World) -> None:
    world.remember("🎉")

    assert world.remember("🎈").similar is None
    assert query_terms("🎈").all == ()


def test_languages_and_joined_names_are_found_as_people_write_them(world: World) -> None:
    for body in ("Ann writes C++.", "Ben writes C#.", "Cem writes C.", "See POL-358.", "It runs on node.js."):
        world.remember(body)

    assert world.bodies("C++") == ["Ann writes C++."]
    assert world.bodies("C#") == ["Ben writes C#."]
    assert world.bodies("who writes in C")[0] == "Cem writes C."
    assert world.bodies("POL358") == ["See POL-358."]
    assert world.bodies("nodejs") == ["It runs on node.js."]
    assert world.bodies("38") == []
