"""Draft, list, show and discard messages, through the messages server's tools. Nothing is ever sent."""
