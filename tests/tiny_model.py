"""A language model of some kilobytes in the GGUF format, for a real llama.cpp server: it talks nonsense, at once.

GGUF version 3: a header, the model's description as typed keys, then its tensors, each 32 bytes aligned. The model is a
llama of one layer whose vocabulary is the 256 bytes and the word that begins a tool call. Its weights are random, but
one dimension of every embedding is the same, through which the last matrix gives each token its likelihood: mostly
lower-case letters and spaces, a quotation mark now and then, and an end after some dozens of them. Another dimension
tells a line break, as the last of every prompt is, from the rest: a tool call may begin after it.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

_WIDTH, _INNER, _HEADS = 32, 64, 2
_ALIGNMENT: Final = 32
_TRAINED_ON: Final = 131_072  # tokens; a server that is given a longer window complains
_WORD, _TRUTH, _SINGLE, _TEXT, _LIST, _INTEGER = 4, 7, 6, 8, 9, 5  # the format's numbers of its types
_F32: Final = 0
_UNKNOWN, _CONTROL, _DEFINED, _BYTE = 2, 3, 4, 6  # kinds of tokens
_SPECIAL = (("<unk>", _UNKNOWN), ("<s>", _CONTROL), ("</s>", _CONTROL), ("<tool_call>", _DEFINED))
_END, _CALL = 2, 3
_LINE_BREAK: Final = len(_SPECIAL) + ord("\n")
_SHARED: Final = 4.0  # in the dimensions that mean something; the others are random, about 0.1
_A_LITTLE_MORE: Final = 0.05  # than a letter, or a server leaves it out as one of the least likely
_NEVER: Final = -4.0
# ChatML with tools, as many people's models have it; the server learns from it how a call is written.
_TEMPLATE: Final = """\
{%- if tools %}<|im_start|>system
<tools>{% for tool in tools %}
{{ tool | tojson }}{% endfor %}
</tools><|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content or '' }}{% for call in message.tool_calls or [] %}<tool_call>\
{"name": {{ call.function.name | tojson }}, "arguments": {{ call.function.arguments | tojson }}}</tool_call>\
{% endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def write_tiny_model(path: Path, *, calls_tools: bool = False, ends: bool = True) -> None:
    """Writes the model; every byte of a prompt is one token.

    One that calls tools begins each reply with a call; one that does not end is stopped by a limit or a grammar alone.
    """
    tensors, description = dict(_tensors(calls_tools, ends)), _description()
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(description))
    for key, value in description.items():
        head += _text(key) + value
    place = 0
    for name, (shape, values) in tensors.items():
        head += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, _F32, place)
        place += _padded(4 * len(values))
    data = b"".join(
        struct.pack(f"<{len(values)}f", *values).ljust(_padded(4 * len(values)), b"\0")
        for _, values in tensors.values()
    )
    path.write_bytes(head.ljust(_padded(len(head)), b"\0") + data)


def _description() -> dict[str, bytes]:
    names = [name for name, _ in _SPECIAL] + [f"<0x{byte:02X}>" for byte in range(256)]
    kinds = [kind for _, kind in _SPECIAL] + [_BYTE] * 256
    return {
        "general.architecture": _typed(_TEXT, _text("llama")),
        "general.name": _typed(_TEXT, _text("tiny")),
        "llama.context_length": _number(_TRAINED_ON),
        "llama.embedding_length": _number(_WIDTH),
        "llama.block_count": _number(1),
        "llama.feed_forward_length": _number(_INNER),
        "llama.attention.head_count": _number(_HEADS),
        "llama.attention.layer_norm_rms_epsilon": _typed(_SINGLE, struct.pack("<f", 1e-5)),
        "llama.rope.dimension_count": _number(_WIDTH // _HEADS),
        "tokenizer.chat_template": _typed(_TEXT, _text(_TEMPLATE)),
        "tokenizer.ggml.model": _typed(_TEXT, _text("llama")),
        "tokenizer.ggml.tokens": _listed(_TEXT, [_text(name) for name in names]),
        "tokenizer.ggml.scores": _listed(_SINGLE, [struct.pack("<f", 0.0)] * len(names)),
        "tokenizer.ggml.token_type": _listed(_INTEGER, [struct.pack("<i", kind) for kind in kinds]),
        "tokenizer.ggml.bos_token_id": _number(1),
        "tokenizer.ggml.eos_token_id": _number(_END),
        "tokenizer.ggml.unknown_token_id": _number(0),
        "tokenizer.ggml.add_space_prefix": _typed(_TRUTH, b"\0"),
    }


def _tensors(calls_tools: bool, ends: bool) -> Iterator[tuple[str, tuple[tuple[int, ...], Sequence[float]]]]:
    chance = random.Random(7)  # noqa: S311 - weights, no secret
    tokens = len(_SPECIAL) + 256

    def noise(columns: int, rows: int) -> list[float]:
        return [chance.gauss(0, 0.1) for _ in range(columns * rows)]

    def leading(*columns: Sequence[float]) -> list[float]:
        rows = noise(_WIDTH, tokens)
        for place, column in enumerate(columns):
            rows[place::_WIDTH] = column
        return rows

    begins = [_SHARED if token == _LINE_BREAK else 0.0 for token in range(tokens)]
    calls = [8.0 if calls_tools and token == _CALL else 0.0 for token in range(tokens)]
    likelihoods = [_likelihood(token) for token in range(tokens)]
    likelihoods[_END] = _A_LITTLE_MORE if ends else _NEVER
    one, square = (_WIDTH,), (_WIDTH, _WIDTH)
    yield "token_embd.weight", ((_WIDTH, tokens), leading([_SHARED] * tokens, begins))
    yield "output.weight", ((_WIDTH, tokens), leading(likelihoods, calls))
    yield "output_norm.weight", (one, [1.0] * _WIDTH)
    yield "blk.0.attn_norm.weight", (one, [1.0] * _WIDTH)
    yield "blk.0.ffn_norm.weight", (one, [1.0] * _WIDTH)
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        yield f"blk.0.{name}.weight", (square, noise(_WIDTH, _WIDTH))
    for name, columns, rows in (("gate", _WIDTH, _INNER), ("up", _WIDTH, _INNER), ("down", _INNER, _WIDTH)):
        yield f"blk.0.ffn_{name}.weight", ((columns, rows), noise(columns, rows))


def _likelihood(token: int) -> float:
    letter = chr(token - len(_SPECIAL)) if token >= len(_SPECIAL) else ""
    if letter == '"':
        return _A_LITTLE_MORE
    return 0.0 if letter == " " or "a" <= letter <= "z" else _NEVER


def _text(text: str) -> bytes:
    written = text.encode()
    return struct.pack("<Q", len(written)) + written


def _typed(kind: int, value: bytes) -> bytes:
    return struct.pack("<I", kind) + value


def _number(value: int) -> bytes:
    return _typed(_WORD, struct.pack("<I", value))


def _listed(kind: int, values: Sequence[bytes]) -> bytes:
    return _typed(_LIST, struct.pack("<IQ", kind, len(values)) + b"".join(values))


def _padded(size: int) -> int:
    return -size % _ALIGNMENT + size
