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
    Wish,
    complete,
    is_no,
    is_yes,
    read_choice,
)


def no_command(_text: str) -> bool:
    return False


def answer(before: str, reply: str, text: str) -> Wish:
    return complete([PastTurn(before, reply)], text, no_command)


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


@pytest.mark.parametrize("text", ["no", "No, thanks", "never mind", "don\u2019t", "leave it"])
def test_a_no_is_a_no(text: str) -> None:
    assert is_no(text)


@pytest.mark.parametrize(
    ("before", "question", "text", "wish"),
    [
        ("I like tea", f"Stored nothing.\n{SHALL_I_REMEMBER}", "yes", Wish("Remember that I like tea")),
        ("Lunch on Friday at 1", f"“Lunch”.\n{SHALL_I_BOOK}", "book it", Wish("Book Lunch on Friday at 1")),
        ("remember", WHAT_TO_REMEMBER, "Ana likes tea", Wish("Remember that Ana likes tea")),
        ("search the web", WHAT_TO_SEARCH, "cats", Wish("Search the web for cats")),
        ("take a note", WHAT_TO_NOTE, "milk", Wish("take a note: milk")),
        ("email Sam", WHAT_TO_WRITE, "see you at noon", Wish("email Sam: see you at noon")),
        ("draft an email", TO_WHOM, "to Sam", Wish("draft an email to Sam")),
        ("draft a text message: on my way", TO_WHOM, "Mum", Wish("draft a text message to Mum: on my way")),
        ("Write an email about tea", TO_WHOM, "Ana and Bob", Wish("Write an email to Ana and Bob about tea")),
        ("draft an email", TO_WHOM, r"\1", Wish(r"draft an email to \1")),
        ("book on Friday at 9", WHAT_TO_BOOK, "lunch", Wish("Book lunch on Friday at 9")),
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
    assert answer("I like tea", reply, "yes") == Wish("yes")


def test_a_note_of_the_host_after_the_question_is_passed_over() -> None:
    reply = f"Stored nothing.\n{SHALL_I_REMEMBER}\n[memory_search {{}} → {{}}]"
    assert answer("I like tea", reply, "yes") == Wish("Remember that I like tea")


def test_a_new_command_is_never_taken_for_an_answer() -> None:
    wish = complete([PastTurn("remember", WHAT_TO_REMEMBER)], "What day is it?", lambda _: True)
    assert wish == Wish("What day is it?")


def test_answers_build_on_answers() -> None:
    past = [
        PastTurn("Book lunch", "When should it be? Tell me a day and a time."),
        PastTurn("on Friday", "At what time on Friday 4 December?"),
    ]
    assert complete(past, "noon", no_command) == Wish("Book lunch on Friday noon")


def test_a_long_message_is_no_answer() -> None:
    text = "word " * 100
    assert answer("remember", WHAT_TO_REMEMBER, text) == Wish(text)


def test_words_without_a_time_do_not_answer_a_question_about_the_time() -> None:
    assert answer("Book lunch", "When should it be? Tell me …", "with Ana") == Wish("with Ana")
