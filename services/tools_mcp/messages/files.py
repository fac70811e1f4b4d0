"""Drafts as files that other programs open: an e-mail as `.eml` (RFC 5322), everything else as `.md`. Pure: no disk.

`X-Unsent: 1` makes mail programs open the file as a message to be sent, not as one that came in. What a mail header may
bend (a name that is no address, say) stands a second time in `X-Prometheus-Draft`, as JSON, and is read from there.
"""

import json
import re
import unicodedata
from datetime import datetime
from email import message_from_bytes
from email.headerregistry import Address, Group
from email.message import EmailMessage
from email.policy import SMTP
from typing import Any, cast, get_args

from tools_mcp.messages.model import Channel, Draft

SUFFIXES = {"email": ".eml", "sms": ".md", "chat": ".md"}

_ASCII = SMTP.clone(cte_type="7bit")
_ADDRESS = re.compile(
    r"(?:(?P<name>[^<>\"]*?)\s*<)?(?P<user>[\w!#$%&'*+/=?^`{|}~-][\w.!#$%&'*+/=?^`{|}~-]{0,63})@(?P<host>[\w.-]+)>?",
    re.ASCII,
)
_NAME_BYTES = 60
_KEPT = re.compile(r"[^\w.-]+")
_MEMBERS = "X-Prometheus-Draft"
_HEAD = re.compile(r"\A---\n(?P<head>.*?)\n---\n\n(?P<body>.*)\n\Z", re.DOTALL)


def file_stem(draft: Draft) -> str:
    """Return a file name without its suffix: time and first recipient, harmless on every system whatever they hold."""
    name = unicodedata.normalize("NFC", draft.to[0])
    plain = _KEPT.sub("-", name).strip("-. ").encode()[:_NAME_BYTES].decode(errors="ignore")
    return f"{draft.created_at:%Y-%m-%d-%H%M%S}-{plain or 'draft'}"


def encode(draft: Draft) -> bytes:
    """Return the bytes of a draft's file."""
    return _eml(draft) if draft.channel == "email" else _markdown(draft)


def decode(content: bytes, suffix: str) -> Draft | None:
    """Return the draft in a file, None when it is none of ours."""
    try:
        members, body = _from_eml(content) if suffix == ".eml" else _from_markdown(content.decode())
        return Draft(
            channel=_channel(members["channel"]),
            to=tuple(str(one) for one in members["to"]),
            subject=str(members["subject"]),
            body=body,
            created_at=datetime.fromisoformat(members["created"]),
            request=str(members["request"]),
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _members(draft: Draft) -> dict[str, Any]:
    return {
        "channel": draft.channel,
        "to": list(draft.to),
        "subject": draft.subject,
        "created": draft.created_at.isoformat(),
        "request": draft.request,
    }


def _channel(told: object) -> Channel:
    if told not in get_args(Channel):
        raise ValueError(told)
    return cast("Channel", told)


def _eml(draft: Draft) -> bytes:
    message = EmailMessage(_ASCII)
    message["To"] = [_recipient(one) for one in draft.to]
    message["Subject"] = draft.subject
    message["Date"] = draft.created_at
    message["X-Unsent"] = "1"
    message[_MEMBERS] = json.dumps(_members(draft))
    message.set_content(draft.body)
    return message.as_bytes()


def _recipient(text: str) -> Address | Group:
    """Return an address, or for a mere name an empty group of that name: a header has no other place for one."""
    match = _ADDRESS.fullmatch(text)
    try:
        return Address(match["name"] or "", match["user"], match["host"]) if match else Group(text)
    except (ValueError, IndexError):
        return Group(text)


def _from_eml(content: bytes) -> tuple[dict[str, Any], str]:
    message = message_from_bytes(content, policy=SMTP)
    body = message.get_body(("plain",))
    if body is None:
        raise ValueError(content[:20])
    text: str = body.get_content()
    return json.loads(str(message[_MEMBERS])), text.replace("\r\n", "\n").removesuffix("\n")


def _markdown(draft: Draft) -> bytes:
    lines = (f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in _members(draft).items())
    head = "\n".join(lines)  # JSON is YAML, so that any editor of notes reads it
    return f"---\n{head}\n---\n\n{draft.body}\n".encode()


def _from_markdown(text: str) -> tuple[dict[str, Any], str]:
    match = _HEAD.match(text)
    if match is None:
        raise ValueError(text[:20])
    pairs = (line.split(": ", 1) for line in match["head"].split("\n"))
    return {name: json.loads(value) for name, value in pairs}, match["body"]
