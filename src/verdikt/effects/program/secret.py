"""Keepers of secrets: what shows one, what changes or destroys one, and what only looks at names."""

from collections.abc import Iterator

from verdikt.effects import command_verbs
from verdikt.effects.arguments import word_set
from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.lazy_regex import compile_lazily


def classify_gpg(call: Invocation) -> Iterator[Effect]:
    args = call.args
    keys = tuple(Target(word.display_text, "other") for word in args.operands)
    if args.has_flag("--export-secret-keys --export-secret-subkeys --export-ssh-key"):
        yield call.make_effect("cred.read", keys, note="a secret key")
    elif args.has_flag(
        "--delete-secret-keys --delete-secret-key --delete-secret-and-public-key --delete-secret-and-public-keys"
    ):
        yield call.make_effect("cred.destroy", keys, note="a secret key")
    elif args.has_flag("--delete-keys --delete-key"):
        yield call.make_effect("cred.delete", keys)
    elif args.has_flag("-d --decrypt --decrypt-files"):
        yield call.make_effect("cred.read", keys, note="opens what was closed")
    else:
        yield call.make_effect("keys.list")


def classify_ssh_keygen(call: Invocation) -> Iterator[Effect]:
    args = call.args
    file = args.get_value("-f")
    if args.has_flag("-l -R -F -H -B -Y -L -Q"):
        yield call.make_effect("keys.list")
    elif args.has_flag("-y"):
        yield call.make_effect("keys.list", note="the public half")
    elif args.has_flag("-p -c -s -A -k"):
        yield call.make_effect("cred.write", (call.resolve_path(file),) if file is not None else ())
    elif file is None:
        yield call.make_effect("cred.create", (Target("~/.ssh"),), note="a key where the user's own lie")
    else:
        target = call.resolve_path(file, with_state=True)
        outside = target.zone not in (Zone.PROJECT, Zone.TEMP) and not (
            target.zone is Zone.SECRET and _inside(call, target)
        )
        yield call.make_effect("cred.create" if outside else "fs.write", (target,))


def _inside(call: Invocation, target: Target) -> bool:
    """Whether a path lies in the project or among temporary files, whatever its name says."""
    root = call.resolver.project_root
    return bool(root and target.path.startswith(root + "/")) or target.path.startswith(("/tmp/", "/var/tmp/"))


def classify_ssh_add(call: Invocation) -> Iterator[Effect]:
    args = call.args
    if args.has_flag("-D -d"):
        yield call.make_effect("cred.delete", (Target("keys of this session", "other"),), recoverable=True)
    else:
        yield call.make_effect("keys.list")


def classify_ssh_copy_id(call: Invocation) -> Iterator[Effect]:
    yield call.make_effect(
        "persist.write",
        tuple(Target(word.display_text, "host") for word in call.args.operands),
        note="a key that opens another machine",
    )


def classify_keeper(call: Invocation) -> Iterator[Effect]:
    """Classify a secret store that no table knows in detail, by its verbs: to get is to show."""
    path = [word.text for word in call.args.operands]
    _, kind = command_verbs.find_verb(path)
    pieces = {piece for word in path[:4] for piece in command_verbs.split_tokens(word)}
    targets = (Target(" ".join(path[:3]), "other"),)
    if kind == "delete":
        yield call.make_effect("cred.destroy", targets)
    elif kind == "write":
        yield call.make_effect("cred.create" if "token" in pieces else "cred.write", targets)
    elif pieces & {"get", "show", "read", "view", "export", "download", "dump", "fetch", "reveal", "password", "cat"}:
        yield call.make_effect("cred.read", targets)
    else:
        yield call.make_effect("keys.list")


_VAULT_KV = {
    "get": "cred.read",
    "delete": "cred.delete",
    "destroy": "cred.destroy",
    "metadata delete": "cred.destroy",
    "put": "cred.write",
    "patch": "cred.write",
    "rollback": "cred.write",
    "undelete": "cred.write",
    "enable-versioning": "cred.write",
    "metadata put": "cred.write",
}
_VAULT = {
    "read": "cred.read",
    "unwrap": "cred.read",
    "print": "cred.read",
    "delete": "cred.destroy",
    "secrets disable": "cred.destroy",
    "secrets move": "cred.destroy",
    "auth disable": "cred.destroy",
    "namespace delete": "cred.destroy",
    "audit disable": "sys.security",
    "token create": "cred.create",
}
_VAULT_GROUPS = word_set("write login policy auth audit token operator secrets lease namespace plugin")
_VAULT_LOOK = word_set("list lookup capabilities read status members help")


def classify_vault(call: Invocation) -> Iterator[Effect]:
    path = [word.text for word in call.args.operands]
    first, second, third = [*path, "", "", ""][:3]
    targets = tuple(Target(word.display_text, "other") for word in call.args.operands[1:])
    if first == "kv":
        what = _VAULT_KV.get(f"{second} {third}") or _VAULT_KV.get(second, "keys.list")
    else:
        what = _VAULT.get(f"{first} {second}") or _VAULT.get(first, "")
        changes = first in _VAULT_GROUPS and second not in _VAULT_LOOK
        what = what or ("cred.write" if changes else "keys.list")
    yield call.make_effect(what, targets)


_SECURITY_SHOW = compile_lazily(r"^(?:find-(?:generic|internet)-password|export|find-key)$")


def classify_security(call: Invocation) -> Iterator[Effect]:
    """Classify a command of the macOS keychain."""
    name = call.args.operands[0].text if call.args.operands else ""
    targets = tuple(Target(word.display_text, "other") for word in call.args.operands[:2])
    if name == "dump-keychain":
        yield call.make_effect("cred.steal", targets, note="every secret of the person")
    elif _SECURITY_SHOW.match(name):
        yield call.make_effect("cred.read", targets)
    elif name.startswith("delete-"):
        yield call.make_effect("cred.destroy", targets)
    elif name.startswith(
        (
            "add-trusted",
            "remove-trusted",
            "trust-settings",
            "authorizationdb",
            "set-",
            "add-",
            "import",
            "unlock",
            "lock",
            "create-",
            "default-",
        )
    ):
        yield call.make_effect(
            "cred.write" if name not in ("default-keychain", "authorizationdb read") else "keys.list", targets
        )
    else:
        yield call.make_effect("keys.list")


def classify_keytool(call: Invocation) -> Iterator[Effect]:
    args = call.args
    if args.has_flag("-delete"):
        yield call.make_effect(
            "cred.delete", tuple(Target(word.display_text, "other") for word in args.get_values("-alias"))
        )
    elif args.has_flag("-exportcert -list -printcert -help"):
        yield call.make_effect("keys.list")
    else:
        yield from call.make_effects("fs.write", args.get_values("-keystore -destkeystore"))
