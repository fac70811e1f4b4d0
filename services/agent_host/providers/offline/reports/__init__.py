"""List, show and compare research reports and make pages of them, through the reports server's tools."""
