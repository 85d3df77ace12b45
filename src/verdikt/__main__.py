"""The entry point of `verdikt` and `python -m verdikt`."""

import sys

from verdikt.hosts.hook import main as hook


def main() -> None:
    """Run the hook and the plain relay without importing the command line; run everything else with it."""
    if sys.argv[1:2] == ["hook"] and "--help" not in sys.argv:
        hook(sys.argv[2:])
    if sys.argv[1:2] == ["mcp"]:
        from verdikt.mcp.plain_command import parse_plain_command, run_plain_command

        if plain_command := parse_plain_command(sys.argv[2:]):
            run_plain_command(plain_command)
    from verdikt.cli import main as command  # imports click, which a hook does not need

    command()


if __name__ == "__main__":
    main()
