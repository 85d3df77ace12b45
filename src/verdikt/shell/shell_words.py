"""Words that mean something to the shell itself where a program's name would stand."""

OPENING_WORDS = frozenset(("if", "then", "else", "elif", "do", "while", "until", "{"))
CLOSING_WORDS = frozenset(("fi", "done", "esac", "}"))
PREFIX_WORDS = frozenset(("!", "time", "coproc"))
NON_STARTING_WORDS = CLOSING_WORDS | {"then", "else", "elif", "do"}
"""Reserved words that cannot begin a command."""
RESERVED_WORDS = OPENING_WORDS | CLOSING_WORDS | PREFIX_WORDS | {"for", "select", "case", "function"}

BUILTIN_NAMES = frozenset(
    """cd chdir pushd popd export declare typeset local readonly unset read mapfile readarray set shift alias unalias
    hash let getopts printf""".split()
)
"""The builtins whose effects on the text after them `builtin.py` applies, so that a line with one is not plain."""
