"""Find the command that an unknown program may run: `rtk git push --force`, `tool sh -c '…'`.

Any program may be a wrapper. It is read as one where its words look like another command: the name of a known program
that is followed by its arguments. A name that is an ordinary word, too, may mean anything, `acme mail --list`, and
counts only before a command or an option of that program: `acme find . -delete`.
"""

from verdikt.knowledge import Record, find_record, find_role
from verdikt.knowledge.options import OPTION_KEYS, list_options
from verdikt.shell.command import Word

POSSIBLE_WRAPPER = "possibly "
"""What the label of a possible wrapper begins with, in `Command.via`."""

# `tool run git push`: the verb of the wrapper, after which its command follows.
_RUN_VERBS = frozenset(("run", "exec"))
# The command stands at the beginning; what follows later is rather text or a list of names.
_MAX_WORDS_BEFORE = 4


def find_possible_command(words: list[Word]) -> int:
    """Return the index of the word where an unknown program's inner command begins; 0 if none is to be seen."""
    is_after_operand = False
    for index in range(1, min(len(words) - 1, _MAX_WORDS_BEFORE + 1)):
        text = words[index].text
        if text[:1] == "-":
            continue
        record = find_named_program(text)
        if record is not None and (not is_after_operand or _begins_command(record, words[index + 1].text)):
            return index
        if record is None and not is_after_operand and _has_arguments_of(text, words[index + 1 :]):
            return index
        # Past an operand (`tool prod aws s3 rm x`), a name may be a name only; the value of an option is none.
        is_after_operand = is_after_operand or (text not in _RUN_VERBS and words[index - 1].text[:1] != "-")
    return 0


def find_named_program(text: str) -> Record | None:
    """Return the record of the program that a word names, unless it is an ordinary word as well."""
    # `/usr/bin/git` is a program, the last part of an address is none.
    name = text.rsplit("/", 1)[-1] if text[:1] in ("/", ".", "~") else text
    return find_record(name) if name[:1].isalnum() and name not in find_role("ordinary_word") else None


def _has_arguments_of(name: str, words: list[Word]) -> bool:
    """Return whether words hold what a program with an ordinary name takes: one of its commands, or of its options."""
    record = find_record(name) if name in find_role("ordinary_word") else None
    if record is None:
        return False
    listed = frozenset(list_options(record, OPTION_KEYS))
    options = {word.text.partition("=")[0] for word in words if word.text[:1] == "-"}
    clusters = {option[:2] for option in options if option[:2] != "--"}
    is_command = any(path.split(" ", 1)[0] == words[0].text for path in record.get("commands", ()))
    return is_command or not listed.isdisjoint(options | clusters)


def _begins_command(record: Record, next_text: str) -> bool:
    """Return whether the word after the name of a program goes on as a command of that program does."""
    return next_text[:1] == "-" or any(name.split(" ", 1)[0] == next_text for name in record.get("commands", ()))
