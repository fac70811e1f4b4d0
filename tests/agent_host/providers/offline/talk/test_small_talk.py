from dataclasses import replace

import pytest

from agent_host.providers.offline.routine import Say
from agent_host.providers.offline.talk.about import NO_GENERAL_KNOWLEDGE, NO_TOOL, abilities
from agent_host.providers.offline.talk.small_talk import Help, beyond_rules, small_talk
from tests.agent_host.providers.offline.scenes import SCENE, perform


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello!", "Hello."),
        ("good morning", "Hello."),
        ("hey there", "Hello."),
        ("Thanks a lot!", "welcome"),
        ("great, thanks", "welcome"),
        ("bye", "Goodbye"),
        ("How are you?", "fine"),
        ("who are you?", "no language model"),
        ("are you ChatGPT?", "no language model"),
        ("what model is this", "no language model"),
        ("ok", "All right"),
        ("never mind", "All right"),
        ("sorry", "No harm"),
        ("how do I plug in a model?", "PROMETHEUS_PROVIDER"),
        ("show my receipts", "agent-host receipts"),
    ],
)
def test_small_talk_is_answered(text: str, words: str) -> None:
    request = small_talk(text)
    assert isinstance(request, Say)
    assert words in request.text


@pytest.mark.parametrize("text", ["help", "/help", "?", "what can you do?", "How does this work?"])
def test_help_is_help(text: str) -> None:
    assert isinstance(small_talk(text), Help)


@pytest.mark.parametrize("text", ["hello world program", "help me move", "thanks to Ana we won", "", "who are they"])
def test_other_sentences_are_no_small_talk(text: str) -> None:
    assert small_talk(text) is None


def test_help_lists_only_what_is_connected() -> None:
    reply, calls = perform(Help(), {}, replace(SCENE, tools=frozenset({"memory_remember"})))
    assert calls == []
    assert "remember:" in reply
    assert "book:" not in reply
    assert "Not connected now: calendar, memory, message, notes, report, search." in reply
    assert "Not connected" not in abilities(SCENE.tools)


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("Write a poem", NO_GENERAL_KNOWLEDGE),
        ("explain gravity", NO_GENERAL_KNOWLEDGE),
        ("how do I cook rice?", NO_GENERAL_KNOWLEDGE),
        ("send an email to Ana", NO_TOOL),
        ("play some music", NO_TOOL),
    ],
)
def test_what_rules_cannot_do_is_declined_plainly(text: str, reply: str) -> None:
    assert beyond_rules(text) == Say(reply)


def test_other_sentences_are_not_declined() -> None:
    assert beyond_rules("the design team") is None
