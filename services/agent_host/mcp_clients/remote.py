"""What a server said, or why it said nothing, as values. Pure; no SDK type gets past this vocabulary."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias

from agent_host.providers.protocol import JsonValue

FailureKind: TypeAlias = Literal[
    "unreachable",  # no connection can be made
    "not_sent",  # certainly not carried out: nobody was reached, or the server forgot us before it looked
    "unclear",  # the request went out, and what came back, if anything, is no answer to it
    "late",  # no answer in time; the server may still be at it
    "refused",  # the server said no
    "unreadable",  # an answer came that breaks the protocol, or is too long; most likely it was carried out
    "withheld",  # this host did not let it be sent
]
_KEY_ARGUMENT: Final = "idempotency_key"
_MESSAGE_CHARS: Final = 2000
RESULT_CHARS: Final = 200_000


@dataclass(frozen=True)
class RemoteTool:
    """A tool as its server lists it."""

    name: str
    description: str
    input_schema: Mapping[str, JsonValue]
    read_only: bool
    destructive: bool = False

    @property
    def hash(self) -> str:
        """SHA-256 of all that the model or this host goes by: another hash is another tool."""
        return hashlib.sha256(canonical(asdict(self))).hexdigest()

    def may_repeat(self, arguments: Mapping[str, JsonValue]) -> bool:
        """Tells whether a call may be sent twice: it changes nothing, or carries a key by which the server knows it."""
        return self.read_only or (self._takes_key() and bool(arguments.get(_KEY_ARGUMENT)))

    def _takes_key(self) -> bool:
        properties = self.input_schema.get("properties")
        return isinstance(properties, Mapping) and _KEY_ARGUMENT in properties


@dataclass(frozen=True)
class RemoteResult:
    """A tool's answer, good or bad."""

    content: str
    structured: JsonValue | None
    is_error: bool


@dataclass(frozen=True)
class Failure:
    """No answer; `words` says why, as far as it is known."""

    kind: FailureKind
    words: str


def canonical(value: object) -> bytes:
    """Returns JSON that is the same for the same value: members sorted, no spaces, only ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def read_result(content: Sequence[Mapping[str, Any]], structured: JsonValue | None, *, is_error: bool) -> RemoteResult:
    """Returns the answer as the model reads it: structured output as JSON text when there is one, else the text.

    `content` holds the content blocks of a `tools/call` result as JSON. What a model cannot read is named. An answer
    of more than 200,000 characters is cut, and says so; it has no structure then.
    """
    text = "\n".join(_block_text(block) for block in content)
    if structured is not None and not (is_error and text):
        text = json.dumps(structured, ensure_ascii=False, separators=(",", ":"))
    if is_error and not text.strip():
        text = "The tool reported an error and did not say which."
    if len(text) > RESULT_CHARS:
        cut = f"\n[The answer had {len(text):,} characters; this is its beginning. Ask for less at a time.]"
        text, structured = text[:RESULT_CHARS] + cut, None
    return RemoteResult(text, structured, is_error)


def one_line(text: str) -> str:
    """Returns a server's own words fit for a sentence: one line, at most 2,000 characters."""
    words = " ".join(text.split()) or "it gave no reason"
    return words if len(words) <= _MESSAGE_CHARS else f"{words[:_MESSAGE_CHARS]}…"


def unsendable(arguments: Mapping[str, JsonValue]) -> str | None:
    """Returns what is wrong with arguments that no UTF-8 JSON can carry, None when they can be sent."""
    try:
        json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        return "a text among its arguments holds half of a surrogate pair; send whole characters"
    except (TypeError, ValueError, RecursionError):
        return "its arguments are not plain JSON; send texts, finite numbers, true, false, null, lists and objects"
    return None


def _block_text(block: Mapping[str, Any]) -> str:
    match block.get("type"):
        case "text":
            return str(block.get("text") or "")
        case "resource":
            resource = block.get("resource") or {}
            return str(resource.get("text") or f"[resource {resource.get('uri')}, not text]")
        case "resource_link":
            return f"[resource {block.get('name')}: {block.get('uri')}]"
        case kind:
            return f"[{kind} {block.get('mimeType') or ''}, not text]".replace(" ,", ",")
