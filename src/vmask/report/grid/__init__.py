"""A report of any grid, from its result files alone."""
