"""Measure models and their explanations, and compare them."""
