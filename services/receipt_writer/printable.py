"""Text of an entry as a person may see it: in a terminal, and on a page."""


def visible(text: str) -> str:
    """Return text in which control, format and private characters are spelled out by their number."""
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)
