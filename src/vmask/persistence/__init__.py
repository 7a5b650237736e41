"""Model folders: write, read and check them. Never a pickle."""
