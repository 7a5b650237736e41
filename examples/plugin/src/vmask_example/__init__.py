"""What another package can add to vmask, a file each."""
