from dataclasses import replace
from typing import Any

import pytest

from agent_host.providers.offline.messages.requests import (
    CANNOT_SEND,
    DiscardDraft,
    DraftMessage,
    ListDrafts,
    ShowDraft,
)
from agent_host.providers.offline.questions import TO_WHOM, WHAT_TO_WRITE, WHICH_ONE
from tests.agent_host.providers.offline.scenes import SCENE, failed, perform


def message(identifier: str, to: str, body: str, **more: object) -> dict[str, object]:
    return {
        "id": identifier,
        "channel": "email",
        "to": [to],
        "body": body,
        "created": "2026-11-30T09:00:00+01:00",
        **more,
    }


SAM = message("m1", "Sam", "See you at noon.", subject="Lunch")
ANA = message("m2", "Ana", "Sam is late.")
LATER = message("m3", "Sam", "I am ill.", subject="Review")
OUTBOX = {"messages": [LATER, ANA, SAM]}
DRAFTED = {"status": "drafted", "message": SAM}


def test_a_draft_holds_the_persons_own_words() -> None:
    reply, (call,) = perform(DraftMessage("email", ("Sam",), "lunch", "see you at noon"), {"message_draft": DRAFTED})
    wanted = {"to": ["Sam"], "subject": "Lunch", "body": "See you at noon.", "channel": "email"}
    assert call.arguments == wanted
    assert reply.splitlines() == [
        "Drafted. Email to Sam, “Lunch” (Monday 30 November):",
        "  See you at noon.",
        "It is not sent; it waits in your outbox.",
    ]


def test_a_draft_of_a_subject_alone_says_that_the_rest_is_the_persons_to_write() -> None:
    reply, (call,) = perform(DraftMessage("email", ("Sam",), "the picnic"), {"message_draft": DRAFTED})
    assert (call.arguments["subject"], call.arguments["body"]) == ("The picnic", "About the picnic.")
    assert "I am no language model" in reply


def test_several_lines_stay_as_typed_and_a_text_message_has_no_subject() -> None:
    _, (call,) = perform(DraftMessage("sms", ("Sam",), "lunch", "hi\n- noon"), {"message_draft": DRAFTED})
    assert call.arguments == {"to": ["Sam"], "body": "hi\n- noon", "channel": "sms"}


@pytest.mark.parametrize(
    ("request_", "question"),
    [
        (DraftMessage("email", (), "lunch"), TO_WHOM),
        (DraftMessage("email", ("Sam",)), WHAT_TO_WRITE),
        (DraftMessage("email", ("Sam",), send=True), f"{CANNOT_SEND}\n{WHAT_TO_WRITE}"),
    ],
)
def test_what_a_draft_lacks_is_asked_for(request_: DraftMessage, question: str) -> None:
    assert perform(request_, {}) == (question, [])


def test_a_draft_to_be_sent_says_that_nothing_is_sent() -> None:
    reply, calls = perform(DraftMessage("email", ("Sam",), "", "hi", send=True), {"message_draft": DRAFTED})
    assert len(calls) == 1
    assert reply.startswith(f"{CANNOT_SEND}\nDrafted.")


def test_a_draft_that_is_there_or_fails_is_not_called_drafted() -> None:
    request = DraftMessage("email", ("Sam",), "", "hi")
    reply, _ = perform(request, {"message_draft": {"status": "exists", "message": SAM}})
    assert reply.startswith("That draft is in your outbox already, so I added nothing.")
    reply, _ = perform(request, {"message_draft": failed("full")})
    assert reply == "I could not draft that: full"


def test_drafts_are_listed_newest_first_and_an_empty_outbox_is_said_to_be() -> None:
    reply, _ = perform(ListDrafts(), {"message_list": OUTBOX | {"next_cursor": "x"}})
    assert reply.splitlines() == [
        "Drafts in your outbox, none of them sent:",
        "- Email to Sam, “Review” (Monday 30 November): I am ill.",
        "- Email to Ana (Monday 30 November): Sam is late.",
        "- Email to Sam, “Lunch” (Monday 30 November): See you at noon.",
        "There are more than I can show here.",
    ]
    assert perform(ListDrafts(), {"message_list": {"messages": []}})[0].startswith("Your outbox is empty")
    assert perform(ListDrafts(), {"message_list": failed("locked")})[0] == "I could not look into your outbox: locked"


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (ShowDraft("Ana"), "Email to Ana (Monday 30 November):\n  Sam is late."),
        (ShowDraft("", latest=True), "Email to Sam, “Review”"),
        (ShowDraft("Sam"), "These drafts fit:\n- Email to Sam, “Review”"),
        (ShowDraft("Bob"), "No draft fits “Bob”. These are there:"),
    ],
)
def test_the_draft_that_fits_is_shown(request_: ShowDraft, said: str) -> None:
    reply, _ = perform(request_, {"message_list": OUTBOX})
    assert reply.startswith(said)


@pytest.mark.parametrize(
    ("request_", "identifier"),
    [
        (DiscardDraft("Ana"), "m2"),
        (DiscardDraft("Sam about lunch"), "m1"),
        (DiscardDraft("late"), "m2"),
        (DiscardDraft("", latest=True), "m3"),
        (DiscardDraft("Sam", latest=True), "m3"),
    ],
)
def test_the_one_draft_that_fits_is_discarded(request_: DiscardDraft, identifier: str) -> None:
    reply, calls = perform(request_, {"message_list": OUTBOX, "message_discard": {}})
    assert [call.arguments for call in calls[1:]] == [{"id": identifier}]
    assert reply.startswith("Discarded, it was never sent: Email to")


def test_which_of_several_drafts_is_asked_and_a_choice_is_taken() -> None:
    answers: dict[str, Any] = {"message_list": OUTBOX, "message_discard": {}}
    reply, calls = perform(DiscardDraft("Sam"), answers)
    assert len(calls) == 1
    assert reply.endswith(WHICH_ONE)
    _, calls = perform(DiscardDraft("Sam"), answers, replace(SCENE, choice=2))
    assert [call.arguments for call in calls[1:]] == [{"id": "m1"}]
    _, calls = perform(DiscardDraft("Sam"), answers, replace(SCENE, choice=0))
    assert [call.arguments for call in calls[1:]] == [{"id": "m3"}, {"id": "m1"}]


def test_nothing_is_discarded_when_none_fits_or_the_outbox_cannot_be_read() -> None:
    reply, calls = perform(DiscardDraft("Bob"), {"message_list": OUTBOX})
    assert "No draft fits “Bob”, so I discarded nothing." in reply
    assert len(calls) == 1
    reply, _ = perform(DiscardDraft("Bob"), {"message_list": failed("locked")})
    assert reply == "I could not look into your outbox, so I discarded nothing: locked"
    answers = {"message_list": OUTBOX, "message_discard": failed("gone")}
    assert perform(DiscardDraft("Ana"), answers)[0] == "I could not discard the Email to Ana: gone"


def test_a_long_choice_and_many_names_are_cut() -> None:
    many = [message(f"m{number}", "Sam", f"Text {number}.") for number in range(12)]
    reply, _ = perform(DiscardDraft("Sam"), {"message_list": {"messages": many}})
    assert "9. Email to Sam" in reply
    assert "… and 3 more." in reply
    crowd = message("m", "x", "hi") | {"to": [f"P{number}" for number in range(9)]}
    reply, _ = perform(ShowDraft(), {"message_list": {"messages": [crowd]}})
    assert reply.startswith("Email to P0, P1, P2, P3, P4 and 4 more")
