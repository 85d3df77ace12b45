"""Secrets that leave: a key to a host that did not issue it, variables of a secret file, secrets that are pushed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from posixpath import join, normpath
from typing import TYPE_CHECKING

from verdikt.effects import host
from verdikt.effects.dataflow import OUTGOING_PREFIXES
from verdikt.effects.secret_issuers import ISSUER_DOMAINS, LISTED_DOMAINS, VARIABLE_ISSUERS
from verdikt.effects.word_kinds import SECRET_NAME
from verdikt.effects.zone_effects import derive_effect, holds_secret, is_foreign_secret
from verdikt.knowledge import find_role
from verdikt.model.effect import Certainty, Effects, Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.redaction import redact_text
from verdikt.shell.command import UNKNOWN, Word

if TYPE_CHECKING:
    from verdikt.effects.target import TargetResolver
    from verdikt.model.action import Action
    from verdikt.model.effect import Effect
    from verdikt.model.facts import Facts
    from verdikt.shell.command import Command

_VARIABLE = compile_lazily(r"\$\{?([A-Za-z_]\w*)")
_ORDINARY_VARIABLES = frozenset(
    "HOME PWD USER PATH TMPDIR HOSTNAME LANG SHELL UID URL BASE_URL API_URL HOST PORT ENDPOINT VERSION BRANCH".split()
)
_MESSAGES = ("message.send", "mcp.send")
_ENCODED = compile_lazily(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_LOCAL_NAME = compile_lazily(r"^(?:--?[\w-]+=)?(?:\w+=)?@?(?:file[b]?://)?")
"""What stands before the name of a file in a word: `--body=`, `f=@`, `fileb://`."""
_ADDRESS_DATA = compile_lazily(r"https?://(\S+)")
UNLISTED_PREFIXES = ("net.send", "net.connect", "message.send", "net.fetch")
"""Effects by which something may be sent; a fetch only by what its address carries."""
_MAX_ENCODED = 12
_MIN_ENCODED = 24
_PRIVATE_KEY = compile_lazily(r"-----BEGIN [A-Z ]*PRIVATE KEY")
_NAMED_SECRET = compile_lazily(r"\b[A-Z][A-Z0-9_]*(?:SECRET|TOKEN|PASSWORD|_KEY)[A-Z0-9_]*\s*[=:]\s*\S{6}")
_KEY_NAME = compile_lazily(r"TOKEN|KEY|SECRET|PASSWORD|_PAT$")


def _is_within(name: str, domains: Sequence[str]) -> bool:
    return any(name == domain or name.endswith(f".{domain}") for domain in domains)


def _list_foreign_hosts(effects: Effects, prefixes: tuple[str, ...]) -> Iterator[tuple[Effect, Target]]:
    """Yield the hosts of other machines to which effects send, each with its effect."""
    for effect in effects:
        if effect.what.startswith(prefixes):
            for target in effect.targets:
                is_named = target.kind == "host" and "." in target.text and "…" not in target.text
                if is_named and not host.is_local_host(target.text) and not host.is_metadata_host(target.text):
                    yield effect, target


def add_issuer_sends(effects: Effects, facts: Facts) -> Effects:
    """Return the effects with `cred.send` where a key in the action goes to a host that did not issue it."""
    issuers = {name for kind in facts.secrets if (name := kind.partition("-")[0]) in ISSUER_DOMAINS}
    if not issuers:
        # No reader of a message needs a secret, by whichever service it was issued.
        messages = [e for e in effects if e.what == "message.send" and e.certain] if facts.secrets else []
        sends = [derive_effect("cred.send", messages[0], messages[0].targets)] if messages else []
        return Effects((*effects.items, *sends)) if sends else effects
    domains = [domain for name in issuers for domain in ISSUER_DOMAINS[name]]
    sends = [
        derive_effect("cred.send", effect, (target,), note=f"a key of {', '.join(sorted(issuers))}")
        for effect, target in _list_foreign_hosts(effects, OUTGOING_PREFIXES)
        if effect.certain and not _is_within(target.text, domains)
    ]
    sends = sends[:1] or [
        derive_effect("cred.send", effect, effect.targets, note=f"a key of {', '.join(sorted(issuers))}")
        for effect in effects
        # A message of a service is read by people; one of the issuer's own service is not meant.
        if effect.what in _MESSAGES and effect.certain and not any(issuer in effect.by.lower() for issuer in issuers)
    ]
    sends = sends[:1] or list(_derive_remote_sends(effects, domains, facts))
    return Effects((*effects.items, *sends)) if sends else effects


def holds_encoded_secret(address: str) -> bool:
    """Return whether an address or a message carries a secret that an encoding hides: `?d=QVdTX1NFQ1JFVF9…`.

    An encoded secret may also be a part of the path or, as names are looked up by others, of the host.
    """
    if "?" not in address and "=" not in address and _ENCODED.search(address) is None:
        return False
    # Few addresses carry data, and a hook that no daemon answers would pay for the import.
    from verdikt.effects.code.decoder import decode_base64, decode_hidden_text, decode_percent

    plain = decode_percent(address)
    # A slash is a letter of base64, and parts a path.
    words = [word for match in _ENCODED.findall(plain) for word in (match.strip("/"), *match.split("/"))]
    tokens = list(dict.fromkeys(word for word in words if len(word) >= _MIN_ENCODED))[:_MAX_ENCODED]
    texts = [plain, *map(decode_base64, tokens), *(text for token in tokens for text in decode_hidden_text(token))]
    # What is decoded and names a secret is one, however much of it is there.
    return any(redact_text(text)[1] or _PRIVATE_KEY.search(text) for text in texts) or any(
        map(_NAMED_SECRET.search, texts[1:])
    )


def _derive_remote_sends(effects: Effects, domains: Sequence[str], facts: Facts) -> Iterator[Effect]:
    """Yield `cred.send` where a remote of git gets a key in its address: the next push or fetch sends it.

    The effect `cred.copy` lets the session remember the remote.
    """
    is_used = any(effect.what.startswith(("git.push", "git.fetch")) for effect in effects)
    for effect in effects:
        for target in effect.targets if effect.what.startswith("git.remote") else ():
            name = host.parse_host(target.text) if "://" in target.text else ""
            if "." in name and not _is_within(name, domains):
                send = derive_effect("cred.send", effect, (Target(name, "host"),), note="a key in a remote's address")
                # The address itself is known: only the key was taken out of it.
                yield send._replace(certainty=Certainty.CERTAIN if is_used else Certainty.POSSIBLE)
                remote = effect.targets[0].text
                kept = Target(f"the remote {remote}", "other", _make_remote_path(facts.project_root, remote))
                yield derive_effect("cred.copy", effect, (kept,))
                return


def _make_remote_path(project_root: str, remote: str) -> str:
    """Return the name under which the session remembers a remote; git keeps none of its own there."""
    return f"{project_root}/.git/remotes/{remote}"


def find_named_copies(effects: Effects, facts: Facts) -> list[Effect]:
    """Return `cred.send` for each upload whose words name a file into which the session put a secret."""
    uploads = [effect for effect in effects.items if effect.what in ("cloud.write", "repo.write", "repo.release")]
    copies = facts.secret_copies if uploads else ()
    return [
        derive_effect("cred.send", effect, (Target(path, "path", path, Zone.SECRET),), note="a copy of a secret")
        for effect in (uploads if copies else ())
        for path in dict.fromkeys(normpath(join(facts.cwd, _LOCAL_NAME.sub("", word))) for word in effect.by.split())
        if path in copies
    ]


def find_unlisted_hosts(effects: Effects, action: Action) -> list[tuple[Effect, Target]]:
    """Return the hosts that effects send to and that ordinary work does not talk to.

    A request for an address that carries data sends it: `?k=QUtJQVhY…`.
    """
    fetches = [effect for effect in effects.items if effect.what == "net.fetch"]
    prefixes = UNLISTED_PREFIXES if fetches and _carries_data(action) else UNLISTED_PREFIXES[:-1]
    sends = _list_foreign_hosts(effects, prefixes)
    return [(effect, target) for effect, target in sends if not is_listed_host(target.text)]


def _carries_data(action: Action) -> bool:
    """Return whether an address of an action has what looks like encoded data in its path, its query or its host."""
    texts = [action.command] if action.command else [text for text in action.payload.values() if isinstance(text, str)]
    return any(_ENCODED.search(part) for text in texts for part in _ADDRESS_DATA.findall(text))


def is_listed_host(name: str) -> bool:
    """Return whether ordinary work talks to a host, which may be this machine."""
    return _is_within(name, LISTED_DOMAINS) or host.is_local_host(name)


def is_issuer_host(variable: str, name: str) -> bool:
    """Return whether a host belongs to the issuer that a variable is named for: `GITHUB_TOKEN`, `CODECOV_KEY`."""
    first = variable.partition("_")[0].upper()
    issuer = VARIABLE_ISSUERS.get(first, first.lower())
    # A name of the issuer in the host is its own server: `gitlab.company.example`.
    return _is_within(name, ISSUER_DOMAINS.get(issuer, ())) or issuer in name


def derive_key_variable_sends(command: Command, effects: Sequence[Effect]) -> list[Effect]:
    """Return `cred.send` where a variable that is named for one issuer's key goes to another host."""
    names = {name.upper() for word in command.argv if UNKNOWN in word.text for name in _VARIABLE.findall(word.raw)}
    if not names:
        return []
    issuers = {VARIABLE_ISSUERS.get(first, first.lower()) for name in names for first in [name.partition("_")[0]]}
    issuers = {issuer for issuer in issuers if ISSUER_DOMAINS.get(issuer)}
    if not issuers or not any(_KEY_NAME.search(name) for name in names):
        return []
    domains = [domain for issuer in issuers for domain in ISSUER_DOMAINS[issuer]]
    for effect, target in _list_foreign_hosts(Effects(tuple(effects)), OUTGOING_PREFIXES):
        # A name of the issuer in the host is its own server: `gitlab.company.example`.
        if not _is_within(target.text, domains) and not any(issuer in target.text for issuer in issuers):
            return [derive_effect("cred.send", effect, (target,), possible=True, note="a key for another host")]
    return []


# Within one text.

_SCRIPT_LOADERS = frozenset(("source", "."))
_VARIABLE_READERS = find_role("variable_reader")
_FILE_LOADERS = _SCRIPT_LOADERS | _VARIABLE_READERS
_SHELL_LOADERS = _SCRIPT_LOADERS | find_role("variable_exporter")
_VARIABLE_SETTERS = find_role("variable_setter")
_FORGE_CLIENTS = find_role("forge")
_CONTAINER_ENGINES = find_role("container_engine")
_PUBLISHERS = _FORGE_CLIENTS | _CONTAINER_ENGINES
_STAGERS = find_role("work_tree_changer")
SECRET_FILE_PROGRAMS = _FILE_LOADERS | _PUBLISHERS | _STAGERS
"""Programs that load, attach or stage files; a text without one of them is not looked at."""
_STARTING_VERBS = frozenset(("run", "create"))
"""What a container engine does with an image, which may get secrets."""
_REMOTE_VERBS = frozenset(("push", "fetch", "pull"))
"""What git does with a remote, whose address may hold a key."""
_MESSAGE_VERBS = frozenset(("notes", "tag", "commit", "hash-object", "commit-tree"))
_MESSAGE_WORDS = frozenset(("-F", "--file", "notes", "hash-object"))
"""Words by which git takes a file for a message, a note or an object."""
_STAGING_VERBS = frozenset(("add", "stage", "commit")) | _REMOTE_VERBS | _MESSAGE_WORDS
_STAGING_ONLY = ("add", "stage", "commit")
_UNSTAGING_VERBS = frozenset(("reset", "restore", "rm"))
_STAGE_ALL = compile_lazily(r"-[a-z]*[aAu][a-z]*$|--(?:all|update)$")
"""Options by which git takes every changed file: `commit -am x`, `add -A`."""
_FORCE = compile_lazily(r"-[a-zA-Z]*f[a-zA-Z]*$|--force$")
_SETTINGS_FILES = (".env", ".env.local", ".env.production", ".env.staging", ".env.development")
"""Secret files that lie at the top of a project, where git leaves them out."""
_TRACED_VERBS = _STAGING_VERBS | _UNSTAGING_VERBS


def handles_secret_files(name: str, command: Command) -> bool:
    """Return whether a command of one of `SECRET_FILE_PROGRAMS` may load, attach, stage or send secret files."""
    verbs = _STAGING_VERBS if name in _STAGERS else _STARTING_VERBS if name in _CONTAINER_ENGINES else None
    return verbs is None or not verbs.isdisjoint([word.text for word in command.argv])


def trace_secret_files(
    commands: Sequence[Command], effects_by_command: list[list[Effect]], resolver: TargetResolver
) -> None:
    """Add what becomes of secret files that commands load, attach or stage, in order."""
    has_loaded = False
    copies = {t.path for effects in effects_by_command for e in effects if e.what == "cred.copy" for t in e.targets}
    remembered = resolver.facts.secret_copies
    copies.update(remembered)
    is_staged = bool(remembered) and f"{resolver.project_root}/.git/index" in remembered
    # Without a secret that is read, none feeds a loop or a message.
    has_secret = bool([1 for effects in effects_by_command for e in effects if e.what == "cred.read"])
    for index, (command, effects) in enumerate(zip(commands, effects_by_command, strict=True)):
        if not effects:
            continue
        name = command.name
        is_loaded = name in _FILE_LOADERS and _loads_secret_file(command, effects, resolver)
        if is_loaded or (has_secret and _feeds_loop(command, commands, effects)):
            has_loaded = True
        elif has_loaded:
            effects.extend(list(_derive_variable_sends(command, effects)))
        if name in _STAGERS:
            # `git commit -m "$(cat .env)"`: the secret is in the message.
            is_staged |= has_secret and any(
                inner.feeds == index and any(e.what == "cred.read" for e in effects_by_command[at])
                for at, inner in enumerate(commands[:index])
            )
            is_staged = _trace_git(command, effects, resolver, copies, is_staged=is_staged)
        elif name in _PUBLISHERS and (files := _list_attached_secrets(command, resolver)):
            what_possible = name not in _FORGE_CLIENTS
            effects.append(derive_effect("cred.send", effects[0], tuple(files), possible=what_possible))


def _loads_secret_file(command: Command, effects: Sequence[Effect], resolver: TargetResolver) -> bool:
    """Return whether a command fills the shell's variables from a secret file: `source .env`, `read K < .env`."""
    if command.name in _SCRIPT_LOADERS:
        return any(holds_secret(resolver.resolve_path(word, command.cwd), resolver.facts) for word in command.argv[1:2])
    return any(e.what == "cred.read" for e in effects)


def _feeds_loop(command: Command, commands: Sequence[Command], effects: Sequence[Effect]) -> bool:
    """Return whether a loop takes its values from a secret file: `for l in $(cat .env)`, `done < .env`."""
    if not any(effect.what == "cred.read" for effect in effects):
        return False
    if not command.argv:
        return any(neighbour.name in _VARIABLE_READERS for neighbour in commands)
    return "$()" in command.via and command.feeds is None and any(neighbour.repeated for neighbour in commands)


def _derive_variable_sends(command: Command, effects: Sequence[Effect]) -> Iterator[Effect]:
    """Yield `cred.send` for a request with a variable in it that a secret file may have filled."""
    sends = [
        effect
        for effect in effects
        if effect.what.startswith(OUTGOING_PREFIXES)
        and any(t.kind == "host" and not host.is_local_host(t.text) for t in effect.targets)
    ]
    for index, word in enumerate(command.argv) if sends else ():
        names = [name for name in _VARIABLE.findall(word.raw) if name.upper() not in _ORDINARY_VARIABLES]
        # Its value may be known: the file was read.
        if not names:
            continue
        target = sends[0].targets[0]
        # The service that a key is for is usually in the variable's name: STRIPE_KEY goes to api.stripe.com.
        is_own = all(any(part in target.text for part in name.lower().split("_") if len(part) > 3) for name in names)
        if is_own and "$" not in target.text:
            continue
        is_header = index > 0 and command.argv[index - 1].text in ("-H", "--header", "-u", "--user")
        yield derive_effect("cred.send", sends[0], (target,), possible=is_header, note="a variable of a secret file")
        return


def drop_loaded_reads(
    commands: Sequence[Command], effects_by_command: list[list[Effect]], resolver: TargetResolver
) -> None:
    """Turn `cred.read` into `keys.list` where variables are set from a file of the project, as `source .env` does."""
    for index, effects in enumerate(effects_by_command):
        reads = [effect for effect in effects if effect.what == "cred.read"]
        targets = [target for effect in reads for target in effect.targets]
        if not targets or any(not t.path or is_foreign_secret(t, resolver.project_root) for t in targets):
            continue
        receiver = index
        while (following := commands[receiver].pipe_to) is not None and receiver < following < len(commands):
            receiver = following
        loader = commands[receiver].feeds
        if loader is not None and loader < len(commands) and _sets_variables(commands[loader]):
            effects_by_command[index] = [
                derive_effect("keys.list", e, e.targets, note="for variables") if e.what == "cred.read" else e
                for e in effects
            ]


def _sets_variables(command: Command) -> bool:
    """Return whether a command sets variables from its words, and shows none: `env` without a program prints all."""
    return command.name in _SHELL_LOADERS or (command.name in _VARIABLE_SETTERS and len(command.argv) > 2)


_BODY_OPTIONS = frozenset(("--body-file", "-F", "--notes-file", "--field", "--input", "--description-file"))
_TEXT_OPTIONS = frozenset(("--body", "-b", "--title", "-t", "--notes", "-n", "--message", "-m", "--description", "-d"))
_KEY_STORES = frozenset(("secret", "variable", "auth", "ssh-key", "gpg-key"))
_ENVIRONMENT_OPTIONS = frozenset(("--env-file",))


def _list_attached_secrets(command: Command, resolver: TargetResolver) -> list[Target]:
    """Return the secret files that a command publishes at a forge, or gives to an image that others made."""
    if command.name in _FORGE_CLIENTS:
        options = _BODY_OPTIONS
    elif command.name in _CONTAINER_ENGINES and _runs_foreign_image(command):
        # A composition fills its own text from such a file, and gives a container what it says itself.
        options = frozenset() if _is_composition(command) else _ENVIRONMENT_OPTIONS
    else:
        return []
    files: list[Target] = []
    texts = [word.text for word in command.argv]
    if "release" in texts:
        words = command.argv[texts.index("release") + 2 :]
        attached = [resolver.resolve_path(word, command.cwd) for word in words if word.text[:1] != "-"]
        files += [target for target in attached if holds_secret(target, resolver.facts)]
    # `gh secret set X --body …` puts a key where it belongs.
    is_store = not _KEY_STORES.isdisjoint([word.text for word in command.argv[1:2]])
    written = _iter_options(command, is_raw=True) if options is _BODY_OPTIONS and not is_store else ()
    if any(option in _TEXT_OPTIONS and UNKNOWN in value for option, value in written):
        files.append(Target("a key in the text", "other"))
    for option, value in _iter_options(command):
        variable = value.partition("=")[0]
        if option in ("-e", "--env") and options is _ENVIRONMENT_OPTIONS and SECRET_NAME.search(variable):
            files.append(Target(variable, "other"))
        if option in options:
            target = resolver.resolve_path(Word(value.rpartition("@")[2], value), command.cwd)
            is_plain = options is _ENVIRONMENT_OPTIONS and _sets_no_secret(target, resolver)
            files += [target] if holds_secret(target, resolver.facts) and not is_plain else []
    return files


def _sets_no_secret(target: Target, resolver: TargetResolver) -> bool:
    """Return whether a file of variables can be read and none of its names is that of a secret: `ops/ports.env`."""
    # A file of the person's, one that is called secret, or a copy of one, is no plain file whatever its names are.
    is_own = target.path.startswith(f"{resolver.project_root}/") and target.path not in resolver.facts.secret_copies
    is_named_secret = "/.env" in target.path or SECRET_NAME.search(target.path) is not None
    text = resolver.facts.text(target.path) if is_own and not is_named_secret else None
    return (
        text is not None and UNKNOWN not in text and SECRET_NAME.search(text) is None and redact_text(text)[0] == text
    )


def _is_composition(command: Command) -> bool:
    """Return whether an engine of containers is told to start a composition."""
    return command.name.endswith("-compose") or any(word.text == "compose" for word in command.argv[1:2])


def _iter_options(command: Command, *, is_raw: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the options of a command with their values; as they were written, a secret is what redaction took out."""
    texts = [word.raw if is_raw else word.text for word in command.argv[1:]]
    for index, text in enumerate(texts):
        name, equals, value = text.partition("=")
        if equals and name.startswith("-"):
            yield name, value
        elif text.startswith("-") and index + 1 < len(texts):
            yield text, texts[index + 1]


def _runs_foreign_image(command: Command) -> bool:
    """Return whether a container runs an image under the name of an account: `someone/image`, not `postgres:16`."""
    texts = [word.text for word in command.argv[1:]]
    # Options may stand before the verb; what `exec` runs has verbs of its own.
    if _STARTING_VERBS.isdisjoint(texts if "exec" not in texts else texts[:2]):
        return False
    return any("/" in text and text[:1] not in ("-", "/", ".", "~") and ":/" not in text for text in texts)


def _trace_git(
    command: Command,
    effects: list[Effect],
    resolver: TargetResolver,
    copies: Collection[str],
    *,
    is_staged: bool,
) -> bool:
    """Add what git does with secrets; return whether one is staged afterwards."""
    texts = [word.text for word in command.argv]
    if _TRACED_VERBS.isdisjoint(texts):
        return is_staged
    words = [word for word in command.argv[1:] if not word.text.startswith("-")]
    verb = words[0].text if words else ""
    stages_all = verb in _STAGING_ONLY and any(map(_STAGE_ALL.match, texts[2:]))
    if verb in _MESSAGE_VERBS and not (verb == "commit" and stages_all):
        return is_staged or _stores_secret(command, verb, effects, resolver)
    if verb in _STAGING_ONLY:
        is_forced = verb != "commit" and any(map(_FORCE.match, texts[2:]))
        paths = [Word(resolver.project_root)] if stages_all else words[1:]
        secrets = [t for t in (_resolve_staged(word, command, resolver, copies) for word in paths) if t is not None]
        # Of what git does not have yet, `commit -a` takes nothing.
        secrets += _list_settings_files(paths, command, resolver) if verb != "commit" else []
        secrets = [target for target in secrets if is_forced or not _is_left_out(target, resolver)]
        if secrets:
            index = Target("the next commit", "other", f"{resolver.project_root}/.git/index")
            effects.append(derive_effect("cred.copy", effects[0], (index,), note=f"stages {secrets[0].text}"))
        return is_staged or bool(secrets)
    if verb in _UNSTAGING_VERBS:
        return False
    remembered = resolver.facts.secret_copies if verb in _REMOTE_VERBS else ()
    if remembered and any(_make_remote_path(resolver.project_root, word.text) in remembered for word in words[1:2]):
        send = derive_effect("cred.send", effects[0], effects[0].targets, note="a key in the remote's address")
        effects.append(send._replace(certainty=Certainty.CERTAIN))
    if verb == "push" and is_staged:
        push = next((effect for effect in effects if effect.what.startswith("git.push")), effects[0])
        effects.append(derive_effect("cred.send", push, push.targets, note="a secret that was staged before"))
    return is_staged


def _is_left_out(target: Target, resolver: TargetResolver) -> bool:
    """Return whether git has nothing to take from a file: it is ignored, or as the last commit has it.

    Its state alone does not tell: what the session had git ignore counts as work.
    """
    left_out = ("ignored", "tracked")
    return target.state in left_out or (bool(target.path) and resolver.facts.path(target.path).git in left_out)


def _list_settings_files(words: Sequence[Word], command: Command, resolver: TargetResolver) -> list[Target]:
    """Return the secret files in directories that git takes as a whole; it leaves out those that are ignored."""
    directories = [resolver.to_absolute(word.text.removeprefix(":/") or ".", command.cwd) for word in words]
    paths = [f"{directory}/{name}" for directory in directories if directory for name in _SETTINGS_FILES]
    existing = [path for path in paths if resolver.facts.path(path, git=False).kind == "file"]
    return [resolver.resolve_absolute(path, with_state=True) for path in existing]


def _stores_secret(command: Command, verb: str, effects: list[Effect], resolver: TargetResolver) -> bool:
    """Add `cred.copy` where git makes a note, a message or an object of a secret file: `git notes add -F .env`."""
    files = [value for option, value in _iter_options(command) if option in ("-F", "--file")]
    if verb == "hash-object":
        files += [word.text for word in command.argv[2:] if word.text[:1] != "-"]
    secrets = [resolver.resolve_path(Word(file, file), command.cwd) for file in files]
    secrets = [target for target in secrets if holds_secret(target, resolver.facts)]
    if secrets:
        index = Target("the next push", "other", f"{resolver.project_root}/.git/index")
        effects.append(derive_effect("cred.copy", effects[0], (index,), note=f"stores {secrets[0].text}"))
    return bool(secrets)


def _resolve_staged(word: Word, command: Command, resolver: TargetResolver, copies: Collection[str]) -> Target | None:
    target = resolver.resolve_path(word, command.cwd)
    for copy in copies if target.path else ():
        # A directory, with a copy that the session put into it and that git does not leave out.
        is_inside = copy.startswith(f"{target.path}/") and "/.git/" not in copy
        if is_inside and resolver.resolve_path(Word(copy), None, with_state=True).state != "ignored":
            return target
    if target.path not in copies and not holds_secret(target, resolver.facts):
        return None
    return resolver.resolve_path(word, command.cwd, with_state=True)
