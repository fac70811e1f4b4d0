from pathlib import Path

import pytest

from service_runtime.errors import SetupError
from tests.tools_mcp.running import settings
from tools_mcp.calendar.account import Account, account_of

ADDRESS = "PROMETHEUS_CALDAV_URL"


def test_without_an_address_there_is_no_account(tmp_path: Path) -> None:
    assert account_of(settings(tmp_path, PROMETHEUS_CALDAV_USER="ann")) is None


@pytest.mark.parametrize(
    "url",
    [
        "https://dav.example.org/ann/",
        "http://127.0.0.1:5232/ann/",
        "http://[::1]:5232/",
        "http://192.168.1.7/cal/",
        "http://radicale:5232/",
        "http://localhost/",
    ],
)
def test_an_account_is_what_the_settings_say(tmp_path: Path, url: str) -> None:
    told = settings(tmp_path, **{ADDRESS: url}, PROMETHEUS_CALDAV_USER="ann", PROMETHEUS_CALDAV_PASSWORD="secret")

    assert account_of(told) == Account(url, "ann", "secret")
    assert "secret" not in repr(account_of(told))


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("dav.example.org", "no http or https address"),
        ("file:///etc/passwd", "no http or https address"),
        ("https://", "no http or https address"),
        ("https://example.org:port/", "no http or https address"),
        ("https://ann:secret@example.org/", "holds a user or password"),
        ("http://dav.example.org/", "in the clear; use https"),
        ("http://8.8.8.8/", "in the clear; use https"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_being_repeated(tmp_path: Path, url: str, said: str) -> None:
    with pytest.raises(SetupError, match=said) as raised:
        account_of(settings(tmp_path, **{ADDRESS: url}))
    assert "secret" not in str(raised.value)
