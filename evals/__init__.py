"""Evaluations: sets of cases with what is expected, and the runners that hold the product to them."""
