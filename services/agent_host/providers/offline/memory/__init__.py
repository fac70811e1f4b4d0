"""Remember, recall, correct, forget and list, through the memory server's tools."""
