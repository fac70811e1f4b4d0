"""Take, find, read, list and append notes, through the notes server's tools."""
