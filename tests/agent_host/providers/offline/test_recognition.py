import pytest

from agent_host.providers.offline.calendar.booking import Book
from agent_host.providers.offline.calendar.changing import Cancel, Move
from agent_host.providers.offline.calendar.looking import FindFree, ListEvents, NextEvent
from agent_host.providers.offline.memory.requests import Correct, Forget, ListMemories, Recall, Remember
from agent_host.providers.offline.notes.requests import AppendNote, DeleteNote, FindNote, ListNotes, TakeNote
from agent_host.providers.offline.recognition import (
    DID_NOTHING,
    LONGEST_SENTENCE,
    ONLY_ASKED,
    OfferBooking,
    OfferToRemember,
    command,
    plain_request,
    understand,
)
from agent_host.providers.offline.routine import Request, Say
from agent_host.providers.offline.talk.about import NOT_UNDERSTOOD
from agent_host.providers.offline.talk.clock import TellDay, TellDaysUntil, TellTime
from agent_host.providers.offline.talk.small_talk import Help
from agent_host.providers.offline.web.requests import Research, SearchWeb
from tests.agent_host.providers.offline.scenes import perform


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("remember that the sky is blue", Remember),
        ("Keep in mind: no calls on Friday", Remember),
        ("note that I am away", Remember),
        ("don't forget that the code is 1", Remember),
        ("what do you know about Ana", Recall),
        ("do you remember what Ana drinks?", Recall),
        ("who is Ana?", Recall),
        ("What's my wifi password?", Recall),
        ("Is the office open?", Recall),
        ("tell me about the office", Recall),
        ("what do you know?", ListMemories),
        ("show my memories", ListMemories),
        ("Actually, Ana likes coffee", Correct),
        ("I meant the office is in Porto", Correct),
        ("That's wrong, Ana likes coffee", Correct),
        ("No, the team has seven people", Correct),
        ("forget what I told you about Ana", Forget),
        ("forget Ana", Forget),
        ("delete the memory about Ana", Forget),
        ("remove Ana's address from memory", Forget),
        ("book a room tomorrow at 9", Book),
        ("schedule lunch", Book),
        ("put lunch on my calendar", Book),
        ("remind me to call Ana at 6pm", Book),
        ("remember to call Ana tomorrow at 9", Book),
        ("Actually, book a room tomorrow at 9", Book),
        ("set up a call with Ana", Book),
        ("add lunch tomorrow", Book),
        ("what's on my calendar?", ListEvents),
        ("what do I have tomorrow?", ListEvents),
        ("my agenda", ListEvents),
        ("am I busy on Friday?", ListEvents),
        ("how's my week?", ListEvents),
        ("what about Friday?", ListEvents),
        ("when is my next meeting?", NextEvent),
        ("what's next?", NextEvent),
        ("when is the dentist?", NextEvent),
        ("when am I free?", FindFree),
        ("find a slot on Friday", FindFree),
        ("do I have time tomorrow?", FindFree),
        ("cancel lunch", Cancel),
        ("call off the party on Friday", Cancel),
        ("delete the meeting with Ana", Cancel),
        ("move lunch to 1pm", Move),
        ("reschedule the call to Friday at 9", Move),
        ("push the call to 4pm", Move),
        ("take a note: milk", TakeNote),
        ("note to self: milk", TakeNote),
        ("jot down milk", TakeNote),
        ("write a note called Shopping with milk", TakeNote),
        ("note under Shopping: milk", TakeNote),
        ("add milk to my shopping list", AppendNote),
        ("append to note Shopping: milk", AppendNote),
        ("find my note about milk", FindNote),
        ("what's in my shopping note?", FindNote),
        ("read my note Shopping", FindNote),
        ("list my notes", ListNotes),
        ("notes", ListNotes),
        ("delete my note about milk", DeleteNote),
        ("search the web for cats", SearchWeb),
        ("google cats", SearchWeb),
        ("look up cats", SearchWeb),
        ("what's the latest news about cats?", SearchWeb),
        ("find cats online", SearchWeb),
        ("research cats", Research),
        ("do some research on cats", Research),
        ("look into cats", Research),
        ("what time is it?", TellTime),
        ("what day is it?", TellDay),
        ("what day is 3 December?", TellDay),
        ("how many days until Christmas?", TellDaysUntil),
        ("help", Help),
        ("hello", Say),
        ("2 + 2", Say),
        ("write a poem", Say),
        ("lorem ipsum", Say),
        ("Lunch with Ana tomorrow at noon", OfferBooking),
        ("Holiday 24-31 December", OfferBooking),
        ("I have a dentist appointment on Friday at 3pm", OfferBooking),
        ("can I book a call tomorrow at 5pm?", OfferBooking),
        ("shall we schedule a review on Friday at 9", OfferBooking),
        ("book a call on Friday at 9?", OfferBooking),
        ("can you book a call on Friday at 9?", Book),
        ("do not forget to call Ana at 6pm", Book),
        ("do not forget to buy milk", Remember),
        ("can you remember things?", Recall),
        ("Can you remember my birthday", Recall),
        ("remember my birthday?", Recall),
        ("remember that Ana is vegan?", Recall),
        ("remember to buy milk?", Recall),
        ("could you remember that Ana is vegan?", Remember),
        ("Remember this: is the door shut?", Remember),
        ("never mind, book a call on Friday at 9", Book),
        ("remind me a day before", Say),
    ],
)
def test_a_sentence_is_taken_for_what_it_asks(text: str, kind: type[Request]) -> None:
    assert type(understand(text)) is kind


@pytest.mark.parametrize(
    "text",
    [
        "I might meet Ana on Friday at 9",
        "I hate meetings on Fridays",
        "We met on Friday at 9",
        "Perhaps lunch tomorrow at noon?",
        "I should book a flight some day",
        "Ana booked a room on Friday at 9",
        "My boss said we have to schedule more meetings",
        "If only I could cancel Friday",
    ],
)
def test_musings_ask_for_nothing(text: str) -> None:
    assert isinstance(understand(text), Say | Recall | OfferToRemember)
    assert command(text) is None


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Hi! Could you please book lunch, please?", "book lunch"),
        ("Good morning, what day is it?", "what day is it?"),
        ("I'd like you to remember tea", "remember tea"),
        ("hello", "hello"),
        ("please", "please"),
        ("Thanks, and also cancel lunch", "cancel lunch"),
        ("Book a table on Friday at 8pm. Thanks!", "Book a table on Friday at 8pm"),
        ("I want to book a haircut, can you do that?", "book a haircut"),
    ],
)
def test_courtesies_are_taken_off(text: str, plain: str) -> None:
    assert plain_request(text) == plain


def test_text_without_words_is_answered_and_calls_nothing() -> None:
    for text in ("", "   ", "…", "🙂🙂", "!!!", "\x00\x01"):
        request = understand(text)
        assert isinstance(request, Say)
        assert "no words" in request.text


def test_a_long_message_is_refused_with_what_to_do() -> None:
    request = understand("Book a call with Ana " * 200)
    assert isinstance(request, Say)
    assert f"at most {LONGEST_SENTENCE}" in request.text
    assert "Take a note:" in request.text


def test_a_long_text_can_still_be_noted_or_remembered() -> None:
    body = "word " * 20_000
    noted, remembered = understand(f"Take a note: {body}"), understand(f"Remember that {body}")
    assert noted == TakeNote("", body.strip())
    assert isinstance(remembered, Remember)
    assert remembered.body.split() == body.split()


def test_a_question_about_the_person_is_never_called_general_knowledge() -> None:
    own, general = understand("Where do I live?"), understand("Who invented the telephone?")
    assert isinstance(own, Recall)
    assert isinstance(general, Recall)
    assert own.otherwise == ""
    assert "no language model" in general.otherwise


@pytest.mark.parametrize(
    "text",
    [
        "cancel the call on Friday?",
        "move lunch to 1pm?",
        "forget Ana?",
        "delete my note about milk?",
        "discard the draft to Sam?",
        "draft an email to Sam about tea?",
    ],
)
def test_a_question_changes_nothing(text: str) -> None:
    assert understand(text) == Say(ONLY_ASKED)


@pytest.mark.parametrize("text", ["can you cancel the call on Friday?", "cancel the call on Friday, please?"])
def test_a_courteous_question_is_a_request(text: str) -> None:
    assert isinstance(understand(text), Cancel)


@pytest.mark.parametrize("text", ["don't remember that", "please don't book anything", "do not cancel the call"])
def test_a_refusal_does_nothing(text: str) -> None:
    assert understand(text) == Say(DID_NOTHING)


@pytest.mark.parametrize(
    "text", ["I hate you", "you are great today", "Buche einen Termin mit Anna am Freitag um 15 Uhr"]
)
def test_what_is_said_to_the_agent_or_in_another_language_is_nothing_to_remember(text: str) -> None:
    assert understand(text) == Say(NOT_UNDERSTOOD)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("can I book yoga on Monday and Friday at 7am?", "Friday 4 December, 07:00 and Monday 7 December, 07:00."),
        ("can I book a call on Friday at 9am EST?", "Friday 4 December, 09:00 (America/New_York)."),
        ("can I book a holiday on Friday?", "Friday 4 December."),
    ],
)
def test_an_offer_shows_every_day_and_a_clock_that_is_not_the_person_s(text: str, shown: str) -> None:
    reply, calls = perform(understand(text), {})
    assert calls == []
    assert shown in reply


def test_an_offer_that_depends_on_being_free_still_does() -> None:
    offer = understand("can I book a call on Friday at 9 if I am free?")
    assert offer == OfferBooking("a call on Friday at 9", if_free=True)
