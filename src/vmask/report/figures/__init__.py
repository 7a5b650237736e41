"""Figures for print, drawn by matplotlib (extra `report`): of a reproduction, and of a single model."""
