"""What has the shape of a secret goes, and no text takes long to look through."""

from __future__ import annotations

import pytest

from service_telemetry.redaction import redact_text


def test_an_assigned_secret_goes_under_any_prefix_of_its_name() -> None:
    told = redact_text("?access_token=abcd1234&client_secret=efgh5678&MY_API_KEY=ijkl9012&page=2")

    assert told == "?access_token=***&client_secret=***&MY_API_KEY=***&page=2"


@pytest.mark.parametrize("bad", ["_", "1_", "gh_", "api_key", "eyJ-", "eyJaaaaaaaa.", "token_", "://a:", "bearer "])
def test_a_long_text_of_half_a_secret_is_looked_through_in_one_go(bad: str) -> None:
    text = bad * (200_000 // len(bad))

    redact_text(text)  # what grows with the square of its length would hit the suite's time limit
