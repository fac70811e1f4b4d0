import pytest

from agent_host.providers.offline.wording import (
    capitalised,
    clip,
    common_start,
    content_words,
    coverage,
    is_only_about,
    joined,
    mirrored,
    says_same,
    sentence,
    stem,
    subject_of,
    tidy,
)


def test_forms_of_a_word_share_a_stem() -> None:
    for words in (("meet", "meetings", "meeting"), ("team", "teams", "team's"), ("prefer", "prefers", "preferred")):
        assert len({stem(word) for word in words}) == 1, words


def test_content_words_leave_out_what_carries_no_meaning_and_keep_spelling() -> None:
    assert content_words("What do you know about the Design team's design?") == ("Design", "team's")
    assert content_words("Do I?") == ()
    assert content_words("Zoë trinkt Tee 日本語") == ("Zoë", "trinkt", "Tee", "日本語")


def test_coverage_is_the_part_of_the_wanted_words_that_is_there() -> None:
    assert coverage("the design team", "Design teams prefer mornings") == 1.0
    assert coverage("design of the kitchen", "The design is blue") == 0.5
    assert coverage("the", "anything") == 0.0


def test_the_common_start_ends_at_the_first_difference() -> None:
    assert common_start("The office is in Porto", "the office is in Lisbon.") == ("the", "office", "is", "in")
    assert common_start("", "x") == ()


@pytest.mark.parametrize(
    ("statement", "subject"),
    [("The design team prefers mornings", "The design team"), ("Ana likes tea", "Ana"), ("hello there", ""), ("", "")],
)
def test_a_statement_is_about_what_stands_before_its_verb(statement: str, subject: str) -> None:
    assert subject_of(statement) == subject


def test_a_persons_words_are_said_back_to_them() -> None:
    assert mirrored("my sister and I") == "your sister and you"
    assert mirrored("the army of Miami") == "the army of Miami"


@pytest.mark.parametrize(
    ("text", "done"), [("the sky is blue", "The sky is blue."), ("Done!", "Done!"), ("", ""), ("what?", "What?")]
)
def test_a_sentence_has_a_capital_and_a_full_stop(text: str, done: str) -> None:
    assert sentence(text) == done


def test_only_the_first_letter_is_made_a_capital() -> None:
    assert capitalised("an iPhone") == "An iPhone"
    assert capitalised("") == ""


def test_tidy_takes_off_what_stood_around_a_command() -> None:
    assert tidy("  : the \n words -  ") == "the words"


def test_a_long_line_is_cut_at_a_word() -> None:
    assert clip("one two three", 13) == "one two three"
    assert clip("one two three four", 14) == "one two three…"
    assert clip("x" * 50, 10) == "x" * 9 + "…"


def test_words_are_joined_as_people_write_lists() -> None:
    assert [joined(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Ana likes tea", "Ana likes tea.", True),
        ("The office is in Porto", "office: Porto", True),
        ("Ana owes Bob five", "Bob owes Ana five", False),
        ("Ana is vegan", "Ana isn't vegan", False),
        ("Ana is vegan", "Ana is vegan since May", False),
    ],
)
def test_sentences_say_the_same_word_for_word(one: str, other: str, same: bool) -> None:
    assert says_same(one, other) is same


@pytest.mark.parametrize(
    ("text", "subject", "only"),
    [
        ("The design team prefers mornings and hates noise", "the design team", True),
        ("My sister's birthday is on 3 May", "my sister's birthday", True),
        ("My sister's birthday is on 3 May", "birthday", False),
        ("The dentist is Dr. Weiss", "the dentist", True),
        ("Ann is vegan and Bob is not", "Ann", False),
        ("Ann likes tea, the team likes milk", "Ann", False),
    ],
)
def test_a_sentence_is_about_a_subject_alone(text: str, subject: str, only: bool) -> None:
    assert is_only_about(text, subject) is only
