"""The program, as a console script and as `python -m openmed_mlx_eval`.

The command line takes a moment to import; Ctrl-C in that moment ends the program as it does later, without a traceback.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and leave the process."""
    try:
        from .cli.main import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
