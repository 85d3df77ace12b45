"""Tell which runs of a command check something, whatever they are called. All I/O goes through `read_path`."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.work_tree import WorkTree, classify_file, is_test_file
from verdikt.observe.project_checks import read_task_script
from verdikt.runs.program_kinds import MODULE_VARIABLES, is_optional_task, is_project_wrapper, is_type_check, names_task
from verdikt.runs.shell_runs import ProgramRun, hides_status, is_file_handler, read_runs
from verdikt.turns.turn import is_path_below

ReadPath = Callable[[str, Callable[[str], Any], Any], Any]
"""Reads a path by a function, with the rights of the user who asks; the last argument where those do not suffice."""

_CHECKS = ("test", "build", "lint")
_CHECK_KINDS = (*_CHECKS, "commit")
"""Kinds of runs after which the source tree is hashed, so that a later change shows, by any program."""

_ASSIGNMENT = compile_lazily(r"\b([A-Z]+)=[\"']?([^\s\"';&|]+)")


def find_checked_directory(
    cwd: str, runs: Sequence[Mapping[str, Any]], validators: Sequence[tuple[str, ...]], read_path: ReadPath
) -> str:
    """Return the directory of the first run that can prove something about the sources; empty without one.

    `validators` are the words with which the commands of the user's own validators begin.
    """
    for run in runs:
        argv = tuple(run["argv"])
        directory = os.path.normpath(os.path.join(cwd, run["cwd"] or "."))
        is_check = run["kind"] in _CHECK_KINDS or any(argv[: len(prefix)] == prefix for prefix in validators)
        # Where a project has no check, a run of the changed program is one: `python3 hello.py`.
        words = (*argv, run.get("reads", ""))
        if is_check or (run["kind"] == "other" and (names_task(argv) or _executes_file(words, directory, read_path))):
            # A check of a part of the project is about the sources of the whole.
            return cwd if is_path_below(directory, cwd) else directory
    return ""


def _executes_file(argv: tuple[str, ...], directory: str, read_path: ReadPath) -> bool:
    """Return whether a run names a file of code, and is not one that only copies, moves or formats it."""
    paths = [os.path.join(directory, word) for word in argv if classify_file(word) == "code"]
    return not is_file_handler(argv) and any(read_path(path, os.path.isfile, False) for path in paths)


def inspect_runs(
    directory: str, command: str, runs: Sequence[Mapping[str, Any]], tree: WorkTree, read_path: ReadPath
) -> list[Mapping[str, Any]]:
    """Return the recorded runs as what they are, where a check is not what its command line says.

    A program that is not the one it is called like checks nothing: a file of the project called like a runner, a
    module of the project that hides the installed one, a task (`npm test`) that only prints or does not exist. Of
    a task that ends well whatever its linter or compiler says, the status tells nothing. A task that also starts
    checks of other kinds (`make ci`) is a run of each of them.
    """
    values = dict(_ASSIGNMENT.findall(command))
    places = [place for name in MODULE_VARIABLES for place in values.get(name, "").split(":") if place]
    inspected: list[Mapping[str, Any]] = []
    for run in runs:
        argv = tuple(map(str, run["argv"]))
        if not argv or not (run["kind"] in _CHECKS or names_task(argv)):
            inspected.append(run)
            continue
        where = os.path.normpath(os.path.join(directory, run["cwd"] or "."))
        script: str = read_path(where, partial(read_task_script, argv=argv), "")
        parts = read_runs(script) if script else ()
        inner = [part for part in parts if part.kind != "look"]
        is_empty = bool(parts) and not inner
        if run["kind"] not in _CHECKS:
            inspected.append(run)
        elif is_empty or _is_stand_in(argv, where, places, tree) or (not script and is_optional_task(argv)):
            inspected.append({**run, "kind": "other"})
            continue
        # What a program of the project's own prints is no report of a runner, if the program is new.
        elif run["kind"] == "test" and (program := _find_started_program(inner, where, tree)):
            inspected.append({**run, "starts": program})
        else:
            same = [part for part in inner if part.kind == run["kind"]]
            # Of tests the counts are read, which no mask hides.
            is_masked = run["kind"] != "test" and hides_status(script, same or inner)
            inspected.append({**run, "speaks": run["speaks"] and not is_masked})
        inspected += _list_other_checks(run, inner, partial(_is_stand_in, where=where, places=places, tree=tree))
    return inspected


def _list_other_checks(
    run: Mapping[str, Any], inner: Sequence[ProgramRun], is_stand_in: Callable[[tuple[str, ...]], bool]
) -> list[dict[str, Any]]:
    """Return the checks of other kinds that a task starts as well: its linter, beside its tests."""
    kinds = {(run["kind"], is_type_check(run["argv"]))}
    others = []
    for part in inner:
        kind = (part.kind, is_type_check(part.argv))
        # A check that also compiles is no run of a program that may have written anything.
        is_other = part.kind in _CHECKS and kind not in kinds and (part.kind != "build" or run["kind"] == "other")
        if is_other and not is_stand_in(part.argv):
            kinds.add(kind)
            # A type checker is known by its name; what else the task is told is the project's own choice.
            argv = list(part.argv) if kind[1] else run["argv"]
            speaks, dry = run["speaks"] and part.status_propagates, run["dry"] or part.dry_run
            others.append({**run, "argv": argv, "kind": part.kind, "speaks": speaks, "dry": dry})
    return others


def _is_stand_in(argv: tuple[str, ...], where: str, places: Sequence[str], tree: WorkTree) -> bool:
    """Return whether a file or a module of the project is what a runner's name starts; `places` hold modules."""
    # `./gradlew` is a file of the project that starts the real tool.
    if "/" in argv[0] and not is_project_wrapper(argv[0]):
        program = os.path.realpath(os.path.join(where, argv[0]))
        return os.path.relpath(program, tree.root) in tree.files
    position = argv.index("-m") + 1 if "-m" in argv[:4] else 0
    module = argv[position] if position < len(argv) else ""
    # The directory of the run is where modules are looked for with `-m` only.
    directories = [*places, *([""] if position else [])]
    bases = [os.path.relpath(os.path.join(where, directory, module), tree.root) for directory in directories if module]
    endings = (".py", "/__main__.py", "/__init__.py") if places else (".py", "/__main__.py")
    return any(f"{base}{ending}" in tree.files for base in bases for ending in endings)


def _find_started_program(runs: Sequence[ProgramRun], where: str, tree: WorkTree) -> str:
    """Return the first file of the project that programs start which are no runners of tests; empty without one."""
    if any(run.kind == "test" for run in runs):
        return ""
    words = (word for run in runs for word in run.argv[:3] if classify_file(word) == "code" and not is_test_file(word))
    paths = (os.path.relpath(os.path.join(where, word), tree.root) for word in words)
    return next((path for path in paths if path in tree.files), "")
