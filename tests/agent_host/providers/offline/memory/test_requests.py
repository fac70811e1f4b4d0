from dataclasses import replace

import pytest

from agent_host.providers.offline.memory.requests import Correct, Forget, ListMemories, Recall, Remember
from agent_host.providers.offline.questions import SHALL_I_REMEMBER, WHAT_TO_REMEMBER, WHICH_ONE
from tests.agent_host.providers.offline.scenes import SCENE, failed, outcome, perform


def entries(*snippets: str) -> dict[str, object]:
    rows = [
        {"id": f"mem_{number}", "snippet": text, "created_at": "2026-11-20T08:00:00Z"}
        for number, text in enumerate(snippets, 1)
    ]
    return {"entries": rows}


def test_a_fact_is_stored_as_one_sentence() -> None:
    reply, calls = perform(Remember("ana likes tea"), {"memory_remember": {"memory": {"id": "m"}, "deduped": False}})
    assert [(call.tool, call.arguments) for call in calls] == [("memory_remember", {"body": "Ana likes tea."})]
    assert reply == "I'll remember: Ana likes tea."


@pytest.mark.parametrize("body", ["", "  ", "that", "it is"])
def test_a_fact_without_content_is_asked_for(body: str) -> None:
    assert perform(Remember(body), {}) == (WHAT_TO_REMEMBER, [])


@pytest.mark.parametrize("body", ["he is vegetarian", "They like tea"])
def test_a_fact_about_someone_unnamed_is_not_stored(body: str) -> None:
    reply, calls = perform(Remember(body), {})
    assert calls == []
    assert reply.startswith("Whom do you mean by “")


def test_a_fact_that_is_there_is_shown_with_its_date() -> None:
    known = {"memory": {"id": "m", "snippet": "Ana likes tea.", "created_at": "2025-11-20T08:00:00Z"}, "deduped": True}
    reply, _ = perform(Remember("Ana likes tea"), {"memory_remember": known})
    assert reply == "I knew that already: Ana likes tea. (noted Thursday 20 November 2025)"


def test_a_plain_text_answer_of_a_server_counts_as_done() -> None:
    reply, _ = perform(Remember("Ana likes tea"), {"memory_remember": "Remembered."})
    assert reply == "I'll remember: Ana likes tea."


def test_a_search_asks_for_the_words_that_carry_meaning() -> None:
    _, calls = perform(Recall("when is my sister's birthday?"), {"memory_search": entries(), "notes_search": {}})
    assert [call.arguments["query"] for call in calls] == ["sister's birthday", "sister's birthday"]


def test_without_notes_memory_alone_is_searched() -> None:
    scene = replace(SCENE, tools=frozenset({"memory_search"}))
    reply, calls = perform(Recall("Ana", "Ana"), {"memory_search": entries()}, scene)
    assert [call.tool for call in calls] == ["memory_search"]
    assert reply.startswith("I remember nothing about Ana")


@pytest.mark.parametrize(
    "found", [failed("no folder"), {"notes": [{"id": "n", "title": "Bob", "snippet": "likes cake"}]}]
)
def test_a_note_that_does_not_answer_or_cannot_be_read_is_left_out(found: object) -> None:
    reply, _ = perform(Recall("Ana", "Ana"), {"memory_search": entries(), "notes_search": found})
    assert reply.startswith("I remember nothing about Ana")


def test_a_memory_is_shown_without_the_marks_of_the_search_and_only_once() -> None:
    reply, _ = perform(Recall("Ana", "Ana"), {"memory_search": entries("<<Ana>> likes tea.", "Ana likes tea.")})
    assert reply.count("Ana likes tea.") == 1
    assert "<<" not in reply


def test_a_long_memory_is_cut_on_one_line() -> None:
    reply, _ = perform(Recall("Ana", "Ana"), {"memory_search": entries("Ana\n" + "talks " * 500)})
    assert len(reply.splitlines()) == 2
    assert "…" in reply


def test_a_question_about_the_world_is_declined_when_memory_has_nothing_and_when_there_is_no_memory() -> None:
    general = Recall("Who invented the telephone?", otherwise="I am no language model.")
    assert perform(general, {"memory_search": entries(), "notes_search": {}})[0] == "I am no language model."
    assert perform(general, {}, replace(SCENE, tools=frozenset()))[0] == "I am no language model."


def test_a_list_says_when_there_is_more() -> None:
    reply, _ = perform(ListMemories(), {"memory_list": {**entries("A is B."), "next_cursor": "c"}})
    assert "- A is B." in reply
    assert reply.endswith("There is more than I can show here.")


@pytest.mark.parametrize(
    ("old", "new", "replaced"),
    [
        ("The design team prefers morning meetings.", "The design team prefers afternoon meetings", True),
        ("The design team has six people.", "The design team prefers afternoon meetings", False),
        ("The office is in Lisbon.", "The office is in Porto", True),
        ("I live in Lisbon.", "I live in Porto now", True),
        ("My sister's birthday is on 3 May.", "my sister's birthday is on 4 May", True),
        ("Ana likes tea.", "Bob likes tea", False),
        ("Ana likes green tea.", "I like green tea", False),
        ("Ana likes green tea.", "She likes green tea now", True),
        ("Ana Weiss likes green tea.", "Ana likes black tea", True),
        ("Ana likes tea.", "The deploy freeze starts on Friday", False),
    ],
)
def test_a_correction_replaces_what_makes_the_same_claim(old: str, new: str, replaced: bool) -> None:
    answers = {"memory_search": entries(old), "memory_update": {"memory": {}}, "memory_remember": {"memory": {}}}
    _, calls = perform(Correct(new), answers)
    assert (calls[-1].tool == "memory_update") is replaced


@pytest.mark.parametrize("old", ["Ann is vegan and Bob is not.", "Ann is vegan, Bob is a cook."])
def test_a_correction_does_not_replace_what_is_about_somebody_else_too(old: str) -> None:
    reply, calls = perform(Correct("Ann is pescatarian"), {"memory_search": entries(old)})
    assert len(calls) == 1
    assert reply.endswith(SHALL_I_REMEMBER)


def test_a_correction_is_stored_anew_when_the_person_agreed() -> None:
    answers = {"memory_search": entries(), "memory_remember": {"memory": {}}}
    _, calls = perform(Correct("Ann is pescatarian"), answers, replace(SCENE, agreed=True))
    assert calls[-1].arguments == {"body": "Ann is pescatarian."}


def test_a_correction_replaces_the_closest_of_several_memories() -> None:
    found = entries("The office has a garden.", "The office is in Lisbon.")
    _, calls = perform(Correct("the office is in Porto"), {"memory_search": found, "memory_update": {}})
    assert calls[-1].arguments["id"] == "mem_2"


def test_without_a_tool_that_updates_a_correction_supersedes() -> None:
    scene = replace(SCENE, tools=frozenset({"memory_search", "memory_remember"}))
    answers = {"memory_search": entries("The office is in Lisbon."), "memory_remember": {"memory": {}}}
    reply, calls = perform(Correct("the office is in Porto"), answers, scene)
    assert calls[-1].arguments == {"body": "The office is in Porto.", "supersedes": "mem_1"}
    assert reply.startswith("Corrected.")


def test_everything_about_a_subject_is_forgotten() -> None:
    answers = {
        "memory_search": entries("Ana likes tea.", "Ana moved to Porto.", "Bob likes cake."),
        "memory_forget": {},
    }
    reply, calls = perform(Forget("Ana"), answers)
    assert [call.arguments["id"] for call in calls[1:]] == ["mem_1", "mem_2"]
    assert "cake" not in reply


@pytest.mark.parametrize(
    "other", ["Bob knows Ana.", "Ana and Bob like tea.", "Ana is vegan and Bob is not.", "Ana left. Bob stayed."]
)
def test_what_is_about_others_too_is_asked_about(other: str) -> None:
    reply, calls = perform(Forget("Ana"), {"memory_search": entries("Ana likes tea.", other)})
    assert [call.tool for call in calls] == ["memory_search"]
    assert reply.endswith(WHICH_ONE)


def test_a_claim_takes_only_what_says_it() -> None:
    known = entries("Ann is vegan and Bob is not.", "Bob is vegan.", "Bob is not vegan.", "Bob isn't vegan.")
    _, calls = perform(Forget("Bob is vegan", claim=True), {"memory_search": known, "memory_forget": {}})
    assert [call.arguments.get("id") for call in calls] == [None, "mem_2"]


@pytest.mark.parametrize("known", ["Bob is vegan since May.", "Bob isn't vegan.", "Ann is vegan and Bob is not."])
def test_a_claim_that_nothing_says_alone_is_asked_about(known: str) -> None:
    reply, calls = perform(Forget("Bob is vegan", claim=True), {"memory_search": entries(known)})
    assert len(calls) == 1
    assert reply.endswith(WHICH_ONE)


def test_many_memories_are_not_forgotten_at_once_without_asking() -> None:
    found = entries(*(f"Ana likes thing {number}." for number in range(7)))
    reply, calls = perform(Forget("Ana"), {"memory_search": found})
    assert len(calls) == 1
    assert reply.endswith(WHICH_ONE)
    _, calls = perform(Forget("Ana"), {"memory_search": found, "memory_forget": {}}, replace(SCENE, choice=0))
    assert len(calls) == 8


def test_a_choice_that_is_not_there_is_asked_again() -> None:
    found = {"memory_search": entries("Ana likes tea.")}
    reply, calls = perform(Forget("Ana"), found, replace(SCENE, choice=5))
    assert len(calls) == 1
    assert reply.endswith(WHICH_ONE)


def test_what_could_not_be_forgotten_is_named_beside_what_was() -> None:
    request = Forget("Ana").run(SCENE)
    next(request)
    request.send((outcome(entries("Ana likes tea.", "Ana has a dog.")),))
    with pytest.raises(StopIteration) as end:
        request.send((outcome({}), failed("the store is full")))
    assert "Forgotten:\n- Ana likes tea." in end.value.value
    assert "dog" not in end.value.value
    assert "I could not forget all of it: the store is full" in end.value.value
