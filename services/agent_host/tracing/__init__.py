"""What happened in a turn, as values, and where it is written."""
