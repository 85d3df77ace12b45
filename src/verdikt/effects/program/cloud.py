"""Clouds and platforms: which account, which service, and above all which verb."""

from collections.abc import Iterator

from verdikt.effects import command_verbs
from verdikt.effects.arguments import word_set
from verdikt.effects.code.sql import classify_sql
from verdikt.effects.invocation import Invocation
from verdikt.effects.program.storage import bucket_copy, is_here
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.lazy_regex import compile_lazily

_WATCHMEN = word_set(
    "cloudtrail guardduty securityhub configservice config macie2 inspector2 detective wafv2 waf shield "
    "access-analyzer cloudwatch security defender logging audit"
)
_RIGHTS = word_set(
    "iam role roles rbac policy policies permission permissions acl acls organizations sso user users group "
    "principal grant grants member members ad sp"
)
_OPEN = word_set("ingress public firewall anonymous allusers website")
_SECRETS = word_set(
    "password passwords token tokens credential credentials secret key keys decryption connection-string"
)
_SHOWN = word_set("get show print access export decrypt pull reveal fetch view read list-keys")


_EVERYBODY = compile_lazily(
    r"0\.0\.0\.0/0|::/0|\bpublic-read|\ballUsers\b|\ballAuthenticatedUsers\b|--public-access enabled"
)


def classify_by_verb(
    call: Invocation, start: int = 0, *, unknown: str = "cloud.read", room: str = "cloud"
) -> Iterator[Effect]:
    """Judges a command by its verb, which stands at word `start` or later; one without a verb is `unknown`."""
    yield from verbs(call, [word.text for word in call.args.operands], start, unknown=unknown, room=room)


def verbs(
    call: Invocation, path: list[str], start: int = 0, *, unknown: str = "cloud.read", room: str = "cloud"
) -> Iterator[Effect]:
    """Classify `service … verb … arguments`."""
    if "help" in path[:4]:
        return
    index, kind = command_verbs.find_verb(path, start)
    if not kind:
        if path[start:]:
            yield call.make_effect(unknown)
        return
    target = (Target(" ".join(path[: index + 3]), "resource"),)
    pieces = {piece for word in path[: index + 1] for piece in command_verbs.split_tokens(word)}
    if kind == "read":
        shown = pieces & _SECRETS and pieces & _SHOWN and not pieces & {"list", "describe", "kubeconfig"}
        yield call.make_effect("cred.read" if shown else f"{room}.read", target if shown else ())
    elif path[0] in _WATCHMEN and (kind == "delete" or pieces & {"stop", "disable"}):
        yield call.make_effect("sys.security", target, note="stops the record of who did what, or another watchman")
    elif kind == "delete" and not pieces & {"public"}:
        light = command_verbs.is_recreatable(path[max(index - 1, 0) : index + 1])
        yield call.make_effect(f"{room}.delete", target, recoverable=light or None)
    else:
        if pieces & {"upload", "import", "cp", "copy", "sync", "put"}:
            files = [
                word
                for word in (*call.args.operands, *call.args.get_values("-f --file --source --body --path"))
                if "/" in word.text
            ]
            secrets = tuple(t for t in map(call.resolve_path, files) if t.zone is Zone.SECRET)
            if secrets:
                yield call.make_effect("cred.send", secrets)
        what = _changes(pieces) or f"{room}.write"
        if what in ("cloud.open", "cloud.iam") and _EVERYBODY.search(call.full_text):
            what = "cloud.expose"
        yield call.make_effect(what, target)


def _changes(pieces: set[str]) -> str:
    """Return the effect that the nouns of a change name, or an empty text for an ordinary one."""
    if pieces & {"decrypt"}:
        return "cred.read"
    if pieces & _OPEN:
        return "cloud.open"
    if pieces & _SECRETS and pieces & {"create", "generate", "issue", "rotate", "add"}:
        return "cred.create"
    return "cloud.iam" if pieces & _RIGHTS else ""


def _here(call: Invocation, flags: str, *names: str) -> bool:
    """Whether the account's address is on this machine, as with an emulator."""
    address = call.args.get_value(flags)
    if address is None:
        address = next((value for name, value in call.command.assignments if name in names), None)
    return address is not None and is_here(address.text)


_AWS_OPERATIONS: dict[str, tuple[str, bool | None, str]] = {
    # operation → effect, whether it can be undone, note
    "assume-role": ("cred.create", None, "takes another identity with its credentials"),
    "assume-role-with-web-identity": ("cred.create", None, "takes another identity with its credentials"),
    "assume-role-with-saml": ("cred.create", None, "takes another identity with its credentials"),
    "get-session-token": ("cred.create", None, "makes credentials"),
    "get-federation-token": ("cred.create", None, "makes credentials"),
    "wait": ("cloud.read", None, ""),
    "update-kubeconfig": ("cloud.read", None, "a setting of this machine"),
    "purge-queue": ("queue.delete", None, ""),
    "delete-queue": ("queue.delete", None, ""),
    "invoke": ("cloud.write", None, "runs a function"),
    "send-command": ("infra.run", None, ""),
    "start-session": ("infra.run", None, ""),
    "execute-command": ("infra.run", None, ""),
    "delete-object": ("cloud.delete", True, "one object"),
    "delete-objects": ("cloud.delete", None, ""),
    "schedule-key-deletion": ("cloud.delete", None, "what it encrypted cannot be read any more"),
}
"""Operations that their verb alone does not tell."""


def classify_aws(call: Invocation) -> Iterator[Effect]:
    args = call.args
    path = [word.text for word in args.operands]
    if _here(call, "--endpoint-url", "AWS_ENDPOINT_URL") or args.has_flag("--generate-cli-skeleton"):
        yield call.make_effect("net.local")
        return
    if not path or "help" in path[:3]:
        return
    service, operation = path[0], path[1] if len(path) > 1 else ""
    if service == "s3":
        yield from _s3(call, operation)
    elif service == "configure":
        yield from _aws_configure(call, operation, path[2:])
    elif service == "sso":
        yield call.make_effect("cloud.read" if operation != "logout" else "cred.delete", recoverable=True)
    elif operation.startswith("get-parameter"):
        yield call.make_effect(
            "cred.read" if args.has_flag("--with-decryption") else "cloud.read", (_find_named_target(call),)
        )
    elif operation == "delete-secret":
        yield call.make_effect(
            "cloud.delete",
            (_find_named_target(call),),
            recoverable=not args.has_flag("--force-delete-without-recovery"),
        )
    elif operation in _AWS_OPERATIONS:
        what, undone, note = _AWS_OPERATIONS[operation]
        undone = None if args.has_flag("--version-id") else undone
        for text in (word.text for word in call.command.argv if what == "infra.run" and "commands=" in word.text):
            yield from call.classify_shell(text.partition("commands=")[2].strip("[]\"'"))
        yield call.make_effect(what, (_find_named_target(call),), recoverable=undone, note=note)
    else:
        yield from verbs(call, path[:2], 1, unknown="cloud.write")


def _find_named_target(call: Invocation) -> Target:
    """Return what an operation falls on, for the message: the value of its last flag that names something."""
    for flag, value in call.args.flags:
        if value is not None and flag.endswith(
            ("-id", "-ids", "-name", "-identifier", "-arn", "-url", "--name", "--key", "--bucket")
        ):
            return Target(value.display_text, "resource")
    return Target(" ".join(word.display_text for word in call.args.operands[:2]), "resource")


def _aws_configure(call: Invocation, operation: str, rest: list[str]) -> Iterator[Effect]:
    key = rest[0] if rest else ""
    secret = key.endswith(("access_key", "access_key_id", "token"))
    if operation == "export-credentials" or (operation == "get" and secret):
        yield call.make_effect("cred.read", note="shows a credential")
    elif operation in ("set", "import", "") and (secret or operation != "set"):
        yield call.make_effect("cred.write", note="changes a credential of this machine")
    else:
        yield call.make_effect("cloud.read")


def _s3(call: Invocation, operation: str) -> Iterator[Effect]:
    args = call.args
    operands = args.operands[2:]
    resources = tuple(Target(word.display_text, "resource") for word in operands)
    if operation == "rm":
        yield call.make_effect("cloud.delete", resources, recoverable=not args.has_flag("--recursive"))
    elif operation == "rb":
        yield call.make_effect("cloud.delete", resources, recoverable=not args.has_flag("--force"))
    elif operation in ("cp", "sync", "mv"):
        yield from bucket_copy(
            call, operands, delete=args.has_flag("--delete"), move=operation == "mv", whole=args.has_flag("--recursive")
        )
    elif operation == "presign":
        yield call.make_effect("cloud.open", resources, note="makes an address that opens it to everybody who has it")
    elif operation in ("mb", "website"):
        yield call.make_effect("cloud.write" if operation == "mb" else "cloud.expose", resources)
    else:
        yield call.make_effect("cloud.read")


def classify_gcloud(call: Invocation) -> Iterator[Effect]:
    args = call.args
    if args.operands and args.operands[0].text in ("alpha", "beta", "preview"):
        args.operands = args.operands[1:]
    path = [word.text for word in args.operands]
    group, rest = (path[0], path[1:]) if path else ("", [])
    phrase = " ".join(path[:3])
    if group in (
        "",
        "config",
        "info",
        "version",
        "help",
        "init",
        "cheat-sheet",
        "topic",
        "feedback",
        "components",
        "docker",
    ):
        yield call.make_effect("cloud.read")
    elif group == "auth":
        yield from _auth(call, rest)
    elif "get-credentials" in path[:4] or phrase.startswith("auth configure-docker"):
        yield call.make_effect("cloud.read", note="a setting of this machine")
    elif group == "storage":
        yield from _gcloud_storage(call, rest)
    elif phrase.startswith("secrets versions access"):
        yield call.make_effect("cred.read", note="shows a secret of the account")
    elif phrase.startswith(("compute ssh", "compute scp", "app instances ssh", "cloud-shell ssh")):
        yield call.make_effect("infra.run", tuple(Target(word.display_text, "host") for word in args.operands[2:3]))
    elif phrase.startswith(("builds log", "logging read", "app logs", "app browse")):
        yield call.make_effect("cloud.read")
    elif "service-accounts" in path[:3] and "keys" in path[:4] and "create" in path:
        yield call.make_effect("cred.create", (Target(phrase, "resource"),))
    else:
        yield from verbs(call, path, 1)


def _auth(call: Invocation, rest: list[str]) -> Iterator[Effect]:
    verb_ = " ".join(rest[:2])
    if "print" in verb_:
        yield call.make_effect("cred.read", note="shows a credential")
    elif "revoke" in verb_:
        yield call.make_effect("cred.delete", recoverable=True)
    elif "login" in verb_ or "activate" in verb_:
        yield call.make_effect("cred.write", note="stores a credential for this account")
    else:
        yield call.make_effect("cloud.read")


def _gcloud_storage(call: Invocation, rest: list[str]) -> Iterator[Effect]:
    args = call.args
    operation = rest[0] if rest else ""
    operands = args.operands[2:]
    if operation == "rm":
        whole = args.has_flag("-r -R --recursive --all-versions -a") or any("*" in word.text for word in operands)
        yield call.make_effect(
            "cloud.delete", tuple(Target(word.display_text, "resource") for word in operands), recoverable=not whole
        )
    elif operation in ("cp", "mv", "rsync"):
        delete = args.has_flag("--delete-unmatched-destination-objects")
        yield from bucket_copy(
            call, operands, delete=delete, move=operation == "mv", whole=args.has_flag("-r -R --recursive")
        )
    else:
        yield from verbs(call, [word.text for word in args.operands], 1)


_KEYS_SHOWN = (
    "storage account keys list",
    "acr credential show",
    "keyvault secret show",
    "keyvault secret download",
    "keyvault key download",
    "account get-access-token",
    "acr login --expose-token",
)


def classify_az(call: Invocation) -> Iterator[Effect]:
    path = [word.text for word in call.args.operands]
    phrase = " ".join(path[:5])
    if phrase.startswith(_KEYS_SHOWN) or phrase.endswith(
        ("list-keys", "list-connection-strings", "show-connection-string")
    ):
        yield call.make_effect("cred.read", note="shows a secret of the account")
    elif phrase.startswith("login"):
        yield call.make_effect("cred.write", note="stores a credential for this account")
    elif "get-credentials" in path or path[:1] in (
        ["logout"],
        ["configure"],
        ["config"],
        ["extension"],
        ["bicep"],
        ["version"],
        ["find"],
        ["interactive"],
    ):
        yield call.make_effect("cloud.read")
    elif path[:2] == ["account", "set"]:
        yield call.make_effect("cloud.read", note="a setting of this machine")
    elif "what-if" in path:
        yield call.make_effect("cloud.read")
    elif "run-command" in path[:3]:
        for script in call.args.get_values("--scripts"):
            yield from call.classify_shell(script.text)
        yield call.make_effect("infra.run", (Target(phrase, "resource"),))
    elif path[:1] == ["keyvault"] and "delete" in path:
        yield call.make_effect(
            "cloud.delete", (Target(phrase, "resource"),), recoverable=True, note="can be restored for a while"
        )
    elif (
        phrase.startswith("role assignment") and command_verbs.classify_word(path[2] if len(path) > 2 else "") != "read"
    ):
        yield call.make_effect("cloud.iam", (Target(phrase, "resource"),))
    else:
        yield from verbs(call, path, 1)


def classify_query(call: Invocation, *, options: str, dialect: str) -> Iterator[Effect]:
    """Classify SQL that a command of a cloud service runs; what can't be read may change anything."""
    statements = call.args.get_values(options)
    for word in statements:
        yield from classify_sql(word.text, call, dialect)
    if not statements or not all(word.is_known for word in statements):
        yield call.make_effect("cloud.write")


def classify_bq(call: Invocation) -> Iterator[Effect]:
    operands = call.args.operands
    operation = operands[0].text if operands else ""
    if operation == "query":
        text = " ".join(word.text for word in operands[1:]) or call.command.stdin or ""
        yield from classify_sql(text, call, "bigquery")
    elif operation == "rm":
        yield call.make_effect("db.drop", tuple(Target(word.display_text, "database") for word in operands[1:]))
    else:
        yield from verbs(call, [word.text for word in operands])
