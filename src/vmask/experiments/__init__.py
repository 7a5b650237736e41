"""Experiments over datasets, models and methods, and the numbers of the paper beside them."""
