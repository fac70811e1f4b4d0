"""The CalDAV settings: where the calendar is and who asks. Read at the start, so it imports nothing heavy."""

import ipaddress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from service_runtime.errors import SetupError
from service_runtime.settings import Settings


@dataclass(frozen=True)
class Account:
    """A calendar on a CalDAV server; the password shows in no repr."""

    url: str
    user: str
    password: str = field(repr=False)


def account_of(settings: Settings) -> Account | None:
    """Return the CalDAV account of PROMETHEUS_CALDAV_URL, _USER and _PASSWORD; none when there is no address.

    Raises:
        SetupError: The address is none, holds a password itself, or would send it unprotected over the internet.
    """
    url = settings.get("CALDAV_URL")
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        known = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        raise _refused("is no http or https address") from None
    if not known:
        raise _refused("is no http or https address")
    if parts.username is not None or parts.password is not None:
        raise _refused("holds a user or password; put them into PROMETHEUS_CALDAV_USER and PROMETHEUS_CALDAV_PASSWORD")
    if parts.scheme == "http" and not _is_near(parts.hostname or ""):
        raise _refused("is http, which would send the password in the clear; use https")
    return Account(url, settings.get("CALDAV_USER") or "", settings.get("CALDAV_PASSWORD") or "")


def _refused(why: str) -> SetupError:
    return SetupError(f"PROMETHEUS_CALDAV_URL {why}.")


def _is_near(host: str) -> bool:
    """Whether a host is this machine, a private address, or a name without a dot, such as a container's."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith((".localhost", ".local", ".internal"))
    return address.is_private or address.is_loopback
