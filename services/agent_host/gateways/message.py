"""What counts as a message. Pure."""

from __future__ import annotations

from agent_host.errors import UsageError

MESSAGE_LIMIT = 100_000
_BYTES_PER_CHARACTER = 4  # the most that UTF-8 takes
_ALLOWED_CONTROLS = frozenset("\t\n")


def put_together(prompt: str | None, message: str | None, piped: bytes | None) -> str | bytes:
    """Returns the message of a command line: what was given as such, and what was piped in under it.

    Raises:
        UsageError: there is none, or two.
    """
    if prompt is not None and message is not None:
        raise UsageError("There are two messages; give one, or - to put standard input under the one of -p.")
    words = message if prompt is None else prompt
    if piped is None:
        if words is None:
            raise UsageError("There is no message; give one, or pipe one in.")
        return words
    return piped if words is None else words.encode(errors="surrogateescape") + b"\n\n" + piped


def accept_message(raw: str | bytes) -> str:
    """Returns a person's message, its outer white space removed.

    Raises:
        UsageError: the message is empty, over `MESSAGE_LIMIT` characters, not UTF-8, or holds control characters.
    """
    text = _decoded(raw).replace("\r\n", "\n").strip()
    if not text:
        raise UsageError("The message is empty; type what you want to say.")
    if len(text) > MESSAGE_LIMIT:
        raise _too_long()
    if any(character < " " and character not in _ALLOWED_CONTROLS for character in text) or "\x7f" in text:
        raise UsageError("The message holds control characters, so it looks like binary data; send plain text.")
    return text


def _too_long() -> UsageError:
    return UsageError(
        f"The message has more than {MESSAGE_LIMIT:,} characters; send a shorter one, or send it in parts."
    )


def _decoded(raw: str | bytes) -> str:
    if len(raw) > MESSAGE_LIMIT * _BYTES_PER_CHARACTER:
        raise _too_long()
    try:
        text = raw.decode("utf-8") if isinstance(raw, bytes) else raw
        text.encode("utf-8")
    except UnicodeError as error:
        raise UsageError("The message is not UTF-8 text, so it was not sent; send plain text.") from error
    return text
