"""Searching the web, and research from memory and web together."""
