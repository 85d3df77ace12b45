"""Files in buckets, and backups: what comes, what goes there, what is gone for good."""

from collections.abc import Iterator

from verdikt.effects import command_verbs
from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect, Target
from verdikt.shell.command import Word

_HERE = (
    "localhost",
    "127.",
    "0.0.0.0",
    "[::1]",
    "::1",
    "host.docker.internal",
    "minio:",
    "localstack",
    "host.lima.internal",
)


def is_here(address: str) -> bool:
    """Whether an address is on this machine or one of its containers."""
    host = address.split("://", 1)[-1].rsplit("@", 1)[-1]
    return host.startswith(_HERE) or host.split(":")[0].split("/")[0].endswith(".localhost")


def _remote(word: Word) -> bool:
    """Whether a word names a place in a bucket: `s3://b/k`, `remote:path`, `https://…`."""
    text = word.text
    return "://" in text or (
        ":" in text
        and not text.startswith(("/", ".", ":"))
        and "/" not in text.split(":", 1)[0]
        and len(text.split(":", 1)[0]) > 1
    )


def bucket_copy(
    call: Invocation,
    operands: list[Word],
    *,
    delete: bool = False,
    move: bool = False,
    whole: bool = False,
    remote: str = "cloud",
) -> Iterator[Effect]:
    """Classify a copy between here and a bucket. `delete` removes at the far end what is not at this one."""
    if len(operands) < 2:
        yield call.make_effect(f"{remote}.read")
        return
    sources, sink = operands[:-1], operands[-1]
    there = tuple(Target(word.display_text, "resource") for word in sources if _remote(word))
    if move and there:
        yield call.make_effect("cloud.delete", there, recoverable=not whole, note="what is moved is no longer there")
    if not _remote(sink):
        yield call.make_effect("net.fetch", there)
        what = "fs.delete.tree" if delete else "fs.write"
        yield from call.make_effects(what, [sink], note="deletes what the bucket does not have" if delete else "")
        return
    yield from call.classify_sent_files([word for word in sources if not _remote(word)])
    target = (Target(sink.display_text, "resource"),)
    if delete:
        yield call.make_effect("cloud.delete", target, note="deletes there what is not here")
    else:
        yield call.make_effect("cloud.write", target, note="puts files there")


def classify_rclone(call: Invocation) -> Iterator[Effect]:
    operands = call.args.operands
    operation = operands[0].text if operands else ""
    rest = operands[1:]
    there = tuple(Target(word.display_text, "resource") for word in rest)
    if operation in ("copy", "copyto", "sync", "move", "moveto", "bisync"):
        yield from bucket_copy(call, rest, delete=operation == "sync", move=operation.startswith("move"), whole=True)
    elif operation in ("delete", "purge", "cleanup", "rmdirs", "dedupe"):
        yield call.make_effect("cloud.delete", there, recoverable=operation == "rmdirs")
    elif operation in ("deletefile", "rmdir"):
        yield call.make_effect("cloud.delete", there, recoverable=True)
    elif operation == "config" and rest and rest[0].text in ("show", "dump", "redacted", "file"):
        yield call.make_effect("cloud.read" if rest[0].text in ("redacted", "file") else "cred.read")
    elif operation in ("config", "obscure"):
        yield call.make_effect("cred.write")
    elif operation in ("rcat", "copyurl", "mkdir", "touch", "link"):
        yield call.make_effect("cloud.write" if operation != "link" else "cloud.open", there)
    elif operation in ("serve", "mount", "rcd"):
        yield call.make_effect("net.listen" if operation != "mount" else "sys.mount")
    else:
        yield call.make_effect("cloud.read")


def classify_gsutil(call: Invocation) -> Iterator[Effect]:
    operands = call.args.operands
    operation = operands[0].text if operands else ""
    rest = operands[1:]
    there = tuple(Target(word.display_text, "resource") for word in rest)
    if operation == "rm":
        whole = call.args.has_flag("-r -R -a") or any("*" in word.text for word in rest)
        yield call.make_effect("cloud.delete", there, recoverable=not whole)
    elif operation == "rb":
        yield call.make_effect("cloud.delete", there)
    elif operation in ("cp", "mv", "rsync"):
        yield from bucket_copy(
            call, rest, delete=operation == "rsync" and call.args.has_flag("-d"), move=operation == "mv", whole=True
        )
    elif operation in ("iam", "acl", "defacl") and rest and rest[0].text != "get":
        yield call.make_effect(
            "cloud.expose"
            if any("all" in word.text.lower() or "public" in word.text for word in rest)
            else "cloud.iam",
            there,
        )
    elif operation in ("signurl", "web"):
        yield call.make_effect("cloud.open", there)
    elif operation in (
        "mb",
        "compose",
        "setmeta",
        "rewrite",
        "lifecycle",
        "versioning",
        "cors",
        "label",
        "logging",
        "retention",
        "kms",
        "notification",
    ):
        reading = rest and rest[0].text in ("get", "list", "show")
        yield call.make_effect("cloud.read" if reading else "cloud.write", there)
    elif operation == "config":
        yield call.make_effect("cred.write")
    else:
        yield call.make_effect("cloud.read")


def classify_mc(call: Invocation) -> Iterator[Effect]:
    """minio: `alias/bucket/key` is there, anything else is here."""
    args = call.args
    operation = args.operands[0].text if args.operands else ""
    rest = args.operands[1:]
    there = tuple(Target(word.display_text, "resource") for word in rest)
    local = all(word.text.startswith(("local/", "play/", "minio-local/")) for word in rest) and bool(rest)
    if operation == "rm":
        whole = args.has_flag("-r --recursive --versions")
        yield call.make_effect("cloud.delete", there, recoverable=local or not whole)
    elif operation == "rb":
        yield call.make_effect("cloud.delete", there, recoverable=local)
    elif operation in ("mirror", "cp", "mv") and len(rest) > 1:
        out = not rest[-1].text.startswith((".", "/", "~"))
        remove = args.has_flag("--remove")
        if out:
            yield from call.classify_sent_files([word for word in rest[:-1] if word.text.startswith((".", "/", "~"))])
            yield call.make_effect("cloud.delete" if remove else "cloud.write", there[-1:], recoverable=local or None)
        else:
            yield call.make_effect("net.fetch", there[:1])
            yield from call.make_effects("fs.delete.tree" if remove else "fs.write", rest[-1:])
    elif operation in ("anonymous", "policy"):
        yield call.make_effect("cloud.expose" if rest and rest[0].text == "set" else "cloud.read", there)
    elif operation in ("alias", "config"):
        yield call.make_effect("cred.write" if rest and rest[0].text in ("set", "add", "host") else "cloud.read")
    elif operation in ("admin", "ilm", "event", "tag", "replicate", "encrypt"):
        path = [word.text for word in rest]
        kind = command_verbs.find_verb(path)[1]
        yield call.make_effect(
            "cloud.delete" if kind == "delete" else "cloud.write" if kind == "write" else "cloud.read", there
        )
    elif operation in ("mb", "put", "pipe", "share", "undo"):
        yield call.make_effect("cloud.write", there)
    else:
        yield call.make_effect("cloud.read")


def classify_s3cmd(call: Invocation) -> Iterator[Effect]:
    args = call.args
    operation = args.operands[0].text if args.operands else ""
    rest = args.operands[1:]
    there = tuple(Target(word.display_text, "resource") for word in rest)
    if operation in ("del", "rm", "delete", "rb", "expire"):
        yield call.make_effect(
            "cloud.delete", there, recoverable=not args.has_flag("-r --recursive --force") and operation != "rb"
        )
    elif operation in ("put", "sync", "cp", "mv", "get"):
        yield from bucket_copy(
            call,
            rest if operation != "get" else [*rest, Word(".")],
            delete=args.has_flag("--delete-removed"),
            move=operation == "mv",
            whole=True,
        )
    elif operation in ("setacl", "setpolicy", "signurl", "delpolicy", "ws-create"):
        yield call.make_effect("cloud.expose", there)
    elif operation.startswith(("ls", "la", "info", "du", "accesslog", "multipart")) or not operation:
        yield call.make_effect("cloud.read")
    else:
        yield call.make_effect("cloud.write", there)


def classify_azcopy(call: Invocation) -> Iterator[Effect]:
    operands = call.args.operands
    operation = operands[0].text if operands else ""
    if operation in ("remove", "rm"):
        yield call.make_effect(
            "cloud.delete",
            tuple(Target(word.display_text, "resource") for word in operands[1:]),
            recoverable=not call.args.has_flag("--recursive"),
        )
    elif operation in ("copy", "cp", "sync"):
        flag = call.args.get_value("--delete-destination")
        yield from bucket_copy(call, operands[1:], delete=flag is not None and flag.text != "false")
    else:
        yield call.make_effect("cloud.read")


def classify_restore(call: Invocation) -> Iterator[Effect]:
    """Classify a restored backup: it overwrites what is there, unless it has a directory of its own."""
    target = call.args.get_value("-t --target --target-directory")
    yield from call.make_effects(
        "fs.overwrite" if target is None else "fs.write", [target or Word("/")], note="puts a backup back"
    )
