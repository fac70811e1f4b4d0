"""From turn events to the receipt writer."""
