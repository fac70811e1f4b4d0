"""English words that say nothing about what a message wants, and some that say the same of it."""

_WORDS = """
a about after again all also am an and any are as ask at away back be because been before being best better
both but by call can cannot check come could day days did do does doing done down each else even every few
find fine first for from get give go going good got great had happy has have having hello help her here hey hi
him his how if in into is it its just keep kind know last later less let like list little long look lot made
make many me mean meet more most much must my name need never new next nice no not now of off ok okay on once
one only open or other our out over own part people place please put question read really right said same say
see send set she should show so some something start still stop such sure take talk tell than thank thanks
that the their them then there these they thing things think this those time times to today together tomorrow
tonight too try two under until up us use used user very want was way we week well were what when where which
while who why will wish with without word words work would write yes yesterday yet you your
"""
COMMON_WORDS = frozenset(_WORDS.split())

ALIKE = {"book": "schedule", "arrange": "schedule", "plan": "schedule", "mail": "email", "picture": "photo"}
"""Words that one may say for the other."""
