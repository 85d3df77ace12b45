"""The text of a refusal: what was claimed, what is missing, and a command of this project that would prove it. Pure."""

import posixpath
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from verdikt.claims.reader import SentenceClaim
from verdikt.evidence.proof_request import Missing
from verdikt.knowledge import find_page_check, find_parse_command
from verdikt.model.work_tree import GitState
from verdikt.runs.logged_call import LoggedCall
from verdikt.runs.program_kinds import applies_some_rules, is_partial_test_run, is_type_check
from verdikt.runs.shell_runs import ProgramRun, read_runs
from verdikt.turns.turn import TurnEvidence, is_path_below

MAX_REFUSAL_LINES = 12
"""Number of lines of a refusal."""


@dataclass(frozen=True, slots=True)
class MissingProof:
    """A claim without proof: why, and what would prove it."""

    claim: SentenceClaim
    reason: str
    command: str


def suggest_command(turn: TurnEvidence, missing: Missing) -> str:
    """Return a command that would prove a claim and that exists in this project; empty when there is none."""
    kind, _, rest = missing.kind.partition(" ")
    if rest:
        return rest if kind == "run" else find_page_check().replace("{}", shlex.quote(rest))
    if kind == "commit":
        # A second commit of the same work would be noise, so none is suggested once there is one.
        has_committed = any(call.successful_runs("commit") for call in turn.calls)
        return "" if has_committed and not turn.facts.changed_of_kind("code", "data") else "git commit"
    if kind == "push":
        return _suggest_push(turn.facts.git_after)
    if kind == "run":
        template = find_parse_command(posixpath.splitext(missing.path)[1])
        # A name that begins with a dash would be read as an option.
        path = f"./{missing.path}" if missing.path.startswith("-") else missing.path
        return template.format(shlex.quote(path)) if template else ""
    return _find_package_command(turn, kind) or _find_own_command(turn, kind, full_suite=missing.full_suite)


def _find_package_command(turn: TurnEvidence, kind: str) -> str:
    """Return the check of a changed package that no run of the turn was about; empty where there is none."""
    if not (path := turn.find_other_package(kind)):
        return ""
    package = turn.facts.find_package(path)
    command = turn.facts.package_checks.get(package, {}).get(kind, "")
    return command and f"cd {shlex.quote(package)} && {command}"


def _suggest_push(state: GitState | None) -> str:
    """Return a push that git accepts: it names a branch that no remote has yet; without a remote there is none."""
    if state is None or not state.branch:
        return "git push"
    tracked = [name for name in state.refs if name.startswith("refs/remotes/")]
    if not state.remotes or any(name.split("/", 3)[3] == state.branch for name in tracked):
        return "git push" if tracked else ""
    remote = "origin" if "origin" in state.remotes else state.remotes[0]
    return f"git push -u {shlex.quote(remote)} {shlex.quote(state.branch)}"


def _find_own_command(turn: TurnEvidence, kind: str, *, full_suite: bool) -> str:
    """Return the command of this kind that the agent ran last, or that the user named; empty if there is none."""
    part = ""
    for call in reversed(turn.calls):
        for run in call.runs:
            if not _is_of_kind(run, kind) or run.dry_run or run.argv[0].startswith("./"):
                continue
            # A run that succeeded and proved nothing proves nothing when it is repeated.
            is_masked = not run.status_propagates and run.command_line == call.command.strip()
            is_empty = kind == "test" and call.ok and not (call.tests and call.tests.total)
            if is_masked or _is_elsewhere(turn, call, run) or (is_empty and kind in turn.facts.checks):
                continue
            # `npm run bundle` that failed may name no script at all; the project's own task exists.
            if call.failed and turn.facts.checks.get(kind, "").startswith(f"{run.argv[0]} "):
                continue
            directory = f"cd {shlex.quote(run.cwd)} && " if run.cwd else ""
            if not full_suite or not is_partial_test_run(run.argv):
                return f"{directory}{shlex.join(run.argv)}"
            # The same runner without what selects a part of the tests.
            whole = [word for word in run.argv if not is_partial_test_run((run.argv[0], word))]
            part = part or ("" if is_partial_test_run(whole) or len(whole) + 1 < len(run.argv) else shlex.join(whole))
    # The person's own command comes before a usual one.
    for hint in turn.contract.get_targets("command_hints") if turn.contract else ():
        if any(
            _is_of_kind(run, kind) and not (full_suite and is_partial_test_run(run.argv)) for run in read_runs(hint)
        ):
            return hint
    return turn.facts.checks.get(kind, "") or part


def _is_elsewhere(turn: TurnEvidence, call: LoggedCall, run: ProgramRun) -> bool:
    """Return whether a run was in another copy of the project, where nothing was edited and it proves nothing."""
    place, root = posixpath.normpath(posixpath.join(call.cwd, run.cwd)), turn.facts.root
    is_outside = bool(run.cwd and root) and not is_path_below(place, root)
    return is_outside and not any(is_path_below(path, place) for path in turn.edit_paths)


def _is_of_kind(run: ProgramRun, kind: str) -> bool:
    if kind not in ("types", "lint"):
        return run.kind == kind
    is_linter = run.kind in ("lint", "build" if kind == "types" else "lint") and not applies_some_rules(run.argv)
    return is_linter and is_type_check(run.argv) == (kind == "types")


def render_refusal(
    missing: Sequence[MissingProof],
    undecided_calls: Sequence[str],
    faults: Sequence[str],
    *,
    gaps: int,
    refusals_left: int,
) -> str:
    """Return the refusal as at most twelve lines for the agent."""
    lines = [
        f"You said “{shorten(missing[0].claim.text)}”; nothing you ran in this turn shows it."
        if missing
        else "This turn can't end yet."
    ]
    # Claims with the same gap are named together, so that the refusal stays short.
    groups: dict[tuple[str, str], list[SentenceClaim]] = {}
    for proof in missing:
        groups.setdefault((proof.reason, proof.command), []).append(proof.claim)
    for (reason, command), claims in list(groups.items())[:3]:
        quoted = ", ".join(dict.fromkeys(f"“{shorten(claim.text)}”" for claim in claims[:3]))
        lines.append(f"- claimed: {quoted} ({claims[0].act})")
        lines.append(f"  missing: {reason[:200]}")
        if command:
            lines.append(f"  {'prove it' if claims[0].act == 'done' else 'try first'}: {command[:300]}")
    if len(lines) <= 9:
        lines += [f"- {fault[:200]}" for fault in faults[:2]]
    if undecided_calls and len(lines) <= 10:
        calls = "1 tool call has" if len(undecided_calls) == 1 else f"{len(undecided_calls)} tool calls have"
        lines.append(f"- {calls} no decision in the log: {', '.join(undecided_calls[:3])}"[:240])
    if gaps and len(lines) < MAX_REFUSAL_LINES - 1:
        lines.append(f"- {gaps} call{'' if gaps == 1 else 's'} could not be logged: run the check again")
    lines = lines[: MAX_REFUSAL_LINES - 1]
    advice = (
        "Or say plainly what is not verified." if any(one.command for one in missing) else "Say what is not verified."
    )
    left = f"{refusals_left} more refusal{'' if refusals_left == 1 else 's'}, then this turn ends as unproven."
    lines.append(f"{advice} {left if refusals_left > 0 else 'After this, the turn ends as unproven.'}")
    return "\n".join(lines)


def render_unproven_notice(missing: Sequence[MissingProof]) -> str:
    """Return what the person is told when a turn ends with claims that nothing proves."""
    claims = list(dict.fromkeys(f"“{shorten(one.claim.text)}” ({one.reason[:120]})" for one in missing))
    more = f" and {len(claims) - 3} more" if len(claims) > 3 else ""
    return f"this turn ended unproven: {'; '.join(claims[:3])}{more}" if claims else "this turn ended unproven"


def shorten(words: str) -> str:
    """Return words on one line, cut to the length of a quotation."""
    line = " ".join(words.split()).rstrip(".:;,")
    return line if len(line) <= 120 else f"{line[:119]}…"
