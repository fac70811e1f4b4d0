import pytest

from agent_host.providers.offline.memory.intents import correct, forget, list_memories, recall, remember
from agent_host.providers.offline.memory.requests import Correct, Forget, ListMemories, Recall, Remember


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("remember that Ana likes tea", "Ana likes tea"),
        ("Remember: Ana likes tea", "Ana likes tea"),
        ("remember Ana likes tea", "Ana likes tea"),
        ("remember this: Ana likes tea", "Ana likes tea"),
        ("remember for me that Ana likes tea", "Ana likes tea"),
        ("memorise that 2 is prime", "2 is prime"),
        ("keep in mind that I am away", "I am away"),
        ("dont forget that I am away", "I am away"),
        ("don\u2019t forget: I am away", "I am away"),
        ("for future reference, I am away", "I am away"),
        ("save to memory: I am away", "I am away"),
        ("note that I am away", "I am away"),
        ("remember to buy milk", "To do: buy milk"),
        ("remember that line one\nline two", "line one\nline two"),
        ("remember", ""),
        ("remember that", ""),
        ("remember this", ""),
        ("remember it.", ""),
    ],
)
def test_what_to_remember_is_what_follows(text: str, body: str) -> None:
    assert remember(text) == Remember(body)


@pytest.mark.parametrize(
    "text", ["remember when we met?", "remember what I said", "remembering is hard", "I remember", "note"]
)
def test_other_sentences_are_nothing_to_remember(text: str) -> None:
    found = remember(text)
    assert found is None or found == Remember("")


@pytest.mark.parametrize(
    ("text", "wanted", "about"),
    [
        ("What do you know about the design team?", "the design team", "the design team"),
        ("what do you remember about my sister", "my sister", "your sister"),
        ("what did I tell you about Ana?", "Ana", "Ana"),
        ("do you know anything about Ana", "Ana", "Ana"),
        ("do you remember my address?", "my address", "your address"),
        ("do you remember that Ana left?", "Ana left", "Ana left"),
        ("tell me everything about Ana", "Ana", "Ana"),
        ("recall the wifi password", "the wifi password", "the wifi password"),
        ("search my memory for Ana", "Ana", "Ana"),
        ("remind me what Ana drinks", "Ana drinks", "Ana drinks"),
    ],
)
def test_what_to_recall_is_what_it_is_about(text: str, wanted: str, about: str) -> None:
    assert recall(text) == Recall(wanted, about)


@pytest.mark.parametrize(
    "text",
    [
        "What do you remember?",
        "what can you remember",
        "list my memories",
        "show me what you know about me",
        "who am I?",
    ],
)
def test_all_memories_are_asked_for(text: str) -> None:
    assert list_memories(text) == ListMemories()


def test_a_question_about_something_lists_no_memories() -> None:
    assert list_memories("what do you know about Ana?") is None


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("Actually, Ana likes coffee", "Ana likes coffee"),
        ("actually Ana likes coffee", "Ana likes coffee"),
        ("No, actually Ana likes coffee", "Ana likes coffee"),
        ("Correction: Ana likes coffee", "Ana likes coffee"),
        ("I meant that Ana likes coffee", "Ana likes coffee"),
        ("That's wrong, Ana likes coffee", "Ana likes coffee"),
        ("update: Ana likes coffee", "Ana likes coffee"),
        ("Actually, I live in Porto", "I live in Porto"),
        ("No, the team meets on Mondays", "the team meets on Mondays"),
    ],
)
def test_a_correction_is_the_claim_that_follows(text: str, body: str) -> None:
    assert correct(text) == Correct(body)


@pytest.mark.parametrize(
    "text",
    [
        "Actually, can you help?",
        "Actually, what day is it",
        "actually",
        "Actually, never mind",
        "Actually, I might go",
        "actually, make it 10",
        "actually Friday at 6pm",
        "actually that's wrong",
        "actually that works for me",
        "Actually, he likes coffee",
        "update the meeting",
        "change the song",
        "No, thanks",
        "no way",
        "correction",
    ],
)
def test_what_is_no_claim_corrects_nothing(text: str) -> None:
    assert correct(text) is None


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("Forget what I said about the design team", "the design team"),
        ("forget everything you know about Ana", "Ana"),
        ("forget that Ana likes tea", "Ana likes tea"),
        ("forget about Ana.", "Ana"),
        ("forget Ana", "Ana"),
        ("forget what I've told you about Ana", "Ana"),
        ("delete all memories about Ana", "Ana"),
        ("remove the fact that Ana left", "Ana left"),
        ("erase Ana's address from your memory", "Ana's address"),
        ("forget everything", ""),
        ("forget", ""),
    ],
)
def test_what_to_forget_is_what_it_is_about(text: str, subject: str) -> None:
    found = forget(text)
    assert isinstance(found, Forget)
    assert found.subject == subject
    assert found.claim == (" that " in text or "fact that" in text)


@pytest.mark.parametrize(
    "text", ["forgetting", "delete the meeting", "remove Ana", "I forget", "forget it", "delete my note about Ana"]
)
def test_other_sentences_forget_nothing(text: str) -> None:
    assert forget(text) is None
