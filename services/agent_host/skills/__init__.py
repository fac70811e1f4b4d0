"""Skills: instructions in Markdown that join the prompt of the messages they are about."""
