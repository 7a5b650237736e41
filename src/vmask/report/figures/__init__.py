"""Figures for print, drawn by matplotlib (extra `report`): of a grid, and of a single model."""
