from __future__ import annotations

import pytest

from receipt_writer.format import errors
from receipt_writer.format.errors import FormatError, LinkError, SchemaError, UnsupportedError, shown

CLASSES = [item for item in vars(errors).values() if isinstance(item, type) and issubclass(item, Exception)]


def test_the_tree_drawn_on_top_of_the_module_is_the_tree_of_classes() -> None:
    drawing = (errors.__doc__ or "").splitlines()
    drawn = {}
    branch: list[str] = []
    for line in drawing:
        name = line.lstrip("│├└─ ").partition(" ")[0]
        if name.endswith("Error") and not line.startswith("Errors"):
            depth = (len(line) - len(line.lstrip("│├└─ "))) // len("├── ")
            branch = [*branch[:depth], name]
            drawn[name] = branch[-2] if depth else "Exception"
    assert drawn == {cls.__name__: cls.__bases__[0].__name__ for cls in CLASSES}


def test_every_error_names_the_check_that_failed() -> None:
    for cls in CLASSES:
        assert isinstance(cls.__dict__.get("check", "set by its constructor"), str)
    assert UnsupportedError("form", "A sentence.").check == "form"
    assert LinkError("link", 3, "A sentence.").check == "link"
    assert SchemaError("a", "b").check == "schema"


def test_a_path_grows_from_the_inside_out() -> None:
    inner = SchemaError("n", "an integer")
    assert inner.within("[2]").within("tools").path == "tools[2].n"
    assert SchemaError("", "an object").within("model").path == "model"


@pytest.mark.parametrize(
    ("name", "text"),
    [("specId", "specId"), ("é", "é"), ("\x1b[2J", "'\\x1b[2J'"), ("a" * 81, "a" * 80 + "…"), ("\ud800", "'\\ud800'")],
)
def test_a_strangers_name_is_shown_short_and_printable(name: str, text: str) -> None:
    assert shown(name) == text
    assert str(SchemaError(name, "left out")) == f"{text} must be left out."


def test_one_except_clause_catches_whatever_the_format_refuses() -> None:
    assert all(issubclass(cls, FormatError) for cls in CLASSES)
