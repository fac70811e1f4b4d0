"""Drafts as files that other programs open: an e-mail as `.eml` (RFC 5322), everything else as `.md`. Pure: no disk.

`X-Unsent: 1` makes mail programs open the file as a message to be sent, not as one that came in. What a mail header may
bend (a name that is no address, say) stands a second time in `X-Prometheus-Draft`, as JSON in base64, and is read from
there: nothing that somebody writes into a subject can be taken for a header, an encoded word or an end of line.
"""

import base64
import json
import re
import textwrap
import unicodedata
from datetime import datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Any, cast, get_args

from tools_mcp.messages.addresses import address_header, header
from tools_mcp.messages.model import Channel, Draft

SUFFIXES = {"email": ".eml", "sms": ".md", "chat": ".md"}

_ASCII = SMTP.clone(cte_type="7bit")
_NAME_BYTES = 60
_KEPT = re.compile(r"[^\w.-]+")
_MEMBERS = "X-Prometheus-Draft"
_HEAD = re.compile(r"\A---\n(?P<head>.*?)\n---\n(?P<body>.*)\Z", re.DOTALL)


def file_stem(draft: Draft) -> str:
    """Return a file name without its suffix: time and first recipient, harmless on every system whatever they hold."""
    name = unicodedata.normalize("NFC", draft.to[0])
    plain = _KEPT.sub("-", name).strip("-. ").encode()[:_NAME_BYTES].decode(errors="ignore")
    return f"{draft.created_at:%Y-%m-%d-%H%M%S}-{plain or 'draft'}"


def encode(draft: Draft) -> bytes:
    """Return the bytes of a draft's file."""
    return _eml(draft) if draft.channel == "email" else _markdown(draft)


def is_kept(draft: Draft, content: bytes) -> bool:
    """Say whether a draft can be read back from its file as it is, so that none is lost after it was answered for."""
    read = decode(content, SUFFIXES[draft.channel])
    return read is not None and (_members(read), read.body) == (_members(draft), draft.body)


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
    members = base64.b64encode(json.dumps(_members(draft)).encode()).decode()
    folded = "\r\n ".join(textwrap.wrap(members, 72))
    body = EmailMessage(_ASCII)
    body.set_content(draft.body)
    head = (
        address_header("To", draft.to)
        + header("Subject", draft.subject)
        + header("Date", format_datetime(draft.created_at))
        + header("X-Unsent", "1")
        + f"{_MEMBERS}:\r\n {folded}\r\n"
    )
    return head.encode() + body.as_bytes()


def _from_eml(content: bytes) -> tuple[dict[str, Any], str]:
    message = message_from_bytes(content, policy=SMTP)
    body = message.get_body(("plain",))
    if body is None:
        raise ValueError(content[:20])
    text: str = body.get_content()
    return _facts(str(message[_MEMBERS])), text.replace("\r\n", "\n").removesuffix("\n")


def _facts(told: str) -> dict[str, Any]:
    """Return what a draft's own header says; earlier drafts have the JSON itself in there."""
    if told.lstrip().startswith("{"):
        return dict(json.loads(told))
    return dict(json.loads(base64.b64decode("".join(told.split()), validate=True)))


def _markdown(draft: Draft) -> bytes:
    lines = (f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in _members(draft).items())
    head = "\n".join(lines)  # JSON is YAML, so that any editor of notes reads it
    return f"---\n{head}\n---\n\n{draft.body}\n".encode()


def _from_markdown(text: str) -> tuple[dict[str, Any], str]:
    match = _HEAD.match(text.removeprefix("\ufeff").replace("\r\n", "\n"))  # as an editor may have left it
    if match is None:
        raise ValueError(text[:20])
    pairs = (line.split(": ", 1) for line in match["head"].split("\n"))
    return {name: json.loads(value) for name, value in pairs}, match["body"].strip("\n")
