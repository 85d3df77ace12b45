"""When a run of a command proves something: it succeeded, its status is its own, and nothing changed since. Pure."""

import posixpath
from collections.abc import Callable, Sequence

from verdikt.evidence.validator import Arguments, Predicate
from verdikt.model.work_tree import classify_file
from verdikt.runs.logged_call import LoggedCall
from verdikt.runs.program_kinds import applies_some_rules
from verdikt.runs.shell_runs import ProgramRun
from verdikt.turns.turn import TurnEvidence, is_same_path


def prove_command(turn: TurnEvidence, arguments: Arguments) -> tuple[int, ...] | str:
    """Return the last command with the given words that ended with status 0 and is fresh, or what is missing."""
    patterns = [
        value for name in ("command_substring", "command", "keyword") if (value := arguments.get(name, "").strip())
    ]
    reason = f"no command `{' '.join(patterns)}` ended with status 0"
    for call in reversed(turn.calls):
        for run in call.runs:
            # `make verify billing` is a run of each goal, and the words may stand in several of them.
            goals = [other.argv for other in call.runs if other.argv[:1] == run.argv[:1]]
            is_meant = all(_mentions_words(run.argv, word) for word in patterns[:1])
            if run.kind == "look" or not is_meant or not all(_mention_words(goals, word) for word in patterns):
                continue
            if call.status_unknown:
                reason = _explain_unknown_status(run)
            elif not call.ok:
                reason = f"`{run.command_line}` did not end with status 0"
            elif not run.status_propagates or run.dry_run:
                reason = f"the status of `{run.command_line}` is masked or it ran dry; run it alone"
            elif changed := turn.describe_change_since(call):
                reason = f"`{run.command_line}` ran before {changed}"
            else:
                return (call.seq,)
    return reason


def _mention_words(commands: Sequence[tuple[str, ...]], pattern: str) -> bool:
    return any(_mentions_words(argv, pattern) for argv in commands)


def _mentions_words(argv: tuple[str, ...], pattern: str) -> bool:
    words = pattern.split()
    joined = [part for word in argv for part in word.split()]
    if any(joined[start : start + len(words)] == words for start in range(len(joined) - len(words) + 1)):
        return True
    return len(words) == 1 and "/" in pattern and any(is_same_path(word, pattern) for word in joined if "/" in word)


def build_run_predicate(
    kinds: tuple[str, ...], label: str, is_relevant: Callable[[ProgramRun], bool] = lambda run: True
) -> Predicate:
    """Return a predicate that holds when the last relevant run of these kinds succeeded and is fresh."""

    def check_turn(turn: TurnEvidence, arguments: Arguments) -> tuple[int, ...] | str:
        reason = f"no {label} in this turn"
        for call in reversed(turn.calls):
            for run in call.runs:
                if run.kind not in kinds or not is_relevant(run):
                    continue
                if run.kind == "lint" and applies_some_rules(run.argv) and "part" not in arguments:
                    reason = f"`{run.command_line}` applied a part of the rules"
                    continue
                if call.failed and not run.dry_run and turn.is_fresh(call) and reason.startswith("no "):
                    return _explain_unproven(call, run, "")
                if run in call.successful_runs(*kinds) and turn.is_fresh(call):
                    other = turn.find_work_elsewhere(call, run)
                    unread = _find_unread_code(turn, kinds, is_relevant)
                    if not other and not unread:
                        return (call.seq,)
                    reason = f"`{run.command_line}` " + (
                        f"ran in another tree than `{other}`" if other else f"did not look at `{unread}`"
                    )
                elif reason.startswith("no "):
                    stale = turn.describe_change_since(call) if run in call.successful_runs(*kinds) else ""
                    reason = _explain_unproven(call, run, stale)
        return reason

    return check_turn


def _find_unread_code(turn: TurnEvidence, kinds: tuple[str, ...], is_relevant: Callable[[ProgramRun], bool]) -> str:
    """Return changed code that none of the fresh runs of these kinds looked at; empty where one looked at all."""
    named: list[str] = []
    for call in turn.calls:
        for run in call.successful_runs(*kinds):
            if not is_relevant(run) or not turn.is_fresh(call):
                continue
            files = [word for word in run.argv[1:] if classify_file(word) == "code" and "*" not in word]
            # A directory, a pattern, or no name at all: the program looks for the files itself.
            others = (word for word in run.argv[1:] if word not in files and not word.startswith("-"))
            if not files or any(word == "." or set(word) & set("/*$") for word in others):
                return ""
            named += files
    suffixes = {posixpath.splitext(word)[1] for word in named}
    code = (path for path in turn.facts.changed_of_kind("code") if posixpath.splitext(path)[1] in suffixes)
    return next((path for path in code if not any(is_same_path(word, path) for word in named)), "")


def _explain_unproven(call: LoggedCall, run: ProgramRun, changed: str) -> str:
    if changed:
        return f"`{run.command_line}` ran before {changed}"
    if run.dry_run:
        return f"`{run.command_line}` ran dry, or looked at no file"
    return (
        _explain_unknown_status(run) if call.status_unknown else f"`{run.command_line}` failed, or its status is masked"
    )


def _explain_unknown_status(run: ProgramRun) -> str:
    return f"this client does not tell how `{run.command_line}` ended; run `{run.command_line} && echo succeeded`"


def prove_edit(turn: TurnEvidence, arguments: Arguments) -> tuple[int, ...] | str:
    """Return the last edit of a path, or that there is none."""
    path = arguments.get("path", "")
    edits = turn.find_last(
        lambda call: (
            call.kind == "write"
            and not call.failed
            and any(is_same_path(path, edited) for edited in (*call.edited, call.target))
        )
    )
    return edits or f"no edit of `{path}` in this turn"


def prove_fetch(turn: TurnEvidence, arguments: Arguments) -> tuple[int, ...] | str:
    """Return the last fetch that was answered with 2xx and is fresh, or what is missing."""
    url = arguments.get("url", "")
    reason = f"no fetch of `{url}`" if url else "no fetch in this turn"
    for call in reversed(turn.calls):
        words = [word for run in call.runs if run.kind == "http" for word in run.argv] or [call.target]
        is_fetch = call.kind == "fetch" or any(run.kind == "http" for run in call.runs)
        if not is_fetch or (url and _strip_scheme(url) not in map(_strip_scheme, words)):
            continue
        if call.http is not None and 200 <= call.http < 300 and call.ok:
            changed = turn.describe_change_since(call)
            return f"the fetch was before {changed}" if changed else (call.seq,)
        if call.http:
            reason = f"the fetch said {call.http}"
        elif call.failed:
            reason = f"`{(call.command or call.target)[:120]}` failed"
        else:
            reason = "the fetch did not say its status; add `-i` or `-w '%{http_code}'`"
    return reason


def _strip_scheme(url: str) -> str:
    # It does not matter: servers redirect http to https.
    return url.removeprefix("https://").removeprefix("http://").rstrip("/")
