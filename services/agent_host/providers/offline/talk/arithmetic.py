"""Arithmetic a person types: "12 * (3 + 4)", "15% of 80", "square root of 81", "7 squared plus 1".

The text becomes a Python expression, its syntax tree is walked, and nothing but numbers and the operators below is
computed, in exact fractions. Limits: 200 characters, results below 10**60, exponents up to 200.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from agent_host.providers.offline.patterns import pattern

_LONGEST = 200
_LARGEST = Fraction(10**60)
_LARGEST_EXPONENT = 200
_DIGITS = 10
_MOST_DIGITS = 60

_QUESTION = pattern(
    r"(?:please )?(?:what(?:.?s| is| are| does)|how much (?:is|are)|calculate|compute|work out|solve|evaluate)\s+"
)
_NUMBER = r"(\d+(?:\.\d+)?)"
_PERCENT = r"\s*(?:%|percent\b|per cent\b)"
_NAMES = {
    "zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
    "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "twenty": "20", "hundred": "100",
}  # fmt: skip


def _digits(match: re.Match[str]) -> str:
    return _NAMES[match.group()]


_WORDS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"(?<=\d)[,_\u2009\u202f ](?=\d{3}\b)", ""),
    (r"\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|hundred)\b", _digits),
    (r"\b(\d+)\s*/\s*(\d+)\s+of\b", r"(\1/\2)*"),
    (rf"{_NUMBER}{_PERCENT}\s*off(?: of)?\s*{_NUMBER}", r"(\2*(1-\1/100))"),
    (rf"{_NUMBER}{_PERCENT}\s*of\b", r"(\1/100)*"),
    (rf"{_NUMBER}{_PERCENT}(?!\s*[\d(])", r"(\1/100)"),
    (r"\bhalf of\b", "0.5*"),
    (r"\b(?:a|one) third of\b", "(1/3)*"),
    (r"\b(?:a|one) quarter of\b", "0.25*"),
    (r"\b(?:the )?(?:square root of|sqrt(?: of)?)\s*|\u221a", "sqrt"),
    (r"\b(?:multiplied by|times)\b|[\u00d7\u22c5\u00b7]|(?<=[\d)\s])x(?=[\s\d(])", "*"),
    (r"\b(?:divided by|over)\b|\u00f7", "/"),
    (r"\b(?:to the power of|raised to(?: the power of)?)\b|\^", "**"),
    (r"\bsquared\b|\u00b2", "**2"),
    (r"\bcubed\b|\u00b3", "**3"),
    (r"\bplus\b", "+"),
    (r"\bminus\b|[\u2212\u2013]", "-"),
    (r"\bmod(?:ulo)?\b", "%"),
    (r"sqrt\s*(\d+(?:\.\d+)?)", r"sqrt(\1)"),
)
_EXPRESSION = re.compile(r"(?:[\d\s.+\-*/()%]|sqrt\()+")
_OPERATOR = re.compile(r"[\d)]\s*[+\-*/%]|sqrt")
_DATE_LIKE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}/\d{1,2}/\d{2,4}")


class _TooLargeError(Exception):
    """The result is beyond the limits."""


_OPERATIONS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: lambda left, right: left / right,
    ast.FloorDiv: lambda left, right: Fraction(left // right),
    ast.Mod: lambda left, right: left % right,
}


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if abs(exponent) > _LARGEST_EXPONENT:
        raise _TooLargeError
    if exponent.denominator == 1:
        if max(len(str(base.numerator)), len(str(base.denominator))) * abs(exponent) > _MOST_DIGITS * 2:
            raise _TooLargeError
        return base ** int(exponent)
    return Fraction(float(base) ** float(exponent)) if base >= 0 else _root_of_negative()


def _root_of_negative() -> Fraction:
    raise ValueError("no real number")


def _root(value: Fraction) -> Fraction:
    if value < 0:
        return _root_of_negative()
    top, bottom = math.isqrt(value.numerator), math.isqrt(value.denominator)
    exact = Fraction(top, bottom)
    return (
        exact
        if exact * exact == value
        else Fraction(Decimal(value.numerator).sqrt() / Decimal(value.denominator).sqrt())
    )


def _evaluate(node: ast.expr) -> Fraction:
    match node:
        case ast.Constant(value=int() | float() as number):
            value = Fraction(str(number))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = -_evaluate(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            value = _evaluate(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            value = _power(_evaluate(left), _evaluate(right))
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATIONS:
            value = _OPERATIONS[type(operator)](_evaluate(left), _evaluate(right))
        case ast.Call(func=ast.Name(id="sqrt"), args=[argument], keywords=[]):
            value = _root(_evaluate(argument))
        case _:
            raise ValueError("not arithmetic")
    if abs(value) > _LARGEST:
        raise _TooLargeError
    return value


def _shown(value: Fraction) -> str:
    """Returns a whole number, an exact decimal of at most ten digits, or a rounded one that says so."""
    if value.denominator == 1:
        return str(value.numerator)
    decimal = Decimal(value.numerator) / Decimal(value.denominator)
    rounded = Decimal(f"{decimal:.{_DIGITS}g}")
    text = f"{rounded:f}".rstrip("0").rstrip(".") if "." in f"{rounded:f}" else f"{rounded:f}"
    return text if Fraction(rounded) == value else f"{text} (rounded)"


def _expression(text: str) -> str | None:
    """Turns the words of a sum into signs; None when something else is left."""
    plain = text.casefold().strip().rstrip("?.=! ")
    for words, signs in _WORDS:
        plain = re.sub(words, signs, plain)
    return plain.strip() if _EXPRESSION.fullmatch(plain) and _OPERATOR.search(plain) else None


def answer_arithmetic(text: str) -> str | None:
    """Returns the reply to a sum, or None when the text is none.

    A plain number or a date is no sum.
    """
    if len(text) > _LONGEST:
        return None
    asked = _QUESTION.match(text)
    body = text[asked.end() :] if asked else text
    expression = None if _DATE_LIKE.search(body) else _expression(body)
    if expression is None:
        return None
    try:
        tree = ast.parse(expression, mode="eval")
        value = _evaluate(tree.body)
    except ZeroDivisionError:
        return "Division by zero has no result."
    except _TooLargeError:
        return "That is too large for me to calculate."
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        return None
    shown = " ".join(body.split()).rstrip("?.=! ")
    return f"{shown} = {_shown(value)}"
