"""Classify tools of connected services (MCP) by declaration, annotations, the words of their name and arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from verdikt.effects import host
from verdikt.effects.arguments import word_set
from verdikt.effects.code import classify_code, quote_shell_word
from verdikt.effects.deferred_files import classify_file_content, make_overflow_effect
from verdikt.effects.effect_catalog import find_entry
from verdikt.effects.file_address import list_paths, read_file_address
from verdikt.effects.handlers.network import classify_service_request
from verdikt.effects.installation_names import is_for_trials, is_live_name
from verdikt.effects.mcp_records import classify_counterpart, classify_recorded, find_places, is_named_for_command
from verdikt.effects.secret_sends import holds_encoded_secret
from verdikt.effects.tool_arguments import find_schema, list_tool_arguments
from verdikt.effects.tool_data_store import settle_tool_losses
from verdikt.effects.tool_name import (
    SEARCH_VERBS,
    infer_effects,
    infer_verb_effect,
    list_names,
    split_service_name,
    split_tool_name,
)
from verdikt.effects.tool_values import classify_values, drop_guesses, find_method, is_dry_run, iter_texts
from verdikt.effects.zone_effects import derive_zone_effects, holds_secret
from verdikt.knowledge import find_record
from verdikt.model.argument_kind import ArgumentKind
from verdikt.model.effect import Certainty, Effect, EffectClass, Target
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.action import Action

_EFFECT_BY_CLASS = {
    "read": "mcp.read",
    "write": "mcp.write",
    "network": "mcp.send",
    "execute": "mcp.run",
    "spawn": "agent.run",
    "destructive": "mcp.delete",
}
_FILE_EFFECT_BY_VERB = {
    "mcp.delete": "fs.delete.tree",
    "mcp.write": "fs.overwrite",
    "mcp.read": "fs.read",
    "mcp.send": "fs.read",
}


def classify_mcp_tool(action: Action, call: Invocation, manifest: Mapping[str, Any]) -> Iterator[Effect]:
    """Yield the effects of a service's tool: declared ones first; hints and arguments raise them and never lower."""
    entry = manifest.get(action.tool)
    target = (Target(action.tool, "other"),)
    # What a person confirmed for a pinned tool counts like a line of the manifest, which goes first.
    confirmed = {"effects": action.hints.get("effects")} if entry is None else entry
    declared = list(_classify_declared(confirmed, target, call))
    yield from declared

    names = [action] if declared else list_names(action)
    annotations = _find_annotations(entry, action)
    if not declared and is_dry_run(action.payload, find_schema(entry, action.payload)):
        effects = [call.make_effect("mcp.read", target, note="a dry run")]
    else:
        effects = [effect for name in names for effect in _classify_name(name, target, annotations, call, declared)]
        effects += () if declared else classify_values(action, call, in_browser=_is_browser(action.tool))
    # Under its own name in any case: what a command or a path among them does is the same under every name.
    for name in dict.fromkeys((action.tool, *(name.tool for name in names))):
        effects += classify_arguments(replace(action, tool=name), call, manifest)
    yield from dict.fromkeys(effects if declared else drop_guesses(action, effects))


def _classify_name(
    action: Action,
    target: tuple[Target, ...],
    annotations: Mapping[str, Any],
    call: Invocation,
    declared: Sequence[Effect],
) -> Iterator[Effect]:
    """Yield what the name of a tool says, by its record, its counterpart or its words."""
    verb_effect = infer_verb_effect(action.tool)
    proposed = action.hints.get("proposed", ())
    recorded = None if declared else classify_recorded(action, split_service_name(action.tool), call)
    yield from recorded or ()
    if not declared and recorded is None:
        counterpart = classify_counterpart(action, split_tool_name(action.tool), call)
        yield from counterpart
        # A server's own word fills in for a name that says nothing; it never lowers what the name says.
        if verb_effect or not (proposed or counterpart):
            yield call.make_effect(verb_effect or "unknown.tool", target)
        for name in proposed:
            if name in _EFFECT_BY_CLASS and (name != "read" or not verb_effect):
                yield call.make_effect(
                    _EFFECT_BY_CLASS[name], target, possible=name != "read", note="it says so itself"
                )
    # A declaration knows more than the words of a name.
    for what, note in () if declared else infer_effects(action.tool, action.payload):
        if what == "cloud.write" and recorded is not None:
            continue  # a record knows which tools of such a service change something
        # Which branch a forced push overwrites is unknown; the current one is the likeliest.
        targets = (Target("the current branch", "ref"),) if what == "git.push.force" else target
        yield call.make_effect(what, targets, note=note)
    if annotations.get("destructiveHint") is True and verb_effect != "mcp.delete":
        yield call.make_effect("mcp.delete", target, possible=True, note="it says so itself")
    if annotations.get("openWorldHint") is True and verb_effect in ("mcp.write", "") and not declared:
        yield call.make_effect("mcp.send", target, possible=True)
    if verb_effect == "mcp.delete" and not declared:
        yield from _classify_whole_delete(action, target, call)
    elif verb_effect == "mcp.send" and _carries_encoded_secret(action.payload):
        yield call.make_effect("cred.send", target, note="a secret that an encoding hides")


_WHOLE_DELETES: tuple[tuple[frozenset[str], str], ...] = (
    (word_set("repository repositories repo repos"), "repo.delete"),
    (word_set("database databases keyspace"), "db.drop"),
    (word_set("namespace namespaces"), "k8s.delete.all"),
    (
        word_set(
            "bucket buckets cluster clusters volume backup backups snapshots vault tenant organization project "
            "projects space spaces zone zones domain domains"
        ),
        "cloud.delete",
    ),
)
"""What holds the work of many, and the effect of deleting it."""
_KIND_KEYS = ("kind", "type", "resource_type", "resourceType", "resource_kind", "resourceKind", "resource")
_MAX_NAME = 200


def _classify_whole_delete(action: Action, target: tuple[Target, ...], call: Invocation) -> Iterator[Effect]:
    """Yield what a deletion means where all of something goes, or where the arguments name what is live."""
    arguments = action.payload if isinstance(action.payload, Mapping) else {}
    texts = [value for value in arguments.values() if isinstance(value, str) and len(value) < _MAX_NAME]
    if any(map(is_for_trials, texts)):
        return
    kinds = [str(arguments.get(key, "")).lower() for key in _KIND_KEYS]
    # The last word is what is deleted: `delete_repository`, but not `delete_repository_label`.
    nouns = {*split_tool_name(action.tool)[-1:], *kinds}
    for words, what in _WHOLE_DELETES:
        if not words.isdisjoint(nouns):
            yield call.make_effect(what, target, recoverable=False)
            return
    if any(map(is_live_name, texts)):
        yield call.make_effect("cloud.delete", target, note="its arguments name what is live")


def _carries_encoded_secret(payload: Any) -> bool:
    """Return whether one of the texts that a tool sends is a secret in an encoding."""
    texts = payload.values() if isinstance(payload, Mapping) else ()
    return any(isinstance(text, str) and holds_encoded_secret(text) for text in texts)


def classify_declared_effects(action: Action, call: Invocation, manifest: Mapping[str, Any]) -> list[Effect]:
    """Return the effects that the manifest declares for a tool, whatever its arguments."""
    return list(_classify_declared(manifest.get(action.tool), (Target(action.tool, "other"),), call))


def _classify_declared(entry: Any, target: tuple[Target, ...], call: Invocation) -> Iterator[Effect]:
    names = entry.get("effects") if isinstance(entry, Mapping) else None
    for name in names if isinstance(names, list | tuple) else ():
        if isinstance(name, str) and name in tuple(EffectClass):
            what = _EFFECT_BY_CLASS[name]
            yield Effect(
                cls=EffectClass(name),
                what=what,
                targets=target,
                certainty=Certainty.CERTAIN,
                recoverable=find_entry(what).recoverable,
                by=call.command_line,
                note="declared",
            )


def _find_annotations(entry: Any, action: Action) -> Mapping[str, Any]:
    """Return the tool's MCP annotations, from the manifest or else from the payload."""
    for holder in (entry, action.payload):
        annotations = holder.get("annotations") if isinstance(holder, Mapping) else None
        if isinstance(annotations, Mapping):
            return annotations
    return {}


def classify_arguments(action: Action, call: Invocation, manifest: Mapping[str, Any] | None = None) -> Iterator[Effect]:
    """Yield what the arguments of a tool mean: commands, queries, code, paths and addresses, whichever tool runs them.

    The tool's schema is taken from the manifest, or from the metadata of the payload.
    """
    payload = action.payload
    if not isinstance(payload, Mapping):
        return
    payload = _add_canonical_keys(payload, action.hints.get("arguments"))
    verb_effect = infer_verb_effect(action.tool)
    schema = find_schema((manifest or {}).get(action.tool), payload)
    searches = not SEARCH_VERBS.isdisjoint(split_tool_name(action.tool)[:1])
    words = (*split_service_name(action.tool), *split_tool_name(action.tool))
    runs = verb_effect in ("mcp.run", "") or not _TERMINAL_WORDS.isdisjoint(words)
    in_browser = _is_browser(action.tool)
    arguments, is_complete = list_tool_arguments(payload, schema, runs=runs, searches=searches, in_browser=in_browser)
    if not is_complete:
        yield make_overflow_effect(call, "in its arguments")
    bare_effects = list(_classify_bare_arguments(action, payload, call))
    yield from bare_effects
    for kind, text, language in arguments:
        if kind is ArgumentKind.SHELL:
            is_bare = bool(bare_effects) and find_record(text.partition(" ")[0]) is None
            yield from () if is_bare else call.classify_shell(text)
        elif kind is ArgumentKind.SQL:
            yield from settle_tool_losses(call, list(_classify_query(text, call)), payload)
        elif kind is ArgumentKind.URL:
            yield from _classify_address(text, call, sends=verb_effect == "mcp.send" or _has_body(payload))
            if method := find_method(payload):
                is_local = host.is_local_host(host.parse_host(text))
                body = " ".join(str(payload[key]) for key in _BODY_KEYS if payload.get(key))
                yield from classify_service_request(call, method, [Word(text, text)], body, local=is_local)
        elif kind is ArgumentKind.CODE and (verb_effect in ("mcp.run", "") or _runs_at_once(payload)):
            yield from classify_code(language or ("node" if in_browser else "python"), text, call)
    if verb_effect != "mcp.read":
        yield from _classify_attachments(payload, call)
    # A tool that starts containers: privileged, or with the machine's root directory mounted.
    if payload.get("privileged") is True or "/:/" in str(payload.get("volumes", ""))[:400]:
        yield call.make_effect("container.escape", (Target(action.tool, "other"),))
    paths = [path for kind, text, _ in arguments if kind is ArgumentKind.PATH for path in list_paths(text)]
    has_address = any(kind is ArgumentKind.URL for kind, _, _ in arguments)
    if is_named_for_command(split_tool_name(action.tool)):
        # `git_branch_delete` deletes in a repository, and not the repository.
        paths = [path for path in paths if path not in find_places(payload, call)]
    yield from _classify_path_arguments(action, paths, verb_effect, call, has_address=has_address)


_RUN_KEYS = ("run", "execute", "run_now", "auto_run", "eval")


def _runs_at_once(payload: Mapping[str, Any]) -> bool:
    """Return whether the arguments of a tool that writes code ask for running it, too."""
    return any(payload.get(key) is True for key in _RUN_KEYS)


def _classify_attachments(payload: Mapping[str, Any], call: Invocation) -> Iterator[Effect]:
    """Yield `cred.send` for a secret file that goes along with a message, whatever the tool is called."""
    texts = [
        text
        for key, value in sorted(payload.items(), key=lambda item: str(item[0]))
        if "attach" in str(key).lower()
        for _, text in iter_texts(value, str(key))
    ]
    paths = [path for text in texts[:64] if len(text) < 4096 for path in list_paths(text)]
    targets = [call.resolve_path(Word(path, path)) for path in paths]
    if secrets := tuple(target for target in targets if holds_secret(target, call.facts)):
        yield call.make_effect("cred.send", secrets)


def _is_browser(tool: str) -> bool:
    return not _BROWSER_WORDS.isdisjoint((*split_service_name(tool), *split_tool_name(tool)))


def _classify_bare_arguments(action: Action, payload: Mapping[str, Any], call: Invocation) -> Iterator[Effect]:
    """Yield the effects of arguments without a program, where the tool is named for it: `redis`, `["FLUSHALL"]`."""
    words = next((payload[key] for key in _ARGUMENT_KEYS if isinstance(payload.get(key), list | tuple)), None)
    if not words or not all(isinstance(word, str) for word in words) or find_record(words[0]) is not None:
        return
    names = [*sorted(split_service_name(action.tool)), *reversed(split_tool_name(action.tool))]
    names = [name for name in names if not infer_verb_effect(name)]  # `command` and `run` are no programs here
    program = next((each for name in names for each in (name, f"{name}-cli") if find_record(each) is not None), "")
    if program:
        yield from call.classify_shell(" ".join([program, *(quote_shell_word(word) for word in words)]))


_TERMINAL_WORDS = frozenset("term terminal tty pty tmux screen console shell repl ssh bash zsh powershell".split())
"""Words of a tool's name that tell that what it sends is typed into a shell."""
_BROWSER_WORDS = frozenset("browser playwright puppeteer chrome chromium devtools selenium page webview".split())
"""Words of a tool's name that tell that its script is one of a page."""
_ARGUMENT_KEYS = ("args", "argv", "arguments", "params")


def _classify_query(text: str, call: Invocation) -> Iterator[Effect]:
    # Few tools take a query, and every hook that no daemon answers would pay for the import.
    from verdikt.effects.code.sql import classify_sql, looks_like_sql

    if looks_like_sql(text):
        yield from classify_sql(text, call)


_BARE_HOST = compile_lazily(r"(?:[\w-]+\.)+[A-Za-z]{2,}(?::\d+)?(?:[/?#]\S*)?$")
"""An address that leaves its scheme out: `www.site.example/page`."""
_TEXT_KEYS = ("content", "contents", "file_text", "text", "data")
_BODY_KEYS = ("body", "data", "payload", "json", "form", "content")
_KEY_BY_KIND = {"shell": "command", "sql": "sql", "code": "code", "path": "path", "url": "url"}


def _add_canonical_keys(payload: Mapping[str, Any], kinds: Any) -> Mapping[str, Any]:
    """Return the arguments with those of a kind that the tool's schema tells also under the usual key of that kind."""
    if not isinstance(kinds, Mapping):
        return payload
    added: dict[str, Any] = {}
    for name, kind in kinds.items():
        key = _KEY_BY_KIND.get(kind, "")
        if key and name in payload and key not in payload:
            added.setdefault(key, payload[name])
    return {**payload, **added} if added else payload


def _classify_path_arguments(
    action: Action, paths: Sequence[str], verb_effect: str, call: Invocation, *, has_address: bool
) -> Iterator[Effect]:
    """Yield the effects on path arguments: of a tool for files on all of them, of others on those of this machine.

    With `has_address`, what is fetched from there is saved in the file.
    """
    name = action.tool.lower()
    what = _FILE_EFFECT_BY_VERB.get(verb_effect, "")
    if not what or not paths:
        return
    if "file" in name or "director" in name or "fs" in name:
        local_paths = [path for path in paths if "/" in path or "." in path]
    else:
        # Of a service the path may be one of its own; what begins at the root or the home is this machine's.
        local_paths = [path for path in paths if path.startswith(("~/", "/"))]
        local_paths = local_paths if what != "fs.overwrite" or has_address else []
    words = [Word(path, path) for path in local_paths[:64]]
    text = next((t for key in _TEXT_KEYS if isinstance(t := action.payload.get(key), str)), "")
    for word in words[:1] if what == "fs.overwrite" and text else ():
        yield from classify_file_content(call, word.text, text)
    effects = list(call.make_effects(what, words))
    yield from effects
    derived = derive_zone_effects(effects, call.facts)
    yield from derived
    if verb_effect == "mcp.send":
        secrets = [effect for effect in derived if effect.what == "cred.read"]
        yield from (call.make_effect("cred.send", effect.targets) for effect in secrets)


def _has_body(payload: Mapping[str, Any]) -> bool:
    """Return whether the arguments of a request carry data besides its address."""
    return find_method(payload) in ("POST", "PUT", "PATCH") or any(map(payload.get, _BODY_KEYS))


def _classify_address(address: str, call: Invocation, *, sends: bool) -> Iterator[Effect]:
    """Yield the effects of an address: a file of this machine, the metadata service of its cloud, or another host."""
    if file_paths := read_file_address(address):
        effects = list(call.make_effects("fs.read", [Word(path) for path in file_paths]))
        yield from effects
        yield from derive_zone_effects(effects, call.facts)
        return
    name = host.parse_host(address)
    if host.is_metadata_host(name):
        yield call.make_effect("cred.read", (Target(name, "host"),), note="credentials of the machine")
    elif "://" in address or _BARE_HOST.match(address):
        what = "net.local" if host.is_local_host(name) else "net.send" if sends else "net.fetch"
        yield call.make_effect(what, (Target(name, "host"),))
        if what != "net.local" and holds_encoded_secret(address):
            yield call.make_effect("cred.send", (Target(name, "host"),), note="a secret in the address")


def collect_paths(payload: Any, keys: tuple[str, ...]) -> list[str]:
    """Return the paths under these keys of a payload, each a text or a list of texts."""
    paths: list[str] = []
    if isinstance(payload, Mapping):
        for key in keys:
            value = payload.get(key)
            if isinstance(value, str) and value:
                paths += list_paths(value)
            elif isinstance(value, list | tuple):
                paths += [path for item in value if isinstance(item, str) for path in list_paths(item)]
    return paths
