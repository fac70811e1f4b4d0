"""Drafts of messages in an outbox folder: written, listed, discarded, and never sent."""
