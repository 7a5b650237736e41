"""Work on several machines, carried by Ray."""
