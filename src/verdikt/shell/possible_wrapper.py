"""Find the command that an unknown program may run: `rtk git push --force`, `tool sh -c '…'`.

Any program may be a wrapper. It is read as one where its words look like another command: the name of a known program
that is followed by its arguments. A name that is an ordinary word, too, may mean anything: `acme mail --list`.
"""

from verdikt.knowledge import find_record, find_role
from verdikt.shell.command import Word

POSSIBLE_WRAPPER = "possibly "
"""What the label of a possible wrapper begins with, in `Command.via`."""

# `tool run git push`: the verb of the wrapper, after which its command follows.
_RUN_VERBS = frozenset(("run", "exec"))
# The command stands at the beginning; what follows later is rather text or a list of names.
_MAX_WORDS_BEFORE = 4


def find_possible_command(words: list[Word]) -> int:
    """Return the index of the word where an unknown program's inner command begins; 0 if none is to be seen."""
    for index in range(1, min(len(words) - 1, _MAX_WORDS_BEFORE)):
        text = words[index].text
        if text[:1] == "-":
            continue
        # `/usr/bin/git` is a program, the last part of an address is none.
        name = text.rsplit("/", 1)[-1] if text[:1] in ("/", ".", "~") else text
        if name[:1].isalnum() and find_record(name) is not None and name not in find_role("ordinary_word"):
            return index
        if text in _RUN_VERBS:
            continue
        # Past an operand: only the value of an option may stand before the command (`tool -n 5 git push`).
        if words[index - 1].text[:1] != "-":
            return 0
    return 0
