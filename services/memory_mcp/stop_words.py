"""English words that say how something is asked, not what it is about.

Leaving them out of a query is worth 9 points of recall@10 on LoCoMo; they stay in the index, because a query that has
nothing else ("who am I") is still a query. Every word stands here as
`terms` leaves it: lower case, no apostrophe (`dont`), no contracted verb (`I'll` is `i`).
"""

from __future__ import annotations

_ARTICLES_AND_POINTERS = (
    "a an the this that these those there here such same own other another each every either neither"
)
_PEOPLE = """
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself
it its itself they them their theirs themselves someone somebody something anyone anybody anything
"""
_QUESTIONS = "who whom whose what which when where why how whether"
_VERBS_THAT_HELP = """
am is are was were be been being do does did doing done have has had having can could will would shall should may might
must ought let lets
"""
_NEGATIONS = """
isnt arent wasnt werent dont doesnt didnt havent hasnt hadnt cant cannot couldnt wont wouldnt shouldnt mustnt mightnt
"""
# `like` is no link here: "What do I like?" is about liking.
_LINKS = """
and or but nor so yet if then than because since until while although though as of at by for from in into on onto to
toward with within without about above across after against along among around before behind below beneath beside
between beyond during except inside near off out outside over past per through throughout under up upon via
"""
_SHADES = """
not no yes too very just only also even ever never again once still already now more most much many some any all both
few several rather quite really please
"""
_ASKING_A_MEMORY = "know knew known tell told remember remembered recall say said remind show find give everything"
_GROUPS = (
    *(_ARTICLES_AND_POINTERS, _PEOPLE, _QUESTIONS, _VERBS_THAT_HELP),
    *(_NEGATIONS, _LINKS, _SHADES, _ASKING_A_MEMORY),
)

STOP_WORDS = frozenset(word for group in _GROUPS for word in group.split())
"""Words left out of a query that has other words."""
