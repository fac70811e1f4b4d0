"""What a trace must never hold."""

from __future__ import annotations

import pytest

from agent_host.providers.protocol import JsonValue
from agent_host.tracing.redaction import HIDDEN, redact, redact_text


@pytest.mark.parametrize(
    "secret",
    [
        "Bearer abcdefgh12345678",
        "bearer   abc.def-ghi_jkl",
        "sk-ant-0123456789abcdef",
        "pk-0123456789abcdefghij",
        "rk-0123456789abcdefghij",
        "ghp_0123456789abcdefghijABCDEFGHIJ",
        "xoxb-123456789012-abcdef",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK",
    ],
)
def test_token_shapes_are_hidden_wherever_they_stand(secret: str) -> None:
    hidden = redact_text(f"before {secret} after")

    assert secret not in hidden
    assert hidden == f"before {HIDDEN} after"


@pytest.mark.parametrize("text", ["the bearer of news", "risk-free", "eyJust", "AKIA", "ask-me-anything", ""])
def test_ordinary_words_stay(text: str) -> None:
    assert redact_text(text) == text


@pytest.mark.parametrize(
    "name",
    ["Authorization", "api_key", "API-Key", "accessToken", "client_secret", "PASSWORD", "Set-Cookie", "privateKey"],
)
def test_members_named_for_a_secret_lose_their_value(name: str) -> None:
    assert redact({name: "x", "city": "Oslo"}) == {name: HIDDEN, "city": "Oslo"}


def test_redaction_reaches_every_depth_and_keeps_the_rest() -> None:
    value: JsonValue = {"a": [{"token": 7}, "Bearer abcdefgh12345678"], "n": 1.5, "t": True, "z": None}

    assert redact(value) == {"a": [{"token": HIDDEN}, HIDDEN], "n": 1.5, "t": True, "z": None}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("https://ana:hunter22@example.org/x", "https://***@example.org/x"),
        ("GET /a?access_token=abcd1234&page=2", "GET /a?access_token=***&page=2"),
        ("PASSWORD=hunter22 make", "PASSWORD=*** make"),
        ('{"url": "https://e.org?api_key=abcd1234"}', '{"url":"https://e.org?api_key=***"}'),
    ],
)
def test_what_stands_in_an_address_or_an_assignment_is_hidden_alone(text: str, left: str) -> None:
    assert redact(text) == left


@pytest.mark.parametrize(
    "text", ["key=value", "tokens=12345", "See https://e.org/a:b@c", '{"a":  1}', "the secret = out", "10:30@noon"]
)
def test_what_only_looks_a_little_like_a_secret_stays(text: str) -> None:
    assert redact(text) == text


def test_a_value_deeper_than_anybody_reads_is_hidden_not_an_error() -> None:
    deep: JsonValue = "sk-abcdefghijklmnop1234"
    for _ in range(2_000):
        deep = [deep]

    assert "sk-" not in str(redact(deep))
