"""Parser of a command line's arguments by the options that a program knows, and conditions on the result."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence, Set
from dataclasses import dataclass, replace
from fnmatch import translate
from functools import cache, lru_cache

from verdikt.shell.command import Word

_OPERAND_PLACES = {
    "*": slice(None),
    "0": slice(0, 1),
    "1": slice(1, 2),
    "2": slice(2, 3),
    "3": slice(3, 4),
    "-1": slice(-1, None),
    "1:": slice(1, None),
    "2:": slice(2, None),
    ":2": slice(None, 2),
}
"""Selectors of operands that a condition may have."""
_HELP_FLAGS = frozenset(("--help", "--usage", "--longhelp", "--long-help", "--help-all", "--fullhelp", "--full-help"))
_PLAIN_FLAGS = frozenset("-y --yes --force --verbose --quiet --silent --help --version --debug --dry-run".split())


@cache
def word_set(text: str) -> frozenset[str]:
    """Return a table's `"-r -R --recursive"` as a set."""
    return frozenset(text.split())


@cache
def list_option_names(conditions: str) -> frozenset[str]:
    """Return the options that conditions are about."""
    return frozenset(re.findall(r"(?<![\w-])--?\w[\w-]*", conditions))


# Slots and no named tuple: conditions are tried far more often than read, and a slot is read in a third of the time.
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _FlagTerm:
    """One term of a condition, such as `!--type=a|b*`: with a selector it is about words and their patterns."""

    text: str
    is_negated: bool
    # Which words: operands by their place, values of flags, or a mixture that a function selects.
    places: slice | None = None
    flags: frozenset[str] = frozenset()
    select: Callable[[Arguments], list[Word]] | None = None
    is_about_all: bool = False
    exact: frozenset[str] = frozenset()
    regex: re.Pattern[str] | None = None

    @property
    def is_exact(self) -> bool:
        """Whether it requires one of `exact`."""
        return self.regex is None and not self.is_negated


# Conditions come from records only: each is parsed once, and a decision walks over what was made of it.
@cache
def _split_conditions(
    conditions: str,
) -> tuple[frozenset[str], tuple[tuple[_FlagTerm, ...], ...], frozenset[str] | None]:
    """Split conditions into flags that match by themselves, and combinations of terms.

    The third is what the first operand must be for any of the combinations to hold; None if that is not settled by it.
    """
    names = conditions.split()
    plain = frozenset(name for name in names if name[0] == "-" and not {"+", "=", "*", "["} & set(name))
    combinations = tuple(tuple(map(_parse_flag_term, name.split("+"))) for name in names if name not in plain)
    return plain, combinations, _find_first_words(combinations)


def _find_first_words(combinations: tuple[tuple[_FlagTerm, ...], ...]) -> frozenset[str] | None:
    words = [
        next((term.exact for term in terms if term.places == _OPERAND_PLACES["0"] and term.is_exact), None)
        for terms in combinations
    ]
    return None if None in words else frozenset().union(*filter(None, words))


def _parse_flag_term(text: str) -> _FlagTerm:
    plain_text = text.lstrip("!")
    selector, equals, patterns = plain_text.partition("=")
    is_about_words = all(part[:1] == "-" or part in _OPERAND_PLACES for part in selector.split("|"))
    is_negated = (len(text) - len(plain_text)) % 2 == 1
    if not equals or not is_about_words:
        return _FlagTerm(plain_text, is_negated)
    places = _OPERAND_PLACES.get(selector)
    has_flags = places is None and "|" not in selector and not selector[1:].isdigit()
    flags = word_set(selector) if has_flags else frozenset()
    select = _compile_selector(selector) if places is None and not flags else None
    exact, regex = _compile_patterns(patterns.removeprefix("="))
    return _FlagTerm(plain_text, is_negated, places, flags, select, patterns[:1] == "=", exact, regex)


def matches_any(text: str, patterns: str) -> bool:
    """Return whether a text matches one of these patterns, which `|` separates: `a|b*`."""
    exact, regex = _compile_patterns(patterns)
    return text in exact or (regex is not None and regex.match(text) is not None)


def matches_texts(texts: Sequence[str], patterns: str) -> bool:
    """Return whether any of these texts matches one of the patterns; with `=` before the patterns, whether all do."""
    if patterns[:1] == "=":
        return bool(texts) and all(matches_any(text, patterns[1:]) for text in texts)
    exact, regex = _compile_patterns(patterns)
    for text in texts:  # noqa: SIM110  most conditions on operands end here, and a generator doubles their cost
        if text in exact or (regex is not None and regex.match(text) is not None):
            return True
    return False


# The patterns come from records, which are few: each is compiled once, and never for a decision that comes later.
@cache
def _compile_patterns(patterns: str) -> tuple[frozenset[str], re.Pattern[str] | None]:
    parts = patterns.split("|")
    globs = [part for part in parts if {"*", "?", "["} & set(part)]
    regex = re.compile("|".join(map(translate, globs))) if globs else None
    return frozenset(parts).difference(globs), regex


def _is_plain_flag(flag: str) -> bool:
    """Return whether an option takes no value in every program that has it, by a convention that holds everywhere."""
    return flag in _PLAIN_FLAGS or flag.startswith("--no-")


def is_simple_option(name: str) -> bool:
    """Return whether an option without a value says all by its name: one letter, or a long name that negates none."""
    return len(name) == 2 or (name.startswith("--") and not name.startswith("--no-") and name not in _HELP_FLAGS)


# The hash of a frozenset is computed once, so that a look-up costs far less than a pass over the options of git.
@lru_cache(maxsize=4096)
def _complete_name(names: frozenset[str], name: str) -> str:
    full_names = [full_name for full_name in names if full_name.startswith(name)]
    return full_names[0] if len(full_names) == 1 else name


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OptionTable:
    """The options of a program: which take a value, which take none, and how they may be written."""

    values: frozenset[str] = frozenset()
    plain: frozenset[str] = frozenset()  # take no value in any command of the program
    simple: frozenset[str] = frozenset()  # of these, the ones that mean nothing but themselves: no cluster, no `--no-x`
    names: frozenset[str] = frozenset()  # all that are known, for abbreviations
    before: frozenset[str] = frozenset()  # take a value before the first operand only: `git -c x=y`
    single_dash: bool = False  # one dash begins a long name: `-auto-approve`
    abbreviate: bool = False  # a long name may be cut off where that is unambiguous: `--ha` for `--hard`
    posix: bool = False  # the first operand ends the options: what follows is for another program
    stops: frozenset[str] = frozenset()  # a first operand that does so, because a command has options of its own
    short_help: bool = False  # a last `-h` asks for help: a program with commands that lists no such option
    verb_start: int = 0  # the first operand that may be the verb of the command: `aws SERVICE VERB`
    verb_stop: int | None = None

    def with_values(self, values: str, *, single_dash: bool = False) -> OptionTable:
        """Return the table with more options that take a value."""
        return replace(self, values=self.values | word_set(values), single_dash=self.single_dash or single_dash)

    def is_plain(self, text: str) -> bool:
        """Return whether the word after this one is surely not the value of an option."""
        return text[:1] != "-" or "=" in text or text in self.plain or _is_plain_flag(text)

    def complete(self, name: str) -> str:
        """Return the long option that an abbreviation stands for; the name itself if it stands for none or several."""
        if not self.abbreviate or name in self.names:
            return name
        return _complete_name(self.names, name)


NO_OPTIONS = OptionTable()


class Arguments:
    """The flags (with their values) and operands of one command line, in order.

    `doubtful` holds the options that the table does not know and that are followed by a word which may be their value.
    `forced` holds the identities of those that are read with a value this time. `command_end` is where the words of a
    command with options of its own begin, if its name ended the options; else 0.
    """

    __slots__ = (
        "_flag_names",
        "_unlisted_flags",
        "after_dashes",
        "argv",
        "asks_help",
        "command_end",
        "doubtful",
        "flags",
        "forced",
        "operands",
        "table",
    )

    def __init__(self, argv: Sequence[Word], table: OptionTable = NO_OPTIONS, forced: Container[int] = ()) -> None:
        self.argv = argv
        self.table = table
        self.forced = forced
        self.flags = flags = []  # type: list[tuple[str, Word | None]]
        self.operands = operands = []  # type: list[Word]
        self.after_dashes: Sequence[Word] = ()
        self.doubtful: list[Word] = []
        self.asks_help = False
        self.command_end = 0
        self._flag_names: Set[str] | None = None
        values, simple, before = table.values, table.simple, table.before
        may_end = table.posix or table.stops
        pending_flag = ""
        for position, word in enumerate(argv):
            text = word.text
            if pending_flag:
                flags.append((pending_flag, word))
                pending_flag = ""
            elif text[:1] != "-" or text == "-":
                operands.append(word)
                if may_end and ((is_command := text in table.stops and len(operands) == 1) or table.posix):
                    self.command_end = position + 1 if is_command else 0
                    operands.extend(argv[position + 1 :])
                    break
            elif text in values or (text in before and not operands):
                pending_flag = text
            elif forced and id(word) in forced and not self._is_known_cluster(text):
                pending_flag = self._add_forced_flag(word)
            elif text in simple:
                flags.append((text, None))
            elif text == "--":
                self.after_dashes = argv[position + 1 :]
                operands.extend(self.after_dashes)
                break
            else:
                if text in _HELP_FLAGS and (position == 0 or table.is_plain(argv[position - 1].text)):
                    self.asks_help = True
                pending_flag = self._add_flags(word)
                if not pending_flag and position + 1 < len(argv) and argv[position + 1].text[:1] != "-":
                    self._note_doubt(word)
        if pending_flag:
            flags.append((pending_flag, None))
        is_short_help = table.short_help and flags[-1:] == [("-h", None)] and argv[-1].text == "-h"
        self.asks_help = self.asks_help or is_short_help

    def _add_flags(self, word: Word) -> str:
        """Add the flags of one word; return the one whose value is the next word, or an empty string."""
        text, values = word.text, self.table.values
        if len(text) == 2:
            self.flags.append((text, None))
            return ""
        if self.table.single_dash or text[1] == "-":
            name, equals, value = text.partition("=")
            if self.table.abbreviate:
                name = self.table.complete(name)
            if not equals and name in values:
                return name
            if name[:5] == "--no-":
                self._cancel_flag(name)
            self.flags.append((name, Word(value, word.raw, word.glob) if equals else None))
            return ""
        # A cluster such as `-rf`; what follows a letter that takes a value is that value.
        for index in range(1, len(text)):
            flag = "-" + text[index]
            if flag in values:
                attached_value = text[index + 1 :]
                if not attached_value:
                    return flag
                self.flags.append((flag, Word(attached_value.removeprefix("="), word.raw, word.glob)))
                return ""
            self.flags.append((flag, None))
        return ""

    def _is_known_cluster(self, text: str) -> bool:
        """Return whether a word is letters that take no value: `-fdx`, which another command may not know."""
        letters = "" if self.table.single_dash else text[1:]
        return letters.isalpha() and all(f"-{letter}" in self.table.simple for letter in letters)

    def _cancel_flag(self, name: str) -> None:
        """Drop the option that a later `--no-…` takes back; a program that does not read it so refuses the word."""
        names = {f"--{name[5:]}", *(("-n",) if name == "--no-dry-run" else ())}
        self.flags[:] = [pair for pair in self.flags if pair[0] not in names]

    def _add_forced_flag(self, word: Word) -> str:
        """Add the flags of a word that is read with a value; return the flag that takes it."""
        text = word.text
        if len(text) == 2 or self.table.single_dash or text[1] == "-":
            return text
        # `-bname`, which another reading did not know: the value of a listed option is in the same word.
        if any(f"-{letter}" in self.table.values for letter in text[1:-1]):
            return self._add_flags(word)
        # `-nv x`: the last letter of a cluster may take the value, the ones before it can't.
        self.flags += [(f"-{letter}", None) for letter in text[1:-1]]
        return f"-{text[-1]}"

    def _note_doubt(self, word: Word) -> None:
        """Note an unknown option that may take the next word as its value."""
        flag, value = self.flags[-1]
        if value is None and flag not in self.table.plain and not _is_plain_flag(flag) and "=" not in word.text:
            self.doubtful.append(word)

    def has_flag(self, conditions: str) -> bool:
        """Return whether any of these conditions holds; most are names of flags.

        `-r+-f` requires both, `!-r` its absence. `--type=a|b*` requires a value that matches, `0=a|b*` and `*=a` the
        same of an operand, `1:==a|b` of all of them; a word without a dash is looked for among the operands. `--set-*`
        matches the names of flags. A long flag may be shortened (`--recurs`), as GNU programs allow; `--force` is not
        short for `--force-with-lease`.
        """
        plain, combinations, first_words = _split_conditions(conditions)
        if plain and self.flags:
            if self._flag_names is None:
                self._flag_names = dict(self.flags).keys()
                self._unlisted_flags = self._flag_names - self.table.names
            if not plain.isdisjoint(self._flag_names):
                return True
            # Sought last and rarely: most long flags are written out, and the table knows them.
            for flag in self._unlisted_flags:
                for name in plain:
                    if name.startswith(flag) and _is_abbreviation(flag, name):
                        return True
        # Most rows with a condition on the first operand are about another command.
        if first_words is not None and not (self.operands and self.operands[0].text.lower() in first_words):
            return False
        for combination in combinations:
            for term in combination:
                if self._holds(term) is term.is_negated:
                    break
            else:
                return True
        return False

    def _holds(self, term: _FlagTerm) -> bool:
        """Return whether a term holds, without its negation."""
        text = term.text
        if term.places is not None:
            words = self.operands[term.places]
        elif term.flags:
            flags = term.flags
            words = [value for flag, value in self.flags if value is not None and flag in flags]
        elif term.select is not None:
            words = term.select(self)
        elif text[0] != "-":
            return text in [operand.text.lower() for operand in self.operands]
        elif "*" in text or "[" in text:
            return any(matches_any(flag, text) for flag, _ in self.flags)
        else:
            names = [flag for flag, _ in self.flags if text.startswith(flag)]
            return text in names or any(_is_abbreviation(flag, text) for flag in names)
        exact, regex, is_about_all = term.exact, term.regex, term.is_about_all
        for word in words:
            word_text = word.text.lower()
            if (word_text in exact or (regex is not None and regex.match(word_text) is not None)) is not is_about_all:
                return not is_about_all
        return is_about_all and bool(words)

    def get_value(self, names: str) -> Word | None:
        """Return the last value of any of these flags."""
        wanted = word_set(names)
        for flag, value in reversed(self.flags):
            if flag in wanted and value is not None:
                return value
        return None

    def get_values(self, names: str) -> list[Word]:
        """Return every value of any of these flags."""
        if not self.flags:
            return []
        wanted = word_set(names)
        return [value for flag, value in self.flags if flag in wanted and value is not None]

    def select_words(self, selector: str) -> list[Word]:
        """Return the words that a row's `selector` names.

        `*` all operands, `0` the first, `-1` the last, `1:` all but the first, `:-1` all but the last,
        `-o --output` values of flags, `--` what stands after two dashes, `of=` values of `key=value` operands; `|`
        joins several, of `a||b` the second counts only where the first names nothing. `*=*://*` are those that match a
        pattern, `joined` is all of them as one, `'text'` that text itself, and `/` is that path.
        """
        return _compile_selector(selector)(self)


def _is_abbreviation(flag: str, name: str) -> bool:
    """Return whether a flag that an option's name begins with is that name, cut off inside a word."""
    return len(flag) > 4 and name != flag and name[len(flag)] != "-"


# Selectors come from records only: each is read once.
@cache
def _compile_selector(selector: str) -> Callable[[Arguments], list[Word]]:
    """Return the function that selects the words which a selector names."""
    if selector == "*":
        return lambda args: args.operands
    if selector == "joined":
        return lambda args: [Word(" ".join([word.display_text for word in args.operands]))] if args.operands else []
    if selector[0] in "/~":
        return lambda _: [Word(selector)]
    if selector[0] == "'" and selector.find("'", 1) == len(selector) - 1:
        return lambda _: [Word(selector[1:-1])]
    if "||" in selector:
        first, _, second = selector.partition("||")
        return lambda args: args.select_words(first) or args.select_words(second)
    if "|" in selector:
        parts = selector.split("|")
        return lambda args: [word for part in parts for word in args.select_words(part)]
    if selector == "--":
        return lambda args: [*args.after_dashes]
    if selector[0] == "-" and not selector[1:].isdigit():
        return lambda args: args.get_values(selector)
    return _compile_operand_selector(selector)


def _compile_operand_selector(selector: str) -> Callable[[Arguments], list[Word]]:
    """Return the function for a selector of operands: by their key, by a pattern, or by their place."""
    if selector.endswith("="):
        start = len(selector)
        return lambda args: [Word(w.text[start:], w.raw, w.glob) for w in args.operands if w.text.startswith(selector)]
    if "=" in selector:
        name, _, pattern = selector.partition("=")
        return lambda args: [word for word in args.select_words(name) if matches_any(word.text, pattern)]
    if ":" in selector:
        first, _, last = selector.partition(":")
        place = slice(int(first) if first else None, int(last) if last else None)
        return lambda args: args.operands[place]
    index = int(selector)
    place = slice(index, index + 1 or None)
    return lambda args: args.operands[place] if -len(args.operands) <= index else []
