"""Which proposed facts only repeat what was read (agent.md row 35, section 4 item 6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_host.constrained.restating import restated
from agent_host.constrained.schema import value_fault
from agent_host.constrained.specs import CODE_IDENTITY, shipped_spec
from agent_host.providers.protocol import JsonValue

TERSE = "Zep $2.3M 2023-12-27; Mem0 $24M 2025-10-28"


def drops(content: str, *read: str, subject: str = "") -> bool:
    values: dict[str, JsonValue] = {
        "facts": [{"number": 7, "subject": subject, "content": content}],
        "read": list(read),
    }
    output = restated(values)
    assert value_fault(values, shipped_spec("restates", CODE_IDENTITY).input_schema) is None
    assert output in ({"dropped": [7]}, {"dropped": []})
    return output == {"dropped": [7]}


@pytest.mark.parametrize(
    ("content", "read"),
    [
        ("Zep raised $24M on 2025-10-28", TERSE),
        ("Zep raised $24M on 2025-10-28", "Zep raised $2.3M on 2023-12-27, Mem0 raised $24M on 2025-10-28."),
        ("Zep raised 24M.", "Zep raised 2M and Mem0 raised 24M."),
        ("Zep raised 24M.", "24M went to Mem0, and 2M to Zep."),
        ("Mem0 raised $2.3M", "$24M went to Mem0 and $2.3M to Zep."),
        ("mem0 raised 24M", "zep raised 24M, mem0 raised 2M"),
        ("Zep raised 2 million in 2024", "Zep raised 2 million in 2023 and 3 million in 2024"),
        ("Ana is 40.", "Ana is 41. Bob is 40."),
        ("\u674e\u56db is 25", "\u5f20\u4e09 is 25, \u674e\u56db is 30"),
        ("\u674e\u56db 25 \u5c81", "\u5f20\u4e09 25 \u5c81\uff0c\u674e\u56db 30 \u5c81"),
        ("The rent is 950", "The rent is 900, the deposit is 950"),
        ("The rent is 950", "The rent is 900 plus a deposit of 950"),
        ("Acme raised $20M in 2024.", "Acme raised $30M in 2024."),
        ("The score was 3 to 2", "The score was 2 to 3"),
        ("Ana paid Bob 40 euros", "Bob paid Ana 40 euros"),
    ],
)
def test_a_number_that_moved_to_another_name_thing_or_year_is_new(content: str, read: str) -> None:
    assert not drops(content, read)


@pytest.mark.parametrize(
    ("content", "read"),
    [
        ("My sister's birthday is on 3 May", "My brother's birthday is on 3 May"),
        ("My birthday is on 3 May", "Her birthday is on 3 May"),
        ("the rent is 900 euros a month", "the deposit is 900 euros"),
        ("The office code is 4711", "The door code is 4711"),
        ("The door code is 4711", "The office door code is 4711"),
        ("The meeting is at 10:00 on Tuesday", "The dentist is at 10:00 on Tuesday"),
        ("lunch with ana costs 12 euros", "dinner with bob costs 12 euros"),
        ("Zep has 30 employees", "Zep raised 30 million"),
        ("Zep raised 24M", "Zep Cloud raised 24M"),
        ("Zealand has 5 million people", "New Zealand has 5 million people"),
        ("Bob is 40", "The brother of Bob is 40"),
        ("Bob is 40", "Bob's brother is 40"),
        ("Ana is 40", "Ana has 40 cats"),
        ("Anna was born in 1990", "Bob, born in 1990, is married to Anna"),
        ("Die Miete ist 900 Euro", "Die Kaution ist 900 Euro"),
        ("Zep raised \u20ac24M", "Zep raised $24M"),
        ("The freezer is at -5", "The freezer is at 5"),
        ("Growth was 12.5%.", "growth was 12%"),
    ],
)
def test_the_same_number_of_something_else_is_new(content: str, read: str) -> None:
    assert not drops(content, read)


@pytest.mark.parametrize(
    ("content", "read"),
    [
        ("The rent is 900 euros", "The rent was 900 euros"),
        ("The rent was 900 euros", "The rent is 900 euros"),
        ("Zep raised 24M", "It is not true that Zep raised 24M"),
        ("Zep has no 30 employees", "Zep has 30 employees"),
        ("Zep didn't raise 24M", "Zep raise 24M"),
        ("Zep raised 24M", "We don't say that Zep raised 24M"),
        ("Zep raised 24M", "If Zep raised 24M, it would hire"),
        ("Zep raised 24M", "Zep nearly raised 24M"),
        ("Zep raised 24M", "Zep raised 24M less than Mem0"),
        ("Ana is 40", "Is Ana 40?"),
        ("Zep had 30 employees in 2024", "Zep had 30 employees before 2024"),
    ],
)
def test_what_was_only_then_or_was_denied_asked_or_supposed_says_nothing(content: str, read: str) -> None:
    assert not drops(content, read)


@pytest.mark.parametrize(
    ("content", "read"),
    [
        ("Acme raised $20M in 2024.", "In 2024, Acme raised $20M."),
        ("Acme raised $20M in 2024.", "Acme raised $20M in 2024 from two funds."),
        ("In 2024 Acme raised $20M.", "Acme raised $20M in 2024."),
        ("ANA is 40.", "We heard that Ana is 40"),
        ("Mem0 raised 24M.", "Zep raised 2M and Mem0 raised 24M."),
        ("Zep raised $2.3M on 2023-12-27.", "Zep raised $2.3M on 2023-12-27; Mem0 raised $24M on 2025-10-28."),
        ("Ana moved on 3 May 2024.", "Ana moved on 3 May 2024 to Ghent."),
        ("The rent is 900 euros", "Bob pays well. The rent is 900 euros, heating included!"),
        ("My sister\u2019s birthday is on 3 May", "- my sister's birthday is 3 May"),
        ("\u674e\u56db is 25", "\u5f20\u4e09 is 30\uff0c\u674e\u56db is 25\u3002"),
        ("Die Miete ist 900 Euro.", "Bob schrieb, dass die Miete 900 Euro ist."),
        ("Mamas Geburtstag ist am 3. Mai", "Hallo! Mamas Geburtstag ist am 3. Mai. Bis bald."),
        ("Zep has no office in 2026", "Zep has no office in 2026"),
    ],
)
def test_the_same_said_of_the_same_is_a_restatement(content: str, read: str) -> None:
    assert drops(content, read)


@pytest.mark.parametrize(
    ("content", "read"),
    [
        ("Acme has good engineers.", ["Acme has good engineers."]),  # no number: never dropped here
        ("Ana is 40.", []),
        ("4711", ["4711"]),  # of nothing
        ("Acme raised $20M in 2024.", ["In 2024 the robotics firm Acme raised $20M."]),  # in other words
        ("Mem0 raised $24M on 2025-10-28", [TERSE]),  # no word says what the number is
    ],
)
def test_in_doubt_a_fact_is_new(content: str, read: list[str]) -> None:
    assert not drops(content, *read)


@pytest.mark.parametrize(
    ("subject", "content", "read", "dropped"),
    [
        ("Zep", "Has 30 employees.", "Letta has 30 employees", False),
        ("Zep", "Has 30 employees.", "Zep has 30 employees", True),
        ("Zep", "Has 30 employees.", "Has 30 employees", False),
        ("Zep funding", "Zep raised 24M.", "Zep raised 24M.", True),
        ("", "Zep raised 24M.", "Zep raised 24M.", True),
    ],
)
def test_a_fact_that_does_not_name_its_subject_is_about_it_all_the_same(
    subject: str, content: str, read: str, dropped: bool
) -> None:
    assert drops(content, read, subject=subject) == dropped


def test_each_fact_is_looked_at_by_itself() -> None:
    facts: list[JsonValue] = [{"number": 1, "content": "Ana is 40."}, {"number": 2, "content": "Bob is 41."}]
    assert restated({"facts": facts, "read": ["Bob is 41.", "Ana is 39."]}) == {"dropped": [2]}


@given(st.text(max_size=80), st.lists(st.text(max_size=80), max_size=3))
def test_no_text_breaks_it(content: str, read: list[str]) -> None:
    drops(content, *read)
