"""A receipt as one self-contained HTML page that a person can send to somebody."""
