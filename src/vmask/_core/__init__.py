"""Atomic files, seeded random streams, progress bars and terminals, independent of torch and of the domain."""
