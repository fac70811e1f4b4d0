"""Greetings, thanks, questions about the agent itself, and what a stand-in has to decline."""

from __future__ import annotations

from dataclasses import dataclass

from agent_host.providers.offline.patterns import one_of, pattern
from agent_host.providers.offline.routine import Request, Routine, Say, Scene
from agent_host.providers.offline.talk.about import NO_GENERAL_KNOWLEDGE, NO_TOOL, PLUG_IN, WHO, abilities

_GREETING = pattern(
    one_of("hi", "hello", "hey", "hiya", "howdy", "yo", "greetings", "good (?:morning|afternoon|evening|day)"),
    "(?: (?:there|again|prometheus))?",
)
_THANKS = pattern(
    one_of(
        "(?:many |ok(?:ay)?,? )?thank(?:s| you)(?: (?:so |very )?much| a lot)?", "thx", "cheers", "great", "nice",
        "perfect", "well done", "good job", "awesome", "cool", "lovely",
    ),
    "(?:[,!. ]+(?:thanks|thank you|prometheus))?",
)  # fmt: skip
_GOODBYE = pattern(
    "(?:bye|goodbye|good night|see you(?: later| soon| tomorrow)?|so long|ciao|that.?s all(?: for now)?)"
)
_HOW_ARE_YOU = pattern("how are you(?: doing)?(?: today)?|how.?s it going|what.?s up")
_WHO = pattern(
    one_of(
        "(?:who|what) (?:are|r) you",
        "are you (?:an? )?(?:real )?(?:ai|bot|robot|human|llm|language model|real|chatgpt|claude)",
        "what(?:.?s| is) your name", "(?:what|which) (?:model|llm|ai) (?:are you|is this|do you use|are you using)",
        "do you use (?:an? )?(?:ai|llm|model)", "introduce yourself",
    )
)  # fmt: skip
_PLUG_IN = pattern(
    "(?:how (?:do|can) i |can i )?(?:plug in|use|connect|set up|add|switch to|configure) (?:an? )?",
    "(?:real |language |other |different )*(?:model|llm|claude|anthropic|api key|key)",
)
_NO = pattern("(?:never ?mind|forget it|nothing|leave it|no(?:pe)?|no,? thanks?(?: you)?|stop|cancel)")
_YES = pattern("(?:ok|okay|yes|yeah|sure|fine|alright|all right|got it|i see|right|understood|hm+|ah+|oh)")
_SORRY = pattern("(?:sorry|my bad|oops)")
_RECEIPTS = pattern("(?:where (?:is|are)|show(?: me)?|list|verify) (?:my |the )?receipts?")
_REPLIES = (
    (_GREETING, "Hello. What can I do for you? “help” lists it."),
    (_THANKS, "You're welcome."),
    (_GOODBYE, "Goodbye."),
    (_HOW_ARE_YOU, "I run fine, thank you. What can I do for you?"),
    (_WHO, WHO),
    (_PLUG_IN, PLUG_IN),
    (_NO, "All right."),
    (_YES, "All right."),
    (_SORRY, "No harm done."),
    (_RECEIPTS, "Every turn leaves a receipt: see “agent-host receipts list” and “agent-host receipts verify”."),
)
_HELP = pattern(
    one_of(
        "/?help(?: me)?", "what (?:can|do) you do(?: for me)?", "what can i (?:ask|say|do)(?: you)?",
        "how does this work", "commands", "capabilities", "how can you help(?: me)?",
        "what are you (?:able to do|capable of)", r"\?",
    )
)  # fmt: skip
_NEEDS_A_MODEL = pattern(
    one_of(
        "write", "compose", "draft", "translate", "summari[sz]e", "explain", "describe", "rewrite", "proofread",
        "generate", "create", "invent", "imagine", "tell me (?:a|another) (?:joke|story|riddle|poem)", "sing", "why",
        "how (?:do|does|did|can|could|to|would|should|come)", "what do you think", "should i", "recommend", "suggest",
        "what(?:.?s| is) the (?:meaning|difference|best way|capital|population|weather|definition)", "plan", "design",
        "give me (?:advice|ideas|an idea|a recipe|tips)", "code", "debug", "fix",
    ),
    r"\b.*",
)  # fmt: skip
_NEEDS_A_TOOL = pattern(
    one_of(
        "send", "forward", "reply", "invite", "e-?mail", "text", "call", "message", "order", "buy", "pay", "play",
        "open", "turn", "download",
        "set (?:a|an|the|my) (?:alarm|timer)", "wake me", "delete", "run",
    ),
    r"\b.*",
)  # fmt: skip


@dataclass(frozen=True)
class Help:
    """Say what can be asked for."""

    def run(self, scene: Scene) -> Routine:
        """Lists what works with the tools that are connected."""
        yield from ()
        return abilities(scene.tools)


def small_talk(text: str) -> Request | None:
    """Reads greetings, thanks, help and questions about the agent."""
    plain = " ".join(text.split()).rstrip(" ?.!,:;") or text.strip()
    if _HELP.fullmatch(plain):
        return Help()
    return next((Say(reply) for words, reply in _REPLIES if words.fullmatch(plain)), None)


def beyond_rules(text: str) -> Request | None:
    """Declines what only a language model, or a tool that is not there, could do."""
    if _NEEDS_A_TOOL.fullmatch(text):
        return Say(NO_TOOL)
    return Say(NO_GENERAL_KNOWLEDGE) if _NEEDS_A_MODEL.fullmatch(text) else None
