"""What this stand-in says about itself: that it is no language model, what it can do, how to plug a model in."""

from __future__ import annotations

PLUG_IN = (
    "To plug one in, set PROMETHEUS_PROVIDER=anthropic and PROMETHEUS_API_KEY (or ANTHROPIC_API_KEY), "
    "in the environment or in <home>/.env."
)
FIRST_SCREEN = (
    "This is the offline stand-in: plain rules, no language model. Try “help”.\n"
    "It can remember, keep your calendar and notes, draft messages and search; it says what is beyond it.\n"
    "To plug a model in, set PROMETHEUS_PROVIDER=anthropic and PROMETHEUS_API_KEY (or ANTHROPIC_API_KEY),\n"
    "in the environment or in <home>/.env."
)
WHO = f"I am prometheus-agent, run by its offline stand-in: plain rules, no language model. {PLUG_IN}"
NO_GENERAL_KNOWLEDGE = f"I am no language model, so I can't do that. You can say “search the web for …”. {PLUG_IN}"
NO_TOOL = "I have no tool for that. I can remember it, note it, or book a time for it: say “help” to see how."
NOT_READ = "I did not understand that"
NOT_UNDERSTOOD = (
    f"{NOT_READ}: I am no language model and follow plain requests only. Say “help” to see which. {PLUG_IN}"
)

_ABILITIES = (
    ("memory_remember", "remember: “Remember that the design team prefers morning meetings.”"),
    ("memory_search", "recall: “What do you know about the design team?”"),
    ("memory_update", "correct: “Actually, the design team prefers afternoon meetings.”"),
    ("memory_forget", "forget: “Forget what I said about the design team.”"),
    ("calendar_create_event", "book: “Book a catch-up with Ana on Friday at 9am for 30 minutes.”"),
    ("calendar_list_events", "look: “What's on my calendar this week?”"),
    ("calendar_find_free", "find time: “When am I free tomorrow afternoon for an hour?”"),
    ("calendar_update_event", "change: “Move the catch-up to 10am.”; right after a booking “Make it 10.”"),
    ("calendar_delete_event", "cancel: “Cancel the catch-up on Friday.”"),
    ("notes_write", "note: “Take a note: the printer needs toner.”"),
    ("notes_search", "find a note: “Find my note about the printer.”"),
    ("message_draft", "draft: “Draft an email to Sam about the picnic.” Nothing is ever sent."),
    ("message_list", "see drafts: “List my drafts.”, “Discard the draft to Sam.”"),
    ("report_list", "reports: “List my reports.”, “Show the report on …”, “What changed in the reports on …?”"),
    ("search_web", "search: “Search the web for …”, “Research …”"),
)
_ALWAYS = "calculate and tell the date: “What's 15% of 80?”, “What day is it?”"


def abilities(tools: frozenset[str]) -> str:
    """Returns what can be asked for with the tools that are connected."""
    can = [text for tool, text in _ABILITIES if tool in tools]
    cannot = sorted({tool.partition("_")[0] for tool, _ in _ABILITIES if tool not in tools})
    missing = f"\nNot connected now: {', '.join(cannot)}." if cannot else ""
    lines = "\n".join(f"- {text}" for text in [*can, _ALWAYS])
    return f"I am no language model; I follow plain requests:\n{lines}{missing}\n{PLUG_IN}"
