"""The entry point of `verdikt` and `python -m verdikt`."""

import sys

from verdikt.hosts.hook import main as hook


def main() -> None:
    """Run the hook without importing the command line; run everything else with it."""
    if sys.argv[1:2] == ["hook"] and "--help" not in sys.argv:
        hook(sys.argv[2:])
    from verdikt.cli import main as command  # imports click, which a hook does not need

    command()


if __name__ == "__main__":
    main()
