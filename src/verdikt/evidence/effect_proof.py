"""Proof of a claim about something outside the files: installed, deployed, published, migrated, sent, run. Pure."""

import re

from verdikt.claims.named_objects import find_changed_names, find_package_names
from verdikt.claims.wording import has_wording
from verdikt.evidence.proof_request import Missing, ProofRequest, hold
from verdikt.evidence.validator import Proof
from verdikt.knowledge import find_role
from verdikt.runs.program_kinds import installs_packages, resolve_program_name
from verdikt.runs.shell_runs import ProgramRun, is_file_handler

_OUTGOING_STEMS = ("deploy", "release", "publish", "upload", "migrat", "send", "ship")
_OUTGOING_WORDS = frozenset(
    "apply rollout up push sync upgrade promote restart create put post patch start run".split()
)
_OUTGOING_PROGRAMS = find_role("outgoing")
_VERSION_CONTROL = find_role("version_control")


def prove_install(request: ProofRequest) -> Proof | Missing:
    """Prove that the named packages were installed by a command that succeeded in this turn."""
    names = find_package_names(request.text)
    covered: dict[str, int] = {}
    any_install = 0
    for call in request.turn.calls:
        for run in call.successful_runs("other", "build", "test"):
            if installs_packages(run.argv):
                any_install = call.seq
                words = {_bare_package(word) for word in run.argv[1:]}
                covered |= {name: call.seq for name in names if _bare_package(name) in words}
    if not any_install:
        return Missing("no command in this turn installed anything")
    # Of several words that could be packages at least one must be what was installed.
    if names and not covered:
        return Missing(f"no command in this turn installed `{names[0]}`")
    return hold("command_effect", *sorted(set(covered.values()) or {any_install}))


def _bare_package(word: str) -> str:
    return re.sub(r"(?<=.)(?:@|[=~^<>!\[]).*$", "", word.lower())


def prove_outgoing(request: ProofRequest) -> Proof | Missing:
    """Prove that something was deployed, published, migrated or sent: its page answers, or such a command succeeded."""
    turn = request.turn
    urls = turn.contract.get_targets("urls") if turn.contract else ()
    for arguments in [{"url": url} for url in urls] or [{}]:
        if (proof := request.try_validator("http_2xx", arguments)).holds:
            return proof
    # The last one counts: a deployment that failed may have been repeated.
    calls = turn.find_last(
        lambda call: (
            any(_is_outgoing(run, request.text) for run in call.successful_runs("other", "build", "http"))
            or (call.kind in ("mcp", "other", "agent") and call.ok)
        )
    )
    if calls:
        return hold("launched", *calls)
    if urls:
        return Missing(proof.reason, f"fetch {urls[0]}")
    return Missing("nothing in this turn deployed, published or reached anything")


def _is_outgoing(run: ProgramRun, text: str) -> bool:
    name = resolve_program_name(run.argv[0])
    if is_file_handler(run.argv) and name not in _OUTGOING_PROGRAMS and name not in _VERSION_CONTROL:
        return False
    words = [part.lower() for word in run.argv for part in re.split(r"[^A-Za-z]+", word) if part]
    if name in _VERSION_CONTROL:
        return "push" in run.argv[1:3]
    has_verb = any(word in _OUTGOING_WORDS or word.startswith(_OUTGOING_STEMS) for word in words)
    return has_verb or shares_word(run, text)


def prove_effect(request: ProofRequest) -> Proof | None:
    """Return the command outside the files that a sentence reports (`seeded the database`); None without one."""
    if has_wording("code_work", request.text) or find_changed_names(request.text):
        return None
    edits_text = has_wording("edit", request.text)

    def is_reported(run: ProgramRun) -> bool:
        is_remote = run.kind == "other" and resolve_program_name(run.argv[0]) in _OUTGOING_PROGRAMS
        return is_remote or not (edits_text or is_file_handler(run.argv) or not shares_word(run, request.text))

    calls = request.turn.find_last(
        lambda call: (
            any(map(is_reported, call.successful_runs("other", "http")))
            or (call.kind == "mcp" and call.ok and _shares_stem(re.split(r"[^A-Za-z]+", call.tool), request.text))
        )
    )
    return hold("command_effect", *calls) if calls else None


def shares_word(run: ProgramRun, text: str) -> bool:
    """Return whether a command and a sentence have a word of at least four letters in common, by its stem."""
    return _shares_stem([part for word in run.argv for part in re.split(r"[^A-Za-z]+", word)], text)


def _shares_stem(words: list[str], text: str) -> bool:
    stems = {word.lower()[:5] for word in words if len(word) >= 4}
    return any(word.lower()[:5] in stems or word.lower()[:4] in stems for word in re.findall(r"[A-Za-z]{4,}", text))


def prove_reading(request: ProofRequest) -> Proof | None:
    """Return the reading that a sentence about reading reports; None when it says more, or nothing was read."""
    text = request.text
    if not has_wording("look", text) or any(has_wording(what, text) for what in ("code_work", "edit", "write")):
        return None
    calls = request.turn.find_last(lambda call: call.kind in ("read", "fetch", "mcp") or bool(call.runs))
    return hold("looked", *calls) if calls else None
