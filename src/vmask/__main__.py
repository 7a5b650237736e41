"""`python -m vmask`, also what `accelerate launch -m vmask` runs."""

import sys

from vmask.cli import main

if __name__ == "__main__":
    sys.exit(main())
