"""Research reports in the frozen v1 format: checked rule by rule, kept as Markdown, shown as a page."""
