"""Measurements of speed and quality, run by hand or by `make bench`; none of them is a test."""
