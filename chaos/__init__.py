"""Attacks on vmask from outside: kills, bad inputs, forged folders and hostile requests, with fixed seeds."""
