"""Lessons: rules and skills that the agent may keep for good, each with a person's yes (agent.md rows 39 and 40)."""
