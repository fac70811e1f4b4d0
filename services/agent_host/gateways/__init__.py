"""Where people talk to the agent."""
