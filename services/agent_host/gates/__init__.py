"""What of memory comes into a prompt: whether a turn needs it (`retrieval`), and which hits earn a slot (`slots`).

`remembering` is the whole way from a message to the prompt's block. Every failure on it lets more through, never less:
a gate that fails retrieves with the raw message, a slot gate that fails keeps every hit, and a search that fails costs
the memories of one turn and a notice.
"""
