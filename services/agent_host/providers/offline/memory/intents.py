"""Which words ask for the memory: remember, recall, correct, forget, list."""

from __future__ import annotations

from agent_host.providers.offline.memory.requests import Correct, Forget, ListMemories, Recall, Remember
from agent_host.providers.offline.patterns import one_of, pattern
from agent_host.providers.offline.routine import Request
from agent_host.providers.offline.times.pieces import find_time_words
from agent_host.providers.offline.wording import VERBS, mirrored, tidy

_LONGEST_AFTER = 500
_TOLD = "(?:said|told you|know|remember|say|noted)"

_REMEMBER = pattern(
    one_of(
        "remember", "memori[sz]e", "keep in mind", "bear in mind", "don.?t forget", "do not forget", "note",
        "for future reference", "(?:save|store) (?:this )?(?:to|in) (?:your |my )?memory",
        "(?:save|store)(?= (?:this|that|the following)\\b)",
    ),
    r"(?: (?:this|the following|for me|also))*\s*(?:[:,]\s*(?:that )?|that\b\s*|$)(?P<body>.*)",
)  # fmt: skip
_REMEMBER_PLAIN = pattern(
    "(?:remember|do(?: not|n.?t) forget) ",
    r"(?:to (?P<task>.+)|(?!(?:when|what|who|where|how|why|if|me)\b|(?:this|it|something)[.!]?$)(?P<body>.+))",
)
_REMEMBER_AFTER = pattern(r"(?P<body>\S.*?)[,.;]\s*(?:please )?remember (?:that|this|it)(?: please)?[.!]?")
_REMEMBER_WHAT = pattern("remember (?:this|it|something)[.!]?")
_LIST = pattern(
    one_of(
        "what (?:do|can) you (?:remember|know)(?: about me)?", "what have i (?:told|said to) you(?: so far)?",
        "what(?:.?s| is) in (?:your|my) memory", "who am i", "(?:list|show) memories",
        "(?:list|show)(?: me)?(?: all)?(?: of)? (?:my|your|the) memor(?:y|ies)",
        "(?:list|show(?: me)?|tell me) (?:everything|all|what) you (?:remember|know)(?: about me)?",
    )
)  # fmt: skip
_RECALL = pattern(
    one_of(
        one_of(
            "what (?:do|did) (?:you|we|i) (?:know|remember|say|tell you)", "what have i (?:told you|said)",
            "do you (?:know|remember) (?:anything|something)", "tell me (?:what you (?:know|remember)|everything)",
            "what(?:.?s| is) in (?:your|my) memory", "search (?:your|my|the) memor(?:y|ies)",
        ) + " (?:about|of|on|regarding|for)",
        "do you (?:remember|recall)", "remind me (?:what|who|where|when|about)", "recall", "tell me about",
        "what about",
    ),
    " (?P<about>.+)",
)  # fmt: skip
_FORGET = pattern(
    r"forget\b(?: about)?(?: (?:everything|all|anything|what))?",
    rf"(?: (?:that )?(?:i|you|we)(?: (?:ever|just|have)|.?ve)? {_TOLD})?",
    "(?: (?:that|about|on|regarding))*(?P<about>.*)",
)
_CLAIM = pattern(rf"\b(?:forget|memory|memories|facts?) that (?!(?:i|you|we)\b.{{0,12}}\b{_TOLD})")
_DELETE_MEMORY = pattern(
    "(?:delete|remove|erase|drop) ",
    one_of(
        "(?:the |my |your |all |every )*(?:memor(?:y|ies)|facts?) (?:about|of|on|that|with|regarding) (?P<about>.+)",
        "(?P<object>.+?) from (?:your |my |the )?memory",
        "(?:everything|anything|all)(?: you know)? (?:about|on) (?P<rest>.+)",
    ),
)
_CORRECT = pattern(
    r"(?:(?:no|sorry|wait|oops)[,!.:]?\s+)?",
    one_of(
        r"(?:actually|i meant|i was wrong|that.?s wrong|that is wrong|that.?s not right)\b",
        r"(?:correction|to correct that|correct that|update|change that)(?=\s*:| to )",
    ),
    r"\s*(?:[,:;.!\u2013\u2014-]+\s*)?(?:remember )?(?:that |to )?(?P<body>\S.*)",
)
_NO_BUT = pattern(r"(?:no|wrong|not quite)[,.!:]\s+(?P<body>(?:\S+\s+){3,}\S+)")
_NOT_A_CLAIM = pattern(
    r"(?:i|you|we|can|could|what|who|when|where|why|how|is|do|does|nothing|never mind|thanks|thank you|",
    "it|that|this|these|those|they|he|she|there|at|on|in|to|for|not|yes|no|",
    "make|move|change|set|put|push|shift|let|book|add|cancel|delete|remove|forget|remind|invite|call|rename|use|try|tell|"
    r"show|go|have|keep|give|take)\b",
)
_FIRST_PERSON = pattern(r"i (?:am|was|have|live|like|prefer|love|hate|work|want|need|drink|eat|use|moved|own|do)\b")


def remember(text: str) -> Request | None:
    """Reads "remember that …", "keep in mind: …", "remember to …"; "remember tea?" asks what is known."""
    match = _REMEMBER.fullmatch(text)
    if match is not None and text.endswith("?") and ":" not in text[: match.start("body")]:
        return Recall(match["body"].rstrip(" ?"))
    if match is not None:
        return Remember(match["body"].strip())
    match = _REMEMBER_AFTER.fullmatch(text) if len(text) <= _LONGEST_AFTER else None
    if match is not None:
        return Remember(match["body"])
    match = _REMEMBER_PLAIN.fullmatch(text)
    if match is not None and text.endswith("?"):
        about = (match["body"] or match["task"]).rstrip(" ?")
        return Recall(about, mirrored(about))
    if match is not None:
        return Remember(match["body"] or f"To do: {match['task']}")
    return Remember("") if _REMEMBER_WHAT.fullmatch(text) else None


def list_memories(text: str) -> Request | None:
    """Reads "what do you remember?" and "list my memories"."""
    return ListMemories() if _LIST.fullmatch(text.rstrip(" ?.!")) else None


def recall(text: str) -> Request | None:
    """Reads "what do you know about …?", "do you remember …?", "tell me about …"."""
    match = _RECALL.fullmatch(text.rstrip(" ?.!"))
    if match is None:
        return None
    about = tidy(match["about"]).removeprefix("that ")
    return Recall(about, mirrored(about))


def correct(text: str) -> Request | None:
    """Reads "actually, …" and "correction: …", when a claim follows and not a question or a wish."""
    match = _CORRECT.fullmatch(text) or _NO_BUT.fullmatch(text)
    if match is None or "?" in match["body"]:
        return None
    body = match["body"].strip()
    first = body.partition(" ")[0].casefold()
    if (_NOT_A_CLAIM.match(body) or first in VERBS) and not _FIRST_PERSON.match(body):
        return None
    return Correct(body) if len(find_time_words(body).rest().split()) > 1 else None


def forget(text: str) -> Request | None:
    """Reads "forget what I said about …" and "delete the memory of …"."""
    plain = text.rstrip(" ?.!")
    claim = _CLAIM.search(plain) is not None
    deleted = _DELETE_MEMORY.fullmatch(plain)
    if deleted is not None:
        return Forget(tidy(deleted["about"] or deleted["object"] or deleted["rest"]), claim)
    match = _FORGET.fullmatch(plain)
    about = tidy(match["about"]) if match is not None else "it"
    return None if about.casefold() in ("it", "that", "this") else Forget(about, claim)
