"""Command text → commands with argv, redirections and nesting; what the text does not determine is marked. Pure."""

from verdikt.shell.analysis import analyse

__all__ = ["analyse"]
