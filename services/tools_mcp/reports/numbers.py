"""Numbers as a reader wants them: no needless fraction, nothing cut off, thousands set apart. Pure."""

from decimal import Decimal

_TINY = 1e-9  # below it a number is told by its power of ten
_CENT = 0.01


def plain_number(value: float) -> str:
    """Return a number with all its digits, such as `123,456,789,012.55`."""
    if value == int(value):
        return f"{value + 0.0:,.0f}"  # -0.0 is 0
    return f"{Decimal(repr(value)):,f}" if abs(value) >= _TINY else repr(value)


def dollars(value: float) -> str:
    """Return a cost, to a hundredth of a cent, or to three digits where that would leave little of it."""
    return f"${value:.4f}" if value == 0 or value >= _CENT else f"${plain_number(float(f'{value:.3g}'))}"
