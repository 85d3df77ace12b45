"""Proof of a claim about the repository: branch, commit, tag, merge, push, stash. Git shows it. Pure."""

import re
import shlex

from verdikt.claims.named_objects import find_changed_names, find_ref_names, find_spans, split_at_names
from verdikt.claims.wording import has_wording
from verdikt.evidence.effect_proof import shares_word
from verdikt.evidence.proof_request import Missing, ProofRequest, hold
from verdikt.evidence.validator import Proof
from verdikt.knowledge import find_role, find_task_words
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.work_tree import GitState
from verdikt.turns.turn import is_same_path

_FORGES = find_role("forge")
_VERSION_CONTROL = find_role("version_control")
_HISTORY_PROGRAMS = _FORGES | _VERSION_CONTROL
_MERGES = frozenset().union(*(find_task_words(name, "merges") for name in _HISTORY_PROGRAMS))
_ON_BRANCH = compile_lazily(
    r"\b(?:on|to|in|onto|into|from|auf|dans|sur|en|na|no|в|на) (?:\S+ )?\S*\s*branch", re.IGNORECASE
)

_ALSO_ON_REMOTE = compile_lazily(
    r"(?:\b(?:and|und|et|y|e|и|also|auch|auf|both)\b|と|和)[^.;\n]{0,20}?\b(?:on|from|at|in|auf|von|sur|de|en|na|no|на|в)"
    r" (?:the |dem |le |el )?`?(\w+)",
    re.IGNORECASE,
)
"""A second place where something was done: `here and on origin`."""
_SENTENCE_ENDS = frozenset(".;\n")
"""Marks after which another sentence or clause begins."""
_VERSION = compile_lazily(r"v?\d+(?:\.\d+)+[\w.-]*")
_REF_WORK = compile_lazily(
    r"\b(?:creat|switch|delet|remov|renam|cut|made|start|open|check)\w*\b[^.\n]{0,40}\bbranch|\bbranch\b[^.\n]{0,40}"
    r"\b(?:creat|delet|remov)ed\b|\btagged\b|\b(?:creat|add|delet|push)\w*\b[^.\n]{0,30}\btag\b",
    re.IGNORECASE,
)


def is_about_refs(request: ProofRequest) -> bool:
    """Return whether a sentence reports work on branches, tags or stashes, whatever topic it was given."""
    text = request.text
    if _REF_WORK.search(text) or has_wording("new_branch", text) or has_wording("stash", text):
        return True
    # In whichever words: it speaks of a branch, a tag or a deletion, and names one that came or went.
    is_about_name = (has_wording("branch", text) and not _ON_BRANCH.search(text)) or has_wording("tag", text)
    return (is_about_name or _is_ref_deletion(text)) and not _list_differing_refs(request).isdisjoint(find_spans(text))


def _is_ref_deletion(text: str) -> bool:
    """Return whether a sentence speaks of something deleted that is no file."""
    return has_wording("delete", text) and not find_changed_names(text)


def _list_differing_refs(request: ProofRequest) -> set[str]:
    """Return the branches and tags that were made or deleted since the prompt, by their names."""
    before, after = request.turn.facts.git_before, request.turn.facts.git_after
    if before is None or after is None:
        return set()
    refs = before.refs.keys() ^ after.refs.keys()
    return {name.split("/", 2)[2] for name in refs if name.startswith(("refs/heads/", "refs/tags/"))}


def prove_commit(request: ProofRequest) -> Proof | Missing:
    """Prove what a sentence says about commits, branches, tags, merges and stashes."""
    before, after = request.turn.facts.git_before, request.turn.facts.git_after
    text = request.text
    # No snapshot at the prompt, or no repository.
    if before is None or after is None:
        return _prove_by_log(request)
    if has_wording("stash", text):
        # `committed the fix and stashed the rest` is about both.
        is_about_commit = has_wording("commit", text) and not has_wording("denied", text)
        if is_about_commit and (missing := _find_uncommitted(request, before, after)):
            return missing
        return _prove_stash(text, before.refs.get("refs/stash"), after.refs.get("refs/stash"))
    if has_wording("tag", text):
        return _prove_refs(request, before, after, "refs/tags/", "tag")
    if has_wording("merge", text):
        return _prove_merge(request, before, after)
    is_deletion = _is_ref_deletion(text) and not _list_differing_refs(request).isdisjoint(find_spans(text))
    is_about_branch = is_deletion or has_wording("new_branch", text) or has_wording("branch", text)
    # What names no branch is about a commit, in whatever words: silence must not prove it.
    if (has_wording("commit", text) or not is_about_branch) and (missing := _find_uncommitted(request, before, after)):
        return missing
    if is_deletion or has_wording("new_branch", text) or (has_wording("branch", text) and not _ON_BRANCH.search(text)):
        return _prove_refs(request, before, after, "refs/heads/", "branch")
    return hold("git_state", *_find_calls(request, "commit"))


def _prove_stash(text: str, before: str | None, after: str | None) -> Proof | Missing:
    """Prove that something is in git's stash, or that it was taken out where the sentence says so."""
    if before == after:
        return Missing("git's stash is as it was when you were asked")
    if after is None and not has_wording("unstash", text):
        return Missing("git's stash is empty")
    return hold("git_state")


def _prove_by_log(request: ProofRequest) -> Proof | Missing:
    """Without a repository to look at, the log of successful commands decides."""
    if has_wording("merge", request.text):
        return prove_push(request)
    proof = request.try_validator("commit_exists")
    if proof.holds:
        return proof
    pushes = _find_calls(request, "push", "merge", "branch", "switch", "checkout", "tag", "stash")
    return hold("git_command", *pushes) if pushes else Missing(proof.reason, "commit")


def _find_calls(request: ProofRequest, *commands: str, programs: frozenset[str] = _HISTORY_PROGRAMS) -> tuple[int, ...]:
    """Return the last successful call of git, or of a forge's program, with one of these subcommands."""
    wanted = set(commands)
    return request.turn.find_last(
        lambda call: (
            any(
                run.argv[0] in programs and wanted & set(run.argv[1:5])
                for run in call.successful_runs("other", "commit", "look")
            )
            or (call.kind == "mcp" and call.ok and any(command in call.tool for command in commands))
        )
    )


def _list_history_runs(request: ProofRequest, programs: frozenset[str] = _VERSION_CONTROL) -> list[tuple[str, ...]]:
    """Return the words of each command of git that succeeded in this turn."""
    runs = (run for call in request.turn.calls for run in call.successful_runs("other", "commit", "look"))
    return [run.argv for run in runs if run.argv[0] in programs]


def _has_deleted_ref(request: ProofRequest, name: str) -> bool:
    """Return whether a command of this turn deleted a branch or a tag of that name."""
    runs = (argv for argv in _list_history_runs(request, _HISTORY_PROGRAMS) if name in argv)
    return any(not find_task_words(argv[0], "deletes").isdisjoint(argv) for argv in runs)


def _find_uncommitted(request: ProofRequest, before: GitState, after: GitState) -> Missing | None:
    """Return why the commit that is claimed is not there; None when it is."""
    facts = request.turn.facts
    if after.operation:
        return Missing(f"a {after.operation} is still under way in the repository")
    # A checkout of a commit that was there before is not a new commit.
    is_new = after.head != before.head and after.head not in before.refs.values()
    moved = [name for name, id in after.refs.items() if name.startswith("refs/heads/") and before.refs.get(name) != id]
    if not is_new and not any(after.refs[name] not in before.refs.values() for name in moved):
        return Missing("no commit was made since you were asked", "commit")
    if facts.changes is None:
        return None
    uncommitted = {path for path in facts.changes if path not in facts.committed}
    named = [path for path in uncommitted for name in find_changed_names(request.text) if is_same_path(path, name)]
    # A commit of a part is a commit, unless all of the work is said to be in it.
    is_incomplete = not facts.committed or has_wording("whole_commit", request.text)
    if named or (uncommitted and is_incomplete):
        return Missing(f"the commit does not contain `{(*named, *sorted(uncommitted))[0]}`", "commit")
    return None


def _prove_refs(request: ProofRequest, before: GitState, after: GitState, prefix: str, word: str) -> Proof | Missing:
    """Prove that the named branches or tags were made or deleted; without a name, that any was."""
    old = {name.removeprefix(prefix) for name in before.refs if name.startswith(prefix)}
    new = {name.removeprefix(prefix) for name in after.refs if name.startswith(prefix)}
    is_deletion = has_wording("delete", request.text)
    names = find_ref_names(request.text)
    if word == "branch" and not is_deletion:
        # An unborn branch has no reference yet, and switching to a branch that exists is no new one.
        new |= {after.branch} if after.branch else set()
        old -= {after.branch} if after.branch != before.branch else set()
    differing = old - new if is_deletion else new - old
    moved = {name for name in new & old if before.refs.get(prefix + name) != after.refs.get(prefix + name)}
    # What was renamed is gone, and another name has come.
    renamed = old - new if differing and not is_deletion else set()
    if is_deletion:
        # One that was made after the prompt leaves no trace in the states; the command that took it away does.
        differing |= {name for name in names if name not in new and _has_deleted_ref(request, name)}
    if word == "tag" and not is_deletion and not names:
        # `Tagged the last commit as v1.2`: any of the versions that it names.
        versions = tuple(span for span in find_spans(request.text) if _VERSION.fullmatch(span))
        names = versions[:1] if (differing | moved).isdisjoint(versions) else ()
    wrong = [name for name in names if name not in differing | (set() if is_deletion else moved | renamed)]
    if wrong and is_deletion:
        return Missing(f"`{wrong[0]}` still exists" if wrong[0] in new else f"nothing deleted the {word} `{wrong[0]}`")
    if wrong:
        return Missing(f"git has no {word} `{wrong[0]}` that is new")
    if is_deletion and (ref := _find_remote_branch(request, differing, after)):
        return Missing(f"`{ref}` still exists")
    if not differing and not moved:
        return Missing(f"git shows no new {word} since you were asked")
    return hold("git_state", *_find_calls(request, word, "switch", "checkout"))


def _find_remote_branch(request: ProofRequest, deleted: set[str], after: GitState) -> str:
    """Return a remote's branch that is still there although the sentence says that it was deleted there; else empty."""
    places = {match[1] for match in _ALSO_ON_REMOTE.finditer(request.text)}
    remotes = after.remotes if "remote" in places else places.intersection(after.remotes)
    refs = (f"{remote}/{name}" for remote in remotes for name in sorted(deleted) if name in request.text)
    return next((ref for ref in refs if f"refs/remotes/{ref}" in after.refs), "")


def _prove_merge(request: ProofRequest, before: GitState, after: GitState) -> Proof | Missing:
    if after.operation:
        return Missing(f"a {after.operation} is still under way in the repository")
    if remote := _find_calls(request, "merge", programs=_FORGES):
        return hold("git_command", *remote)
    if not _has_moved_branch(before, after):
        return Missing("no branch has moved since you were asked, so nothing was merged")
    for source, target in _list_joined_names(request.text):
        is_squash = any("--squash" in run.argv for call in request.turn.calls for run in call.runs)
        if target == after.branch and source in request.turn.facts.unmerged and not is_squash:
            return Missing(f"`{target}` does not contain `{source}`", f"run git merge {shlex.quote(source)}")
    calls = _find_merges(request)
    # A branch that stands where another stood before was moved forward, by whatever command.
    if not calls and not _has_joined_branch(before, after):
        return Missing("nothing in this turn merged or rebased a branch")
    return hold("git_state", *calls)


def _list_joined_names(text: str) -> list[tuple[str, str]]:
    """Return what is said to be merged into what: the names in backticks with `into` between them."""
    return [
        (source, target)
        for source, between, target in split_at_names(text, find_spans(text))
        if _SENTENCE_ENDS.isdisjoint(between) and any(has_wording(word, between) for word in ("into", "in"))
    ]


def _find_merges(request: ProofRequest) -> tuple[int, ...]:
    """Return the last call that merged; one that stopped at a conflict counts unless it was broken off."""
    for call in reversed(request.turn.calls):
        for run in call.runs:
            words, name = set(run.argv[1:5]), run.argv[0]
            if name in _HISTORY_PROGRAMS and words & find_task_words(name, "merges"):
                return () if words & find_task_words(name, "ends") else (call.seq,)
            # A script or a task of the project, by its name.
            if run.kind == "other" and name not in _HISTORY_PROGRAMS and "merge" in run.command_line:
                return (call.seq,)
        if call.kind == "mcp" and call.ok and any(command in call.tool for command in _MERGES):
            return (call.seq,)
    return ()


def _has_joined_branch(before: GitState, after: GitState) -> bool:
    """Return whether a branch that was there at the prompt points now to what another one pointed to."""
    known = {name: id for name, id in before.refs.items() if not name.startswith("refs/stash")}
    return any(
        after.refs.get(name, id) != id and after.refs[name] in known.values()
        for name, id in known.items()
        if name.startswith("refs/heads/")
    )


def _has_moved_branch(before: GitState, after: GitState) -> bool:
    """Return whether a branch points elsewhere than at the prompt; a new name for an old commit is no such thing."""
    known = {before.head, *before.refs.values()}
    heads = {name: id for name, id in after.refs.items() if name.startswith("refs/heads/")}
    was_moved = any(before.refs.get(name, id) != id for name, id in heads.items())
    return was_moved or any(id not in known for id in (after.head, *heads.values()))


def prove_settings(request: ProofRequest) -> Proof | None:
    """Return the command that changed the repository's settings and that a sentence reports (`added the remote x`)."""
    before, after = request.turn.facts.git_before, request.turn.facts.git_after
    if before is None or after is None or before.settings == after.settings or has_wording("code_work", request.text):
        return None
    # The settings show that it succeeded, also where the host does not tell.
    calls = request.turn.find_last(
        lambda call: (
            not call.failed
            and any(run.argv[0] in _VERSION_CONTROL and shares_word(run, request.text) for run in call.runs)
        )
    )
    return hold("git_state", *calls) if calls else None


def prove_push(request: ProofRequest) -> Proof | Missing:
    """Prove that the work is on the remote: a remote-tracking branch contains the commit."""
    before, after = request.turn.facts.git_before, request.turn.facts.git_after
    # `Added the remote upstream` speaks of a remote and of no push.
    if not has_wording("push", request.text) and before is not None and after is not None:
        if (settings := prove_settings(request)) is not None:
            return settings
        if before.settings == after.settings and "remote" in request.text.lower():
            named = "".join(f" `{name}`" for name in find_spans(request.text)[:1])
            return Missing(f"git's settings are as they were when you were asked, so no remote{named} is new")
    calls = _find_calls(request, "push", "pr", "mr", "merge")
    if after is None:
        return hold("pushed", *calls) if calls else Missing("no push or merge in this turn", "push")
    if after.pushed is None:
        return hold("pushed", *calls) if calls else Missing("nothing shows that the remote has it", "push")
    if not after.pushed:
        return Missing("no remote-tracking branch contains the current commit", "push")
    moved = before is not None and any(
        before.refs.get(name) != id for name, id in after.refs.items() if name.startswith("refs/remotes/")
    )
    # The remote had the commit before: then nothing was pushed, whatever the state shows.
    if not calls and not moved:
        return Missing("nothing was pushed in this turn", "push")
    if name := _find_unused_remote(request, before, after):
        return Missing(f"nothing was pushed to `{name}`", f"run git push {shlex.quote(name)} HEAD")
    if name := _find_unpushed_name(request, before, after):
        remote = next((ref.split("/")[2] for ref in after.refs if ref.startswith("refs/remotes/")), "origin")
        return Missing(f"no push of this turn was of `{name}`", f"run git push {remote} {shlex.quote(name)}")
    return hold("git_state", *calls)


def _find_unused_remote(request: ProofRequest, before: GitState | None, after: GitState) -> str:
    """Return a remote that is said to have been pushed to, while pushes named only others; empty without one."""
    pushes = [argv for argv in _list_history_runs(request) if "push" in argv[1:5]]
    used = {word for argv in pushes for word in argv if word in after.remotes}
    if before is None or not used or len(pushes) != sum(not used.isdisjoint(argv) for argv in pushes):
        return ""
    return next((name for name in find_spans(request.text) if name in after.remotes and name not in used), "")


def _find_unpushed_name(request: ProofRequest, before: GitState | None, after: GitState) -> str:
    """Return a tag or a new branch that is said to be pushed and is not; empty where there is none.

    Git does not keep which tags a remote has, so the commands decide; a script of the project may push any.
    """
    text = request.text
    if before is None or has_wording("denied", text):
        return ""
    tags, branches = (
        [name.removeprefix(prefix) for name in after.refs if name.startswith(prefix)]
        for prefix in ("refs/tags/", "refs/heads/")
    )
    spans = find_spans(text)
    names = [name for name in branches if name in spans and f"refs/heads/{name}" not in before.refs]
    remote_names = {ref.split("/", 3)[3] for ref in after.refs if ref.startswith("refs/remotes/")}
    names = [name for name in names if name not in remote_names]
    if has_wording("tag", text):
        named = [tag for tag in tags if tag in text]
        names += named or [tag for tag in tags if f"refs/tags/{tag}" not in before.refs]
    pushes = [argv for argv in _list_history_runs(request) if "push" in argv[1:5]]
    if not pushes or any(not find_task_words(argv[0], "tags").isdisjoint(argv) for argv in pushes):
        return ""
    words = {part.removeprefix("refs/tags/") for argv in pushes for word in argv for part in word.split(":")}
    return next((name for name in names if name not in words), "")
