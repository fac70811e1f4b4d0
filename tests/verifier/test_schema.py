"""RF-6, RF-8, RF-9: exactly the members of the table, each of its kind; the check is `schema`."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tests.verifier import ledger
from tests.verifier.both import Verifiers
from tests.verifier.conftest import Judge

Path = tuple[str | int, ...]
MALFORMED = "MALFORMED schema"
MAKERS: dict[str, tuple[str, str, Callable[..., ledger.Body]]] = {
    "L12 v1": (ledger.ORIGIN, "v1", ledger.decision_v1),
    "L12 v2": (ledger.ORIGIN, "v2", ledger.decision),
    "L10 v2": (ledger.TURNS, "v2", ledger.turn),
}
STRANGE: list[Any] = [None, True, False, 0, 1, -1, "", "x", "0", "true", "null", [], {}, [1], {"a": 1}, [[]], ["x"]]


def sound(name: str) -> ledger.Body:
    """A body with every optional member."""
    body = MAKERS[name][2](3, tenantId="acme", prevHash=ledger.sha("before"))
    return {**body, "turnId": "t_" + ledger.ULID} if name == "L12 v2" else body


def alone(verifiers: Verifiers, name: str, bodies: Sequence[Any]) -> list[str]:
    """What the two verifiers say of lines with these bodies, each judged alone."""
    origin, form, _ = MAKERS[name]
    chain = ledger.Chain(origin, form=form)
    for body in bodies:
        chain.add_bytes(body if isinstance(body, bytes) else ledger.canonical(body))
    return verifiers.alone(chain.layer, chain.lines)


def members(value: Any, path: Path = ()) -> Iterator[Path]:
    """The paths of all members, those of objects inside arrays included."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in pairs:
        yield (*path, name)
        yield from members(inner, (*path, name))


def at(body: Any, path: Path) -> Any:
    for step in path:
        body = body[step]
    return body


def put(body: ledger.Body, path: Path, value: Any) -> ledger.Body:
    changed = copy.deepcopy(body)
    at(changed, path[:-1])[path[-1]] = value
    return changed


def rebuilt(body: ledger.Body, path: Path, pairs: list[tuple[str, Any]]) -> bytes:
    """The body's bytes with other members in one of its objects; repeated members are possible."""
    inner = b",".join(ledger.canonical(name) + b":" + ledger.canonical(value) for name, value in pairs)
    marker = "the object goes here"
    if not path:
        return b"{" + inner + b"}"
    return ledger.canonical(put(body, path, marker)).replace(ledger.canonical(marker), b"{" + inner + b"}")


MEMBERS = [(name, path) for name in MAKERS for path in members(sound(name))]
OBJECTS = [
    (name, path) for name in MAKERS for path in [(), *members(sound(name))] if isinstance(at(sound(name), path), dict)
]


@pytest.mark.parametrize("name", MAKERS)
def test_a_body_with_every_optional_member_is_sound(name: str, verifiers: Verifiers) -> None:
    assert alone(verifiers, name, [sound(name)]) == ["sound"]


def is_right(name: str, path: Path, value: Any) -> bool:
    """Whether one of the strange values happens to be right at a place, by the kinds of section 2."""
    model, last = at(sound(name), path), path[-1]
    if path in {("reviewerVerdict",), ("memory", "reportId"), ("tools", 0, "costMicroUsd")} and value is None:
        return True
    if last == "reportId" or (isinstance(model, str) and last in FREE.get(str(path[0]), FREE[""])):
        return isinstance(value, str)
    if isinstance(model, bool):
        return isinstance(value, bool)
    if isinstance(model, int) or path == ("tools", 0, "costMicroUsd"):
        return (
            type(value) is int
            and value >= (1 if path in {("id",), ("decisions", "n")} else 0)
            and path != ("recordedAtMs",)
        )
    return (isinstance(model, list) and value == []) or (path in {("tenantId",), ("specId",)} and value in NAMES)


NAMES = ["x", "0", "true", "null"]
FREE = {
    "": {"productId"},
    "modelIdentity": {"model", "version"},
    "model": {"id", "kind"},
    "tools": {"tool", "provider"},
}


@pytest.mark.parametrize(("name", "path"), MEMBERS, ids=str)
def test_a_member_is_of_its_kind_and_nothing_else(name: str, path: Path, verifiers: Verifiers) -> None:
    judged = alone(verifiers, name, [put(sound(name), path, value) for value in STRANGE])

    assert judged == ["sound" if is_right(name, path, value) else MALFORMED for value in STRANGE]


@pytest.mark.parametrize(("name", "path"), OBJECTS, ids=str)
def test_members_stand_once_each_in_the_order_of_the_table(name: str, path: Path, verifiers: Verifiers) -> None:
    body = sound(name)
    pairs = list(at(body, path).items())
    changed = [[*pairs, ("extra", None)], [*pairs, pairs[0]], [*pairs, ("hash", "x")], [("", 1), *pairs]]
    for i in range(len(pairs)):
        changed += [[*pairs[: i + 1], *pairs[i:]], [*pairs[:i], ("extra", 1), *pairs[i:]]]
        changed += [[*pairs[: i - 1], pairs[i], pairs[i - 1], *pairs[i + 1 :]]] if i else []
        changed += [pairs[:i] + pairs[i + 1 :]] if path or pairs[i][0] not in OPTIONAL[name] else []

    assert set(alone(verifiers, name, [rebuilt(body, path, c) for c in changed])) == {MALFORMED}


OPTIONAL = {"L12 v1": ("tenantId",), "L12 v2": ("tenantId", "turnId"), "L10 v2": ("tenantId",)}


@pytest.mark.parametrize(("name", "member"), [(n, m) for n in MAKERS for m in OPTIONAL[n]])
def test_an_optional_member_is_left_out_and_never_null(name: str, member: str, verifiers: Verifiers) -> None:
    body = sound(name)
    without = {key: value for key, value in body.items() if key != member}

    assert alone(verifiers, name, [without, {**body, member: None}, {**body, member: ""}]) == [
        "sound",
        MALFORMED,
        MALFORMED,
    ]


OTHER_JSON = [b"[1,2,3]", b"null", b"true", b"7", b'"text"', b"{}", b"[]", b'{"id":3}', b'[{"id":3}]', b'{"":{}}']
OTHER_JSON += [b"[" + b"1," * 30_000 + b"1]", b"[" * 32 + b"]" * 32]


@pytest.mark.parametrize("whole", OTHER_JSON, ids=lambda whole: str(whole[:20]))
def test_a_line_that_is_other_json_has_no_members(whole: bytes, judge: Judge) -> None:
    chain = ledger.Chain().fill(5)
    chain.lines.insert(2, whole)

    assert judge(chain).found == ("MALFORMED", 3, "schema")


CHOICES: dict[tuple[str, Path], str] = {
    ("L12 v1", ("category",)): "classifier extractor drafter router summariser",
    ("L12 v1", ("modelIdentity", "provider")): "anthropic openai azure-openai local-llama mock",
    ("L12 v1", ("reviewerVerdict",)): "approved rejected amended",
    ("L12 v2", ("category",)): "classifier extractor drafter router summariser",
    (
        "L12 v2",
        ("modelIdentity", "provider"),
    ): "anthropic openai azure-openai local-llama mock openai-compatible offline",
    ("L12 v2", ("reviewerVerdict",)): "approved rejected amended",
    (
        "L12 v2",
        ("exitState",),
    ): "ok ok_amended fallback_schema fallback_timeout fallback_provider rejected_by_reviewer failed_closed",
    ("L12 v2", ("commitment",)): "hmac-sha256 sha256",
    ("L10 v2", ("gateway",)): "cli dashboard telegram discord whatsapp voice api",
    ("L10 v2", ("outcome",)): "replied limit_reached cancelled failed interrupted",
    ("L10 v2", ("tools", 0, "status")): "ok error",
    ("L10 v2", ("commitment",)): "hmac-sha256 sha256",
}
OTHER_WORDS = {
    "offline",
    "openai-compatible",
    "openai_compatible",
    "skynet",
    "hmac",
    "sha512",
    "pending",
    "interrupted",
    "ok",
    "OK",
    ".*",
    "",
}


@pytest.mark.parametrize(("name", "path"), CHOICES, ids=str)
def test_a_choice_is_one_of_its_words_exactly(name: str, path: Path, verifiers: Verifiers) -> None:
    words = CHOICES[name, path].split()
    wrong = {
        change(word)
        for word in words
        for change in (str.upper, str.title, "{} ".format, " {}".format, "{}\n".format, lambda w: w[:-1])
    }
    wrong = (wrong | OTHER_WORDS | {"|".join(words)}) - set(words)

    judged = alone(verifiers, name, [put(sound(name), path, word) for word in [*words, *wrong]])

    assert judged == ["sound"] * len(words) + [MALFORMED] * len(wrong)


ULIDS = [
    "{}" + ledger.ULID[:-1],
    "{}" + ledger.ULID + "0",
    "{}" + ledger.ULID.lower(),
    "x_" + ledger.ULID,
    ledger.ULID,
    "{}",
]
ULIDS += ["{}" + ledger.ULID[:-1] + letter for letter in "ILOUaz-_ é"]
HASHES = ["A" * 64, "a" * 63, "a" * 65, "g" * 64, "", "0x" + "a" * 62, "a" * 63 + "é", "a" * 63 + " ", "a" * 64 + "\n"]
KEBABS = [
    "",
    "-",
    "a-",
    "-a",
    "a--b",
    "A",
    "a_b",
    "a.b",
    "a b",
    "é",
    "Turn-router",
    "a" * 129,
    "a-" * 64,
    "-".join("a" * 65),
]
INSTANTS = [
    "2025-12-01T16:38:48.387Z",
    "2025-12-01T16:38:48.386+00:00",
    "2025-12-01T16:38:48.386z",
    "2025-12-01 16:38:48.386Z",
]
INSTANTS += [
    "2025-12-01T16:38:48Z",
    "2025-12-01T16:38:48.3860Z",
    "2025-12-01T16:38:48.386",
    "2025-12-1T16:38:48.386Z",
    "",
    "now",
]
TENANTS = ["", "-", "A", "a b", "a/b", "a_b", "é", "a" * 193]
WRONG_TEXTS: list[tuple[str, Path, list[str]]] = [
    ("L12 v2", ("callId",), ULIDS),
    ("L12 v2", ("turnId",), ULIDS),
    ("L10 v2", ("turnId",), ULIDS),
    ("L10 v2", ("sessionId",), ULIDS),
    *((name, path, HASHES) for name, path in MEMBERS if str(path[-1]).endswith("Hash")),
    ("L12 v1", ("specId",), KEBABS),
    ("L12 v2", ("specId",), KEBABS),
    *((name, ("recordedAtIso",), INSTANTS) for name in MAKERS),
    *((name, ("tenantId",), TENANTS) for name in MAKERS),
]


@pytest.mark.parametrize(("name", "path", "wrong"), WRONG_TEXTS, ids=str)
def test_a_text_of_a_kind_keeps_its_form(name: str, path: Path, wrong: list[str], verifiers: Verifiers) -> None:
    prefix = re.match("[cst]_", str(at(sound(name), path)))
    bodies = [put(sound(name), path, text.format(prefix[0] if prefix else "")) for text in wrong]

    assert alone(verifiers, name, bodies) == [MALFORMED] * len(wrong)


def test_texts_up_to_their_limits_are_sound(verifiers: Verifiers) -> None:
    body = sound("L12 v2")
    specs = ["a", "1", "turn-router", "1-2-3", "a" * 128, "a-" * 63 + "ab"]
    tenants = ["a", "0", "a.b-c", "--", "..", "a" * 192]

    assert set(alone(verifiers, "L12 v2", [{**body, "specId": spec} for spec in specs])) == {"sound"}
    assert set(alone(verifiers, "L12 v2", [{**body, "tenantId": tenant} for tenant in tenants])) == {"sound"}


COUNTS = [
    (name, path)
    for name, path in MEMBERS
    if type(at(sound(name), path)) is int and path[0] not in {"id", "recordedAtMs"}
]


@pytest.mark.parametrize(("name", "path"), [*COUNTS, ("L10 v2", ("tools", 0, "costMicroUsd"))], ids=str)
def test_a_count_goes_from_0_to_two_to_the_53_minus_1(name: str, path: Path, verifiers: Verifiers) -> None:
    right = [1, 9, 10, 999_999_999_999_999, 10**15, 8_999_999_999_999_999, 9_007_199_254_740_990, 2**53 - 1]
    right += [] if path == ("decisions", "n") else [0]

    assert set(alone(verifiers, name, [put(sound(name), path, count) for count in right])) == {"sound"}
    assert set(alone(verifiers, name, [put(sound(name), path, count) for count in (-1, -(2**53 - 1))])) == {MALFORMED}
    assert alone(verifiers, name, [put(sound(name), path, 2**53)]) == ["MALFORMED encoding"]


@pytest.mark.parametrize("number", range(9_007_199_254_740_000, 2**53 + 2_000, 97))
def test_the_bound_of_integers_is_exact(number: int, verifiers: Verifiers) -> None:
    judged = alone(verifiers, "L12 v1", [put(sound("L12 v1"), ("latencyMs",), number)])

    assert judged == ["sound" if number < 2**53 else "MALFORMED encoding"]


@pytest.mark.parametrize(
    ("n", "first", "last", "right"),
    [(0, 0, 0, True), (0, 1, 0, False), (0, 0, 1, False), (1, 0, 0, True), (2, 9, 3, True)],
)
def test_a_turn_without_decisions_names_none(n: int, first: int, last: int, right: bool, verifiers: Verifiers) -> None:
    body = {**sound("L10 v2"), "decisions": {"n": n, "firstId": first, "lastId": last}}

    assert alone(verifiers, "L10 v2", [body]) == ["sound" if right else MALFORMED]


@pytest.mark.parametrize("rows", [0, 1, 2, 50])
def test_a_turn_may_have_any_number_of_tools_and_calls(rows: int, verifiers: Verifiers) -> None:
    body = copy.deepcopy(sound("L10 v2"))
    body["tools"], body["model"]["calls"] = body["tools"] * rows, body["model"]["calls"] * rows

    assert alone(verifiers, "L10 v2", [body]) == ["sound"]


TIMES = [
    (0, "1970-01-01T00:00:00.000Z"),
    (951_782_400_000, "2000-02-29T00:00:00.000Z"),
    (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
]
NO_TIMES = [(253_402_300_800_000, "9999-12-31T24:00:00.000Z"), (253_402_300_800_000, "10000-01-01T00:00:00.000Z")]
NO_TIMES += [
    (253_402_300_800_000, "+010000-01-01T00:00:00.000Z"),
    (2**53 - 1, "+287396-10-12T08:59:00.991Z"),
    (0, "1970-01-01T00:00:00.001Z"),
]
NO_TIMES += [
    (1, "1970-01-01T00:00:00.000Z"),
    (86_400_000, "1970-01-01T24:00:00.000Z"),
    (-1, "1969-12-31T23:59:59.999Z"),
]
NO_TIMES += [
    (5_097_600_000, "1970-02-29T00:00:00.000Z"),
    (60_000, "1970-01-01T00:00:60.000Z"),
    (0, "0000-01-01T00:00:00.000Z"),
]


def test_a_time_has_one_spelling_from_1970_to_9999(verifiers: Verifiers) -> None:
    bodies = [{**sound("L12 v1"), "recordedAtMs": ms, "recordedAtIso": iso} for ms, iso in [*TIMES, *NO_TIMES]]

    assert alone(verifiers, "L12 v1", bodies) == ["sound"] * len(TIMES) + [MALFORMED] * len(NO_TIMES)
