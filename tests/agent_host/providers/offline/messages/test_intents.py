import pytest

from agent_host.providers.offline.messages.intents import discard_draft, draft, list_drafts, show_draft
from agent_host.providers.offline.messages.requests import (
    CANNOT_SEND,
    DiscardDraft,
    DraftMessage,
    ListDrafts,
    ShowDraft,
)
from agent_host.providers.offline.routine import Say

SAM = ("Sam",)


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("draft an email to Sam about the picnic", DraftMessage("email", SAM, "the picnic")),
        ("draft an email for Sam regarding the picnic.", DraftMessage("email", SAM, "the picnic")),
        ("write a short e-mail to Sam and Ana saying hi", DraftMessage("email", ("Sam", "Ana"), "", "hi")),
        ("compose a message to Sam, Ana & Bo: hi", DraftMessage("email", ("Sam", "Ana", "Bo"), "", "hi")),
        ("draft an email to sam@example.org: see you", DraftMessage("email", ("sam@example.org",), "", "see you")),
        (
            "draft an email to Sam about lunch saying that I'm ill",
            DraftMessage("email", SAM, "lunch", "I'm ill"),
        ),
        (
            'draft an email to Sam with the subject "Lunch" and say "I am ill"',
            DraftMessage("email", SAM, "Lunch", "I am ill"),
        ),
        (
            "write an email to my landlord asking him to fix the heating.",
            DraftMessage("email", ("my landlord",), "", "asking him to fix the heating"),
        ),
        ("draft an email to Ana to thank her", DraftMessage("email", ("Ana",), "", "thank her")),
        (
            "draft an email to Sam:\nHi Sam,\n\nsee you: noon",
            DraftMessage("email", SAM, "", "Hi Sam,\n\nsee you: noon"),
        ),
        ("draft an SMS to Sam saying on my way", DraftMessage("sms", SAM, "", "on my way")),
        ("draft a text message to Sam", DraftMessage("sms", SAM)),
        ("prepare a Slack message to Sam: hi", DraftMessage("chat", SAM, "", "hi")),
        ("draft a reply to Sam: thanks for it", DraftMessage("email", SAM, "", "thanks for it")),
        ("draft an email", DraftMessage("email", ())),
        ("draft an email about lunch", DraftMessage("email", (), "lunch")),
        ("draft a message", DraftMessage("email", ())),
        ("draft a quick note to Sam about lunch", DraftMessage("email", SAM, "lunch")),
        ("draft an email to Sam, cc Ana, about lunch", DraftMessage("email", ("Sam", "Ana"), "lunch")),
        ("write an email to Sam, subject: Lunch, saying hi", DraftMessage("email", SAM, "Lunch", "hi")),
        ("draft an email to Sam with subject Lunch and body Hi", DraftMessage("email", SAM, "Lunch", "Hi")),
    ],
)
def test_a_draft_has_who_it_is_for_and_what_it_says(text: str, request_: DraftMessage) -> None:
    assert draft(text) == request_


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("email Sam about lunch", DraftMessage("email", SAM, "lunch", send=True)),
        ("email Sam", DraftMessage("email", SAM, send=True)),
        ("text Sam that I'm late", DraftMessage("sms", SAM, "", "I'm late", send=True)),
        ("Text Sam: late", DraftMessage("sms", SAM, "", "late", send=True)),
        ("message Sam: lunch?", DraftMessage("chat", SAM, "", "lunch?", send=True)),
        ("write to Sam that I agree", DraftMessage("email", SAM, "", "I agree", send=True)),
        ("send an email to Sam saying hi", DraftMessage("email", SAM, "", "hi", send=True)),
        ("send Sam an email about lunch", DraftMessage("email", SAM, "lunch", send=True)),
        ("write Sam an email about lunch", DraftMessage("email", SAM, "lunch")),
        ("let Sam know that I'm late", DraftMessage("email", SAM, "", "I'm late", send=True)),
        ("tell the design team that it moved", DraftMessage("email", ("the design team",), "", "it moved", send=True)),
        ("reply to Sam: yes", DraftMessage("email", SAM, "", "yes", send=True)),
        ("email the team about lunch", DraftMessage("email", ("the team",), "lunch", send=True)),
    ],
)
def test_what_is_to_be_sent_is_only_drafted(text: str, request_: DraftMessage) -> None:
    assert draft(text) == request_


@pytest.mark.parametrize("text", ["send it", "send the draft to Sam", "Send my last draft now.", "send that email"])
def test_sending_what_is_drafted_is_declined(text: str) -> None:
    assert draft(text) == Say(CANNOT_SEND)


@pytest.mark.parametrize(
    "text",
    [
        "email me the notes",
        "email the report to Sam",
        "message from Ana: she is late",
        "tell me that story",
        "let me know that it works",
        "tell Sam I'm late",
        "text",
        "text editor settings",
        "message in a bottle",
        "write a text about autumn",
        "write a poem to Ana about love",
        "write a report on solar power",
        "send",
        "draft",
        "write a message in a bottle story",
        "draft a contract",
        "note: email Sam",
        "",
    ],
)
def test_other_sentences_draft_nothing(text: str) -> None:
    assert draft(text) is None


@pytest.mark.parametrize(
    "text",
    [
        *("list my drafts", "show me all my drafts", "what's in my outbox?", "do I have any drafts?", "my drafts"),
        *("which drafts are there?", "list the unsent emails", "show my messages", "what drafts do I have?", "outbox"),
        *("what did I draft?", "show me what I drafted"),
    ],
)
def test_the_outbox_is_listed(text: str) -> None:
    assert list_drafts(text) == ListDrafts()


@pytest.mark.parametrize("text", ["list my notes", "check my email", "show my message board", "draft", ""])
def test_other_sentences_list_no_drafts(text: str) -> None:
    assert list_drafts(text) is None


@pytest.mark.parametrize(
    ("text", "wanted", "latest"),
    [
        ("show the draft to Sam", "Sam", False),
        ("read me my last draft", "", True),
        ("open the email draft about lunch", "lunch", False),
        ("what does the draft to Sam say?", "Sam", False),
        ("is there a draft to Sam?", "Sam", False),
    ],
)
def test_a_draft_is_shown_by_whom_it_is_for(text: str, wanted: str, latest: bool) -> None:
    assert show_draft(text) == ShowDraft(wanted, latest)


@pytest.mark.parametrize(
    ("text", "wanted", "latest"),
    [
        ("discard the draft to Sam", "Sam", False),
        ("delete my last draft", "", True),
        ("delete the email to Sam about lunch", "Sam about lunch", False),
        ("throw away the message to Sam", "Sam", False),
        ("discard all my drafts", "", False),
    ],
)
def test_a_draft_is_discarded_by_whom_it_is_for(text: str, wanted: str, latest: bool) -> None:
    assert discard_draft(text) == DiscardDraft(wanted, latest)


@pytest.mark.parametrize("text", ["cancel the call", "delete the note about drafts", "forget the email", "discard", ""])
def test_other_sentences_discard_nothing(text: str) -> None:
    assert discard_draft(text) is None
    assert show_draft(text) is None
