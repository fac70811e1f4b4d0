import pytest

from agent_host.providers.offline.talk.arithmetic import answer_arithmetic


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("What's 12 * (3 + 4)?", "84"),
        ("12*(3+4)", "84"),
        ("what is 15% of 80", "12"),
        ("20% off 50", "40"),
        ("10% of 1,250", "125"),
        ("50% of 1 000", "500"),
        ("how much is 3 plus 4", "7"),
        ("7 times 8", "56"),
        ("7 x 8", "56"),
        ("100 divided by 8", "12.5"),
        ("2^10", "1024"),
        ("2 to the power of 8", "256"),
        ("7 squared plus 1", "50"),
        ("3 cubed", "27"),
        ("square root of 81", "9"),
        ("the square root of 2.25", "1.5"),
        ("sqrt(16) + 1", "5"),
        ("0.1 + 0.2", "0.3"),
        ("-5 + 3", "-2"),
        ("17 % 5", "2"),
        ("17 mod 5", "2"),
        ("7 // 2", "3"),
        ("1.50 * 2", "3"),
        ("half of 9", "4.5"),
        ("a quarter of 8", "2"),
        ("6 \u00d7 7", "42"),
        ("84 \u00f7 2", "42"),
        ("5 \u2212 3", "2"),
        ("\u221a16", "4"),
        ("2 + 2 =", "4"),
        ("calculate 1/4", "0.25"),
        ("10^50 / 10^49", "10"),
        ("5%+5", "5.05"),
        ("2 ** -2", "0.25"),
        ("4 ** 0.5", "2"),
    ],
)
def test_a_sum_has_a_result(text: str, result: str) -> None:
    answer = answer_arithmetic(text)
    assert answer is not None
    assert answer.rpartition(" = ")[2] == result


def test_a_result_that_is_not_exact_says_so() -> None:
    assert answer_arithmetic("100 / 7") == "100 / 7 = 14.28571429 (rounded)"
    assert answer_arithmetic("square root of 2") == "square root of 2 = 1.414213562 (rounded)"


@pytest.mark.parametrize(
    "text", ["2**100000000", "9**9**9", "(10**59)*100", "10**60*10", "99999999999 ^ 99", "(1/3)**200"]
)
def test_a_result_beyond_the_limits_is_not_computed(text: str) -> None:
    assert answer_arithmetic(text) == "That is too large for me to calculate."


def test_division_by_zero_has_no_result() -> None:
    assert answer_arithmetic("1/0") == "Division by zero has no result."
    assert answer_arithmetic("5 mod 0") == "Division by zero has no result."


@pytest.mark.parametrize(
    "text",
    [
        "12",
        "What is 12",
        "2026-12-04",
        "10/12/2026",
        "call 555-1234 now",
        "a + b",
        "__import__('os')",
        "1 +",
        "((",
        "",
        "what is the capital of France",
        "3 December",
        "sqrt",
        "()",
        "1 2 3",
        "sqrt(-1)",
        "(-8) ** 0.5",
        "9" * 300 + "+1",
        "1 + " * 60,
        "%%%",
        "i have 3 cats and 2 dogs",
        "-5",
    ],
)
def test_what_is_no_sum_is_none(text: str) -> None:
    assert answer_arithmetic(text) is None
