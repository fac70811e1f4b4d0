"""The five checks of a finished turn (agent.md 2.9): pure functions over what its trace holds, run at every reading."""
