"""The program neoc: `python -m neoc compile mlp.expr`, and the console script."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Runs the command line of this process; its exit code."""
    from . import _core
    # Ctrl-C is the compiler's business, as in the program: its training saves a checkpoint then.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.command(["neoc", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
