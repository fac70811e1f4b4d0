import pytest

from agent_host.providers.offline.conversation import PastTurn
from agent_host.providers.offline.questions import (
    SHALL_I_BOOK,
    SHALL_I_REMEMBER,
    TO_WHOM,
    WHAT_TO_BOOK,
    WHAT_TO_NOTE,
    WHAT_TO_REMEMBER,
    WHAT_TO_SEARCH,
    WHAT_TO_WRITE,
    WHICH_ONE,
    Reader,
    Wish,
    complete,
    is_no,
    is_yes,
    read_choice,
)
from agent_host.providers.offline.times.pieces import find_time_words

NO_REQUESTS = Reader(lambda _text: False, lambda text: text)


def new(text: str) -> Wish:
    return Wish(text, said_now=True)


def answer(before: str, reply: str, text: str) -> Wish:
    return complete([PastTurn(before, reply)], text, NO_REQUESTS)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("the first one", 1),
        ("2", 2),
        ("#3", 3),
        ("number 4", 4),
        ("2nd", 2),
        ("the 3rd", 3),
        ("the last one", -1),
        ("the second", 2),
        ("one", 1),
        ("all of them", 0),
        ("both", 0),
        ("Yes, all", 0),
        ("0", None),
        ("the red one", None),
        ("", None),
        ("999", None),
        ("²", None),
        ("second!", 2),
    ],
)
def test_a_choice_is_read_as_a_position(text: str, position: int | None) -> None:
    assert read_choice(text) == position


@pytest.mark.parametrize("text", ["yes", "Yes please!", "ok, do it", "sure", "go ahead", "book it", "please do"])
def test_a_yes_is_a_yes(text: str) -> None:
    assert is_yes(text)


@pytest.mark.parametrize("text", ["yesterday", "yes but not today", "ok then tell me about Ana", "thanks", "no"])
def test_more_than_a_yes_is_no_yes(text: str) -> None:
    assert not is_yes(text)


@pytest.mark.parametrize("text", ["no", "No, thanks", "never mind", "don\u2019t", "leave it", "no, don't book it"])
def test_a_no_is_a_no(text: str) -> None:
    assert is_no(text)


@pytest.mark.parametrize("text", ["no, make that 13:00", "no, I meant Tuesday", "not bad"])
def test_more_than_a_no_is_no_no(text: str) -> None:
    assert not is_no(text)


@pytest.mark.parametrize(
    ("before", "question", "text", "wish"),
    [
        ("I like tea", f"Stored nothing.\n{SHALL_I_REMEMBER}", "yes", Wish("I like tea", agreed=True)),
        ("Lunch on Friday at 1", f"“Lunch”.\n{SHALL_I_BOOK}", "book it", Wish("Lunch on Friday at 1", agreed=True)),
        ("remember", WHAT_TO_REMEMBER, "Ana likes tea", Wish("Remember that Ana likes tea")),
        ("search the web", WHAT_TO_SEARCH, "cats", Wish("Search the web for cats")),
        ("take a note", WHAT_TO_NOTE, "milk", Wish("take a note: milk")),
        ("email Sam", WHAT_TO_WRITE, "see you at noon", Wish("email Sam: see you at noon")),
        ("draft an email", TO_WHOM, "to Sam", Wish("draft an email to Sam")),
        ("draft a text message: on my way", TO_WHOM, "Mum", Wish("draft a text message to Mum: on my way")),
        ("Write an email about tea", TO_WHOM, "Ana and Bob", Wish("Write an email to Ana and Bob about tea")),
        ("draft an email", TO_WHOM, r"\1", Wish(r"draft an email to \1")),
        ("book on Friday at 9", WHAT_TO_BOOK, "lunch", Wish("Can I book lunch on Friday at 9")),
        ("book", WHAT_TO_BOOK, "lunch", Wish("Book lunch")),
        ("Book lunch", "When should it be? Tell me …", "Friday at 9", Wish("Book lunch Friday at 9")),
        ("Book lunch on Friday", "At what time on Friday 4 December?", "9", Wish("Book lunch on Friday at 9")),
        (
            "Book lunch yesterday at 9",
            "… Which day and time did you mean?",
            "Friday at 9",
            Wish("Book lunch Friday at 9"),
        ),
        ("Forget Ana", f"1. A\n2. B\n\n{WHICH_ONE}", "the last one", Wish("Forget Ana", choice=-1)),
        ("Forget Ana", f"1. A\n2. B\n\n{WHICH_ONE}", "none", Wish("none", declined=True)),
    ],
)
def test_an_answer_completes_what_was_asked_for(before: str, question: str, text: str, wish: Wish) -> None:
    assert answer(before, question, text) == wish


@pytest.mark.parametrize(
    "reply",
    [
        "Fine.",
        f"- {SHALL_I_REMEMBER}",
        f"Here is what I remember:\n- The door. {SHALL_I_REMEMBER} (noted today)",
        f"  {SHALL_I_REMEMBER}",
        f"{SHALL_I_REMEMBER}\nBooked.",
        "",
    ],
)
def test_only_a_question_on_a_line_of_its_own_at_the_end_is_one(reply: str) -> None:
    assert answer("I like tea", reply, "yes") == new("yes")


def test_a_note_of_the_host_after_the_question_is_passed_over() -> None:
    reply = f"Stored nothing.\n{SHALL_I_REMEMBER}\n[memory_search {{}} → {{}}]"
    assert answer("I like tea", reply, "yes") == Wish("I like tea", agreed=True)


def test_a_new_command_is_never_taken_for_an_answer() -> None:
    wish = complete([PastTurn("remember", WHAT_TO_REMEMBER)], "What day is it?", Reader(lambda _: True, str))
    assert wish == new("What day is it?")


def test_answers_build_on_answers() -> None:
    past = [
        PastTurn("Book lunch", "When should it be? Tell me a day and a time."),
        PastTurn("on Friday", "At what time on Friday 4 December?"),
    ]
    assert complete(past, "noon", NO_REQUESTS) == Wish("Book lunch on Friday noon")


def test_a_long_message_is_no_answer() -> None:
    text = "word " * 100
    assert answer("remember", WHAT_TO_REMEMBER, text) == new(text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When should it be? Tell me …", "with Ana"),
        ("At what time on Sunday 6 December?", "set a timer for 10 minutes"),
        ("At what time on Sunday 6 December?", "wake me at 7"),
        ("At what time on Sunday 6 December?", "what time is 9am EST here?"),
        ("At what time on Sunday 6 December?", "9?"),
        ("Which day did you mean?", "I see Bob on Friday"),
        (WHAT_TO_BOOK, "actually, how are you?"),
        (WHAT_TO_BOOK, "that is not what I meant"),
        (WHAT_TO_BOOK, "Ana is away on Friday at 9"),
        (WHAT_TO_BOOK, "make it shorter"),
        (WHAT_TO_BOOK, "wake me at 7"),
        (TO_WHOM, "who is there?"),
        (TO_WHOM, "I like tea"),
        (WHAT_TO_REMEMBER, "what do you mean?"),
        (WHICH_ONE, "the blue one"),
    ],
)
def test_what_does_not_answer_the_question_is_a_message_of_its_own(question: str, text: str) -> None:
    assert answer("Book lunch", question, text) == new(text)


@pytest.mark.parametrize("text", ["let's say 9am, please", "at 9am then", "9am works", "no, 9am"])
def test_words_around_a_time_stay_out_of_the_booking(text: str) -> None:
    wish = answer("Book lunch on Friday", "At what time on Friday 4 December?", text)
    assert find_time_words(wish.text).rest() == "Book lunch"
    assert wish != new(text)


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("New York time", "New York time"),
        ("new york", "new york time"),
        ("mine", "Berlin time"),
        ("here", "Berlin time"),
    ],
)
def test_whose_clock_it_is_may_be_said_in_short(text: str, zone: str) -> None:
    question = "On whose clock is 09:00? Say “New York time” or “Berlin time”."
    assert answer("book a call at 9 in New York", question, text) == Wish(f"book a call at 9 in New York {zone}")


@pytest.mark.parametrize("question", [WHICH_ONE, WHAT_TO_BOOK, "At what time on Friday 4 December?", TO_WHOM])
def test_a_yes_to_a_question_that_is_no_yes_or_no_has_it_asked_again(question: str) -> None:
    assert answer("Cancel all my meetings", question, "yes") == Wish("Cancel all my meetings")


def test_an_answer_goes_to_the_last_request_of_a_message_alone() -> None:
    reader = Reader(lambda _text: False, lambda text: text.rpartition(" and ")[2])
    past = [PastTurn("add milk to my list and cancel the call", f"1. A\n2. B\n\n{WHICH_ONE}")]
    assert complete(past, "2", reader) == Wish("cancel the call", choice=2)
