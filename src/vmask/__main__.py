"""`python -m vmask`, also what `torchrun -m vmask` and `accelerate launch -m vmask` run."""

import sys

from vmask.cli import main

if __name__ == "__main__":
    sys.exit(main())
