import pytest

from agent_host.providers.offline.splitting import split_requests


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Remember that Ana likes tea", ["Remember that Ana likes tea"]),
        (
            "Remember that Ana likes tea and book a call with her on Friday at 10",
            ["Remember that Ana likes tea", "book a call with Ana on Friday at 10"],
        ),
        (
            "Remember that the design team likes tea, then book lunch with them tomorrow at noon",
            ["Remember that the design team likes tea", "book lunch with the design team tomorrow at noon"],
        ),
        (
            "Remember that Ana likes tea and that Bob likes coffee",
            ["Remember that Ana likes tea", "remember that Bob likes coffee"],
        ),
        (
            "Book lunch with Ana on Monday at noon and a call with Bob on Wednesday at 3pm",
            ["Book lunch with Ana on Monday at noon", "book a call with Bob on Wednesday at 3pm"],
        ),
        (
            "What day is it? What's on my calendar tomorrow?",
            ["What day is it?", "What's on my calendar tomorrow?"],
        ),
        (
            "book lunch tomorrow at noon, draft an email to Ana about it, and remember that Ana is vegan",
            ["book lunch tomorrow at noon", "draft an email to Ana about Lunch", "remember that Ana is vegan"],
        ),
        (
            "add a dentist appointment on Friday at 3pm, remind me a day before",
            ["add a dentist appointment on Friday at 3pm", "remind me a day before"],
        ),
        (
            "remember that tea is good, remember that coffee is bad",
            ["remember that tea is good", "remember that coffee is bad"],
        ),
        (
            "forget that Bob is vegan and remember that he is vegetarian",
            ["forget that Bob is vegan", "remember that Bob is vegetarian"],
        ),
        (
            "Can you book lunch tomorrow at noon and remember that Ana is vegan?",
            ["Can you book lunch tomorrow at noon", "remember that Ana is vegan"],
        ),
        ("What's 2+2\nWhat's 3+3", ["What's 2+2", "What's 3+3"]),
        (
            "Remember that Sam likes tea and draft an email to Sam about tea",
            ["Remember that Sam likes tea", "draft an email to Sam about tea"],
        ),
        (
            "Draft an email to Sam about lunch and book lunch with Sam on Friday at noon",
            ["Draft an email to Sam about lunch", "book lunch with Sam on Friday at noon"],
        ),
        ("list my drafts and what's on my calendar?", ["list my drafts", "what's on my calendar?"]),
        ("email Sam about tea and email Bob about milk", ["email Sam about tea", "email Bob about milk"]),
        (
            "Remember that Ana likes tea. Book a call with Ana on Friday at 10. What do you know about Bob?",
            ["Remember that Ana likes tea", "Book a call with Ana on Friday at 10", "What do you know about Bob?"],
        ),
    ],
)
def test_a_message_with_several_requests_is_parted(text: str, parts: list[str]) -> None:
    assert list(split_requests(text)) == parts


@pytest.mark.parametrize(
    "text",
    [
        "Book dinner with Ana and Bob on Friday at 7pm",
        "Remember that Ana and Bob like tea and coffee",
        "Remember that I need to call Ana and book a table on Friday at 8pm",
        "Take a note: buy milk. Then book a flight tomorrow at 9.",
        "Remember: Ana likes tea. Book a flight tomorrow at 9.",
        "Search the web for rock and roll",
        "Draft an email to Sam: buy milk. Then book a flight tomorrow at 9",
        "Draft an email to Sam saying buy milk and book a table on Friday at 8pm",
        "text Mum that I am late and book a table on Friday at 8pm",
        "compare the reports on solar and wind",
        "Book a call with Ana on Friday at 9 and at 11",
        "Remember that Ana is nice and book",
        "Remember that when it rains, cancel the picnic",
        "Book lunch with Ana, Bob and Tom on Friday at noon",
        "and and and",
        "",
        ".",
        "Research the pros and cons of remote work",
    ],
)
def test_a_message_with_one_request_stays_whole(text: str) -> None:
    assert split_requests(text) == (text,)


def test_a_message_has_at_most_six_requests() -> None:
    assert len(split_requests("What's 1+1? " * 9)) == 6


def test_a_long_message_is_one_request() -> None:
    text = "Remember that Ana likes tea and book a call on Friday at 10. " * 20
    assert split_requests(text) == (text,)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "Should I book lunch tomorrow at noon and remember that Ana is vegan",
            ["Should I book lunch tomorrow at noon", "remember that Ana is vegan?"],
        ),
        (
            "Remember that Ana likes tea and book a call with her on Friday at 10?",
            ["Remember that Ana likes tea?", "book a call with Ana on Friday at 10?"],
        ),
        (
            "Book a call with Ann on Friday at 9 and what's on my calendar on Monday?",
            ["Book a call with Ann on Friday at 9", "what's on my calendar on Monday?"],
        ),
        (
            "Remember that Ana likes tea. What's on my calendar on Monday?",
            ["Remember that Ana likes tea", "What's on my calendar on Monday?"],
        ),
        (
            "What's on my calendar on Monday and text Mum that I am late",
            ["What's on my calendar on Monday", "text Mum that I am late"],
        ),
    ],
)
def test_a_question_is_one_for_every_request_of_its_sentence(text: str, parts: list[str]) -> None:
    assert list(split_requests(text)) == parts
