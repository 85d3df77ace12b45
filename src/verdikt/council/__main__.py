"""`python -m verdikt.council`: the same as `verdikt findings`."""

from importlib import import_module

# By name, because nothing imports the command line.
import_module("verdikt.cli.findings").main()
