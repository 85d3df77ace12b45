"""`python -I -m verdikt.daemon`: the warm process of one user, until it has nothing to do or is told to end.

Also run by its path, so that whoever starts it need not know where Python finds verdikt.
"""

import os
import sys

from verdikt.daemon.lifecycle import run_daemon


def main(arguments: list[str]) -> int:
    """Lives in the data directory that the environment names. When another does already, leaves at once with status 0."""
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if here not in sys.path:
        sys.path.append(here)

    return run_daemon(arguments, dict(os.environ))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
