"""Memories from and to other programs: what is read is checked whole before anything is stored."""
