"""The notes server: a folder of Markdown files with YAML front matter, usable as an Obsidian vault."""
