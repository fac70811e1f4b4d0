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
