"""Measures of predictions and explanations."""
