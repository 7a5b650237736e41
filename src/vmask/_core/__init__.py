"""Atomic files, seeded random streams, progress bars and terminals: nothing here knows torch or texts."""
