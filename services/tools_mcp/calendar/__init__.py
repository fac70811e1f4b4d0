"""The calendar server: a folder of iCalendar files (RFC 5545), one event series per file."""
