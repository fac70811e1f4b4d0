"""The smallest server there is, for the tests of the fork server: it needs no SDK, so it starts at once."""
