"""English words that say how something is asked, not what it is about; other words of a query go first."""

_POINTING = "a an the this that these those there here it its such some any all each every other another same"
_PEOPLE = "i me my mine we us our you your yours he him his she her hers they them their someone something anything"
_ASKING = "who whom whose what which when where why how whether find show give tell say look please know"
_HELPING = """
am is are was were be been being do does did have has had can could will would shall should may might must let lets
dont doesnt didnt isnt arent wasnt werent cant cannot wont wouldnt shouldnt couldnt havent hasnt hadnt
"""
_LINKING = """
and or but so if then than because as at by for from in into of off on onto out over to under up upon with without about
after before between during since through until while not no too very just also even only still already now more most
much many
"""

COMMON_WORDS = frozenset(f"{_POINTING} {_PEOPLE} {_ASKING} {_HELPING} {_LINKING}".split())
"""Lower case, without apostrophes."""
