"""The piece of a body that shows why a memory was found, with the matching words marked `<<…>>`. Pure."""

from __future__ import annotations

from memory_mcp.terms import QueryTerms, Token, tokens

SNIPPET_CHARACTERS = 280
"""Length of a piece, marks not counted."""
_LEAD = 40
_SCANNED_CHARACTERS = 20_000
_ELLIPSIS = "…"


def snippet(body: str, query: QueryTerms) -> str:
    """Returns the piece of the body with the most different matching words, on one line; its start when none match."""
    wanted = frozenset(query.all)
    matches = [(token, hit) for token in tokens(body[:_SCANNED_CHARACTERS]) if (hit := wanted & _terms(token))]
    start = _start(body, matches)
    end = min(len(body), start + SNIPPET_CHARACTERS)
    pieces = [_ELLIPSIS if start else ""]
    at = start
    for token, hit in matches:
        if token.start < at or token.end > end:
            continue
        pieces.append(body[at : token.start])
        pieces.append(_marked(body[token.start : token.end], token, hit))
        at = token.end
    pieces += [body[at:end], _ELLIPSIS if end < len(body) else ""]
    return " ".join("".join(pieces).split())


def clip(text: str, characters: int) -> str:
    """Returns a text on one line, cut to a length with an ellipsis when it is longer."""
    line = " ".join(text[: characters * 2 + 2].split())
    return line if len(line) <= characters else line[: characters - 1] + _ELLIPSIS


def _terms(token: Token) -> frozenset[str]:
    return frozenset(token.parts + token.compounds)


def _start(body: str, matches: list[tuple[Token, frozenset[str]]]) -> int:
    """Returns where to begin: before the match whose window holds the most different words, at a word's beginning."""
    if len(body) <= SNIPPET_CHARACTERS or not matches:
        return 0
    best, best_count = 0, 0
    for first, (token, _) in enumerate(matches):
        limit = token.start + SNIPPET_CHARACTERS - _LEAD
        inside: set[str] = set()
        for other, hit in matches[first : first + 40]:
            if other.end > limit:
                break
            inside |= hit
        if len(inside) > best_count:
            best, best_count = token.start, len(inside)
    start = max(0, best - _LEAD)
    space = body.find(" ", start, best)
    return space + 1 if start and space >= 0 else start


def _marked(written: str, token: Token, hit: frozenset[str]) -> str:
    """Marks a word; of a run without spaces only the characters that match."""
    if not token.is_run:
        return f"<<{written}>>"
    inside = [False] * len(written)
    for at in range(len(written)):
        for term in hit:
            if written.startswith(term, at):
                inside[at : at + len(term)] = [True] * len(term)
    pieces = [
        ("<<" if here and not before else ">>" if before and not here else "") + character
        for character, here, before in zip(written, inside, [False, *inside], strict=False)
    ]
    return "".join(pieces) + (">>" if inside[-1] else "")
