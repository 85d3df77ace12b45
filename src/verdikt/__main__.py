"""`verdikt` and `python -m verdikt`."""

import sys

from verdikt.hosts.hook import main as hook


def main() -> None:
    """Runs the hook without loading the command line, and everything else with it."""
    if sys.argv[1:2] == ["hook"] and "--help" not in sys.argv:
        hook(sys.argv[2:])
    from verdikt.cli import main as command

    command()


if __name__ == "__main__":
    main()
