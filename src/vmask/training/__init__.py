"""Training: the loop, the beta schedule, checkpoints."""
