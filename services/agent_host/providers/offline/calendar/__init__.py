"""Book, list, cancel, move and find free time, through the calendar server's tools."""
