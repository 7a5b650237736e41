"""Model folders: written, read, checked. Never a pickle."""
