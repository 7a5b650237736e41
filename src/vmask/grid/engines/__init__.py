"""What carries the jobs of a grid: processes of this machine, or a cluster."""
