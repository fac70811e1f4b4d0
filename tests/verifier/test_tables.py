"""The two verifiers carry the same table of layers, and it is the table of the norm."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

from verifier import verify

ROOT = Path(__file__).parents[2]
NORM: dict[str, Any] = json.loads((ROOT / "verifier" / "vectors" / "v3" / "schema.json").read_text())
KINDS = {
    '{"integer": [1, 9007199254740991]}': "ORDINAL",
    '{"integer": [0, 9007199254740991]}': "COUNT",
    '{"integer": [0, 253402300799999]}': "TIME",
    '{"pattern": "[0-9a-f]{64}", "maxCharacters": 64}': "HASH",
    '{"pattern": "[a-z0-9]+(-[a-z0-9]+)*", "maxCharacters": 128}': "KEBAB",
    '{"pattern": "(?!-$)[a-z0-9.-]+", "maxCharacters": 192}': "TENANT",
    **{f'{{"pattern": "{p}_[0-9A-HJKMNP-TV-Z]{{26}}", "maxCharacters": 28}}': f"{p}_ULID" for p in "tscbrv"},
    '{"pattern": "[a-z]+", "maxCharacters": 32}': "CHAIN",
    '{"base64": 32}': "KEY",
    '{"base64": 64}': "SIGNATURE",
    '"text"': "TEXT",
    '"instant"': "ISO",
    '"flag"': "BOOL",
    '"idRange"': "SPAN",
}


def notation(kind: Any) -> str:
    """Write a kind of the norm's schema.json as the verifiers' tables write it."""
    match kind:
        case {"record": members}:
            return "{" + row(members) + "}"
        case {"rows": item}:
            return f"[{notation(item)}]"
        case {"nullable": inner}:
            return f"{notation(inner)}|null" if "choice" not in inner else f"null|{notation(inner)}"
        case {"choice": words}:
            return "|".join(words)
    return KINDS[json.dumps(kind)]


def row(members: list[Any]) -> str:
    own = {"id": "ID", "prevHash": "LINK"}  # what the checks between lines need of a member
    at_top = bool(members) and members[0][0] == "id" and members[1][0] == "recordedAtMs"
    return " ".join(f"{name}:{(own.get(name) if at_top else None) or notation(kind)}" for name, kind in members)


def tables() -> list[str]:
    """The table as it stands in the source of each verifier."""
    python = ast.parse((ROOT / "verifier" / "verify.py").read_text())
    values = {
        n.targets[0].id: n.value
        for n in python.body
        if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
    }
    node = re.search(
        r"^const SCHEMAS = `(.*?)`;$", (ROOT / "verifier" / "verify.mjs").read_text(), re.DOTALL | re.MULTILINE
    )
    assert node
    return [ast.literal_eval(values["SCHEMAS"]), node[1]]


def test_both_verifiers_carry_the_same_table() -> None:
    python, node = tables()

    assert python == node == verify.SCHEMAS


@pytest.mark.parametrize(
    ("layer", "form"), [(layer, form) for layer, rows in NORM["layers"].items() for form in rows["forms"]]
)
def test_the_table_is_the_norms(layer: str, form: str) -> None:
    title, *rows = next(
        block for block in re.split(r"\n(?=L)", verify.SCHEMAS.strip()) if block.startswith(f"{layer} ")
    ).split("\n")
    newest = title.split(" ")[-1]
    mine = re.sub("[<>]" if form == newest else "<[^>]*>", "", " ".join(line.strip() for line in rows))

    assert title.split(" ")[1] == NORM["layers"][layer]["chain"]
    assert mine == row(NORM["layers"][layer]["forms"][form]["record"])


def test_the_table_has_every_layer_and_form_of_the_norm_and_no_other() -> None:
    mine = {(layer, form.decode()) for layer, forms in verify.GRAMMARS.items() for form in forms}

    assert mine == {(layer, form) for layer, rows in NORM["layers"].items() for form in rows["forms"]}
