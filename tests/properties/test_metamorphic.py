"""Spelling a command in another way never loosens its verdict, and never blocks a harmless one.

The commands are those of `tests/cases`, also the steps of its sequences, each by itself. Each is changed in the ways
that leave its meaning alone: an absolute path, another name, a wrapper in front, a value joined by `=`, letters
together or apart, options in another order or cut off, a double dash, a documented or an unknown option of the program
before its command. The texts of `shell_*.yaml`, which are more than one plain command, are put into a group, a
subshell, a function, another shell or after another command.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from tests.case_files import CASE_FILES, load_yaml
from tests.sequences import load_sequences
from tests.unit.effects.test_cases import decide, load_cases
from tests.unit.effects.test_first_sight import COMMANDS
from verdikt.effects.program_record import find_program
from verdikt.knowledge import Record, find_record, find_task_words, list_programs
from verdikt.model.verdict import VerdictKind

Variants = Iterator[list[str]]

# A text with operators, substitutions or comments is more than a list of words.
OPERATOR = re.compile(r"[|&;<>`(){}\n#]")
WORD = re.compile(r"""(?:[^\s"'\\]|"(?:[^"\\]|\\.)*"|'[^']*'|\\.)+""")
"""A word with its quotes, variables and patterns as they are written."""
OTHER_MEANING = frozenset(("-C", "--git-dir", "--work-tree", "--db-url"))
"""Options that make the command act on another place, where other things may be at stake."""
BUILTINS = frozenset("cd read select set test".split())
"""One builtin of each record that describes several."""
CHOICES = frozenset("-l --selector --field-selector -f --filename -k --kustomize".split())
"""Options that choose what the command acts on, which may do nothing without them."""


@cache
def load_shell_cases() -> list[dict[str, Any]]:
    """Return the texts of the cases about shell text, with the files that they speak of."""
    rows = [row for file in sorted(CASE_FILES.glob("shell_*.yaml")) for row in load_yaml(file)]
    return [{"run": row["run"], "files": row.get("files", {})} for row in rows]


@cache
def judge_shell_cases() -> list[VerdictKind]:
    """Return the verdict of each case about shell text."""
    return [decide(case)[1].kind for case in load_shell_cases()]


def split_words(text: str) -> list[str]:
    """Return the words of a single command as they are written; none if the text is more than that."""
    words: list[str] = WORD.findall(text)
    is_plain = " ".join(words) == text and not OPERATOR.search(re.sub(r"'[^']*'", "''", text))
    return words if is_plain else []


@cache
def list_plain_cases() -> list[tuple[dict[str, Any], list[str], Record, VerdictKind]]:
    """Return the cases with a single plain command of a known program, its words, the program's record, the verdict."""
    cases = []
    first_sight = [{"run": command} for commands in COMMANDS.values() for command in commands]
    steps = {step["run"] for case in load_sequences() for step in case["steps"] if "run" in step}
    single_steps = [{"run": command} for command in sorted(steps)]
    for case in (*(case for _, case in load_cases()), *first_sight, *load_shell_cases(), *single_steps):
        words = split_words(case.get("run", ""))
        record = find_record(words[0]) if words else None
        if record is not None:
            cases.append((case, words, record, decide(case)[1].kind))
    return cases


def list_options(record: Record, *keys: str) -> list[str]:
    """Return the options that a record lists under these keys, without those with which nothing happens."""
    excluded = OTHER_MEANING | {"--help", "--version", *record.get("dry_run", "").split()}
    return [name for key in keys for name in record.get(key, "").split() if name not in excluded]


def has_commands(words: list[str]) -> bool:
    """Whether the program has commands, so that an option may stand in front of one."""
    program = find_program(words[0])
    return program is not None and bool(program.commands)


def use_absolute_path(words: list[str], record: Record) -> Variants:
    """`rm x` → `/usr/bin/rm x`."""
    yield [f"/usr/bin/{words[0]}", *words[1:]]


def use_wrapper(words: list[str], record: Record) -> Variants:
    """`rm x` → `nice rm x`."""
    for wrapper in ("env", "command", "nice", "nohup", "timeout 5", "sudo -u bob"):
        yield [*wrapper.split(), *words]


def insert_global_option(words: list[str], record: Record) -> Variants:
    """`docker volume rm x` → `docker --context y volume rm x`."""
    if has_commands(words):
        for name in list_options(record, "values", "globals"):
            if name not in CHOICES:
                yield [words[0], name, "y", *words[1:]]
        for name in list_options(record, "flags"):
            yield [words[0], name, *words[1:]]


def insert_unknown_option(words: list[str], record: Record) -> Variants:
    """`docker volume rm x` → `docker --unheard-of y volume rm x`."""
    if has_commands(words):
        yield [words[0], "--unheard-of", "y", *words[1:]]
        yield [words[0], "--unheard-of=y", *words[1:]]


def join_value(words: list[str], record: Record) -> Variants:
    """`--context y` → `--context=y`."""
    values = set(list_options(record, "values"))
    for index in range(1, len(words) - 1):
        if words[index] in values and words[index].startswith("--") and words[index + 1][:1] != "-":
            yield [*words[:index], f"{words[index]}={words[index + 1]}", *words[index + 2 :]]


def separate_value(words: list[str], record: Record) -> Variants:
    """`--context=y` → `--context y`."""
    values = set(list_options(record, "values"))
    for index in range(1, len(words)):
        name, equals, value = words[index].partition("=")
        if equals and value and name in values and name.startswith("--"):
            yield [*words[:index], name, value, *words[index + 1 :]]


def list_plain_options(words: list[str], record: Record) -> set[str]:
    """Return the options of the program and of its command that take no value."""
    command = record.get("commands", {}).get(words[1], {}) if len(words) > 1 else {}
    return {*list_options(record, "flags"), *list_options(command, "flags")}


def has_value_option(words: list[str], record: Record) -> bool:
    """Whether one of the options takes a value, as the last letter of a cluster may."""
    values = {name for key in ("values", "globals") for name in record.get(key, "").split()}
    # A long option may be cut off: after `--upload-f`, a double dash is its value.
    cut_off = any(word[:2] == "--" and name.startswith(word) for word in words for name in values)
    return cut_off or any(word in values or f"-{word[-1:]}" in values for word in words if word[:1] == "-")


def is_letter_option(word: str) -> bool:
    """Whether a word is one option of one letter."""
    return len(word) == 2 and word[0] == "-" and word[1].isalpha()


def merge_letters(words: list[str], record: Record) -> Variants:
    """`rm -r -f x` → `rm -rf x`, where the first letter is known to take no value."""
    plain = list_plain_options(words, record)
    if not record.get("single_dash"):
        for index in range(1, len(words) - 1):
            if words[index] in plain and is_letter_option(words[index]) and is_letter_option(words[index + 1]):
                yield [*words[:index], f"{words[index]}{words[index + 1][1]}", *words[index + 2 :]]


def split_letters(words: list[str], record: Record) -> Variants:
    """`rm -rf x` → `rm -r -f x`, where all letters are known to take no value."""
    plain = list_plain_options(words, record)
    if not record.get("single_dash"):
        for index in range(1, len(words)):
            letters = [f"-{letter}" for letter in words[index][1:]]
            # `zip -TT cmd` is an option of its own.
            is_cluster = len(set(letters)) == len(letters) > 1 and words[index][0] == "-"
            if is_cluster and plain.issuperset(letters):
                yield [*words[:index], *letters, *words[index + 1 :]]


def insert_double_dash(words: list[str], record: Record) -> Variants:
    """`rm -rf x` → `rm -rf -- x`, for programs that read their options as getopt_long does."""
    if record.get("abbreviate") and not has_commands(words) and "runs" not in record and "--" not in words:
        operands = [index for index in range(1, len(words)) if words[index][:1] != "-"]
        first = operands[0] if operands else 0
        # The words before must be options without a value, and those after must be operands.
        if first and not has_value_option(words[:first], record) and all(word[:1] != "-" for word in words[first:]):
            yield [*words[:first], "--", *words[first:]]


def move_options_last(words: list[str], record: Record) -> Variants:
    """`rm -rf x` → `rm x -rf`, for programs that take options and operands in any order."""
    if record.get("abbreviate") and not has_commands(words) and "runs" not in record and "--" not in words:
        options = [word for word in words[1:] if word[:1] == "-"]
        if options and not has_value_option(options, record):
            yield [words[0], *(word for word in words[1:] if word not in options), *options]


def swap_options(words: list[str], record: Record) -> Variants:
    """`rm -r -v x` → `rm -v -r x`, where both are known to take no value."""
    plain = list_plain_options(words, record)
    if record.get("trace") == "powershell":
        # All that follows one of these is its text.
        plain = {name for name in plain if not re.match(r"(?i)-(?:c|f|e)(?!xe)", name)}
    for index in range(1, len(words) - 1):
        if words[index] in plain and words[index + 1] in plain:
            yield [*words[:index], words[index + 1], words[index], *words[index + 2 :]]


def cut_option(words: list[str], record: Record) -> Variants:
    """`rm --recursive x` → `rm --recursiv x`, for programs that read their options as getopt_long does."""
    if record.get("abbreviate") and not has_commands(words) and "runs" not in record:
        names = {name for name in re.findall(r"(?<![\w-])--[a-z][a-z-]+", str(record)) if len(name) > 5}
        for index in range(1, len(words)):
            name, equals, value = words[index].partition("=")
            if name in names and sum(other.startswith(name[:-1]) for other in names) == 1:
                yield [*words[:index], f"{name[:-1]}{equals}{value}", *words[index + 1 :]]


def use_alias(words: list[str], record: Record) -> Variants:
    """`podman x` → `nerdctl x`: another name of a program whose record does not tell its names apart."""
    # Which agent is started matters: some are governed as this one is, and others are not.
    tells_names_apart = any(key in str(record) for key in ("name:", "agent.run"))
    # Of formatters, the tasks say which rewrites what, and by which option.
    tells_names_apart = tells_names_apart or bool(find_task_words(words[0], "rewrites"))
    # The shell reads the words of each of its builtins in another way.
    tells_names_apart = tells_names_apart or bool(BUILTINS & set(record["names"]))
    if not tells_names_apart and "handler" not in record and "runs" not in record and "trace" not in record:
        for name in record["names"]:
            # A runner of tests deploys nothing, whatever its words name.
            if name != words[0] and name.endswith("test") == words[0].endswith("test"):
                yield [name, *words[1:]]


@pytest.mark.parametrize(
    "vary",
    [
        use_absolute_path,
        use_alias,
        use_wrapper,
        insert_global_option,
        insert_unknown_option,
        insert_double_dash,
        join_value,
        separate_value,
        merge_letters,
        split_letters,
        move_options_last,
        swap_options,
        cut_option,
    ],
)
def test_other_spelling_never_loosens_a_verdict_nor_blocks_a_harmless_command(
    vary: Callable[[list[str], Record], Variants],
) -> None:
    """The verdict of each variant is at least as strict, and a command that passes is not blocked."""
    faults, count = [], 0
    for case, words, record, verdict in list_plain_cases():
        for variant in vary(words, record):
            other_verdict = decide({**case, "run": " ".join(variant)})[1].kind
            count += 1
            if other_verdict < verdict or (verdict is VerdictKind.PASS and other_verdict is VerdictKind.BLOCK):
                faults.append(f"{verdict.word} → {other_verdict.word}: {' '.join(variant)}")

    assert faults == []
    assert count


def list_target_options(entry: Record) -> set[str]:
    """Return the options whose values a command works on, by its own rows."""
    words = [word for row in entry.get("effects", ()) for word in re.split(r"[ |]", row.get("on", ""))]
    return {word for word in words if word[:1] == "-"}


def test_any_option_of_a_program_before_any_of_its_commands_never_loosens_a_verdict() -> None:
    """Every record with commands: each of its options, and one that it does not list, before each command."""
    faults, count = [], 0
    records = [record for name in list_programs() if (record := find_record(name)) and record["names"][0] == name]
    for record in records:
        name = record["names"][0]
        for command, entry in record.get("commands", {}).items():
            verdict = decide({"run": f"{name} {command} thing"})[1].kind
            excluded = CHOICES | list_target_options(entry)
            options = [f"{word} y" for word in list_options(record, "values", "globals") if word not in excluded]
            for option in (*options, *list_options(record, "flags"), "--unheard-of y", "--unheard-of=y"):
                run = f"{name} {option} {command} thing"
                other_verdict = decide({"run": run})[1].kind
                count += 1
                if other_verdict < verdict:
                    faults.append(f"{verdict.word} → {other_verdict.word}: {run}")

    assert faults == []
    assert count


def group_text(text: str) -> str:
    """Return `a; b` as `{ a; b; }`."""
    return f"{{ {text}\n}}"


def open_subshell(text: str) -> str:
    """Return `a; b` as `(a; b)`."""
    return f"( {text}\n)"


def define_function(text: str) -> str:
    """Return `a; b` as `f() { a; b; }; f`."""
    return f"f() {{\n{text}\n}}\nf"


def hand_to_shell(text: str) -> str:
    """Return `a; b` as `bash -c 'a; b'`."""
    return f"bash -c {shlex.quote(text)}"


def put_after_another(text: str) -> str:
    """Return `a; b` as `true; a; b`."""
    return f"true\n{text}"


@pytest.mark.parametrize("vary", [group_text, open_subshell, define_function, hand_to_shell, put_after_another])
def test_shell_text_in_another_place_keeps_its_verdict(vary: Callable[[str], str]) -> None:
    """The verdict is at least as strict, and a text that passes is not blocked."""
    faults = []
    for case, verdict in zip(load_shell_cases(), judge_shell_cases(), strict=True):
        other_verdict = decide({**case, "run": vary(case["run"])})[1].kind
        if other_verdict < verdict or (verdict is VerdictKind.PASS and other_verdict is VerdictKind.BLOCK):
            faults.append(f"{verdict.word} → {other_verdict.word}: {case['run']}")

    assert faults == []


def write_by_here_document(path: str, content: str) -> str:
    """Return a write as `cat > path <<'END'`."""
    return f"cat > {shlex.quote(path)} <<'END_OF_FILE'\n{content}\nEND_OF_FILE"


def write_by_format(path: str, content: str) -> str:
    """Return a write as `printf '%s' content > path`."""
    return f"printf '%s' {shlex.quote(content)} > {shlex.quote(path)}"


def write_by_pipe(path: str, content: str) -> str:
    """Return a write as `echo content | tee path`."""
    return f"echo {shlex.quote(content)} | tee {shlex.quote(path)}"


@pytest.mark.parametrize("write", [write_by_here_document, write_by_format, write_by_pipe])
def test_file_written_by_the_shell_is_judged_like_one_of_a_write_tool(write: Callable[[str, str], str]) -> None:
    """The text of settings, workflows and manifests counts, in whatever way it is written."""
    faults = []
    for case in [case for _, case in load_cases() if "content" in case.get("input", {})]:
        path, content = case["input"].get("file_path"), case["input"]["content"]
        if path is None or not isinstance(content, str):
            continue
        run = write(path, content)
        verdict = decide(case)[1].kind
        other_verdict = decide({key: case[key] for key in case if key not in ("tool", "input")} | {"run": run})[1].kind
        if other_verdict is not verdict:
            faults.append(f"{verdict.word} → {other_verdict.word}: {run}")

    assert faults == []
