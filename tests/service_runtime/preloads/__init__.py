"""Modules that a fork server of the tests preloads."""
