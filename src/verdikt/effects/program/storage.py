"""Files in buckets, and backups: what comes, what goes there, what is gone for good."""

from collections.abc import Iterator

from verdikt.effects import verb
from verdikt.effects.call import Call
from verdikt.effects.program.table import Does, Program, programs
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
    call: Call,
    operands: list[Word],
    *,
    delete: bool = False,
    move: bool = False,
    whole: bool = False,
    remote: str = "cloud",
) -> Iterator[Effect]:
    """A copy between here and a bucket, with its direction. `delete` removes at the far end what is not at this one."""
    if len(operands) < 2:
        yield call.effect(f"{remote}.read")
        return
    sources, sink = operands[:-1], operands[-1]
    there = tuple(Target(word.shown, "resource") for word in sources if _remote(word))
    if move and there:
        yield call.effect("cloud.delete", there, recoverable=not whole, note="what is moved is no longer there")
    if not _remote(sink):
        yield call.effect("net.fetch", there)
        what = "fs.delete.tree" if delete else "fs.write"
        yield from call.on(what, [sink], note="deletes what the bucket does not have" if delete else "")
        return
    yield from call.sent([word for word in sources if not _remote(word)])
    target = (Target(sink.shown, "resource"),)
    if delete:
        yield call.effect("cloud.delete", target, note="deletes there what is not here")
    else:
        yield call.effect("cloud.write", target, note="puts files there")


def _rclone(call: Call) -> Iterator[Effect]:
    operands = call.args.operands
    operation = operands[0].text if operands else ""
    rest = operands[1:]
    there = tuple(Target(word.shown, "resource") for word in rest)
    if operation in ("copy", "copyto", "sync", "move", "moveto", "bisync"):
        yield from bucket_copy(call, rest, delete=operation == "sync", move=operation.startswith("move"), whole=True)
    elif operation in ("delete", "purge", "cleanup", "rmdirs", "dedupe"):
        yield call.effect("cloud.delete", there, recoverable=operation == "rmdirs")
    elif operation in ("deletefile", "rmdir"):
        yield call.effect("cloud.delete", there, recoverable=True)
    elif operation == "config" and rest and rest[0].text in ("show", "dump", "redacted", "file"):
        yield call.effect("cloud.read" if rest[0].text in ("redacted", "file") else "cred.read")
    elif operation in ("config", "obscure"):
        yield call.effect("cred.write")
    elif operation in ("rcat", "copyurl", "mkdir", "touch", "link"):
        yield call.effect("cloud.write" if operation != "link" else "cloud.open", there)
    elif operation in ("serve", "mount", "rcd"):
        yield call.effect("net.listen" if operation != "mount" else "sys.mount")
    else:
        yield call.effect("cloud.read")


def _gsutil(call: Call) -> Iterator[Effect]:
    operands = call.args.operands
    operation = operands[0].text if operands else ""
    rest = operands[1:]
    there = tuple(Target(word.shown, "resource") for word in rest)
    if operation == "rm":
        whole = call.args.has("-r -R -a") or any("*" in word.text for word in rest)
        yield call.effect("cloud.delete", there, recoverable=not whole)
    elif operation == "rb":
        yield call.effect("cloud.delete", there)
    elif operation in ("cp", "mv", "rsync"):
        yield from bucket_copy(
            call, rest, delete=operation == "rsync" and call.args.has("-d"), move=operation == "mv", whole=True
        )
    elif operation in ("iam", "acl", "defacl") and rest and rest[0].text != "get":
        yield call.effect(
            "cloud.expose"
            if any("all" in word.text.lower() or "public" in word.text for word in rest)
            else "cloud.iam",
            there,
        )
    elif operation in ("signurl", "web"):
        yield call.effect("cloud.open", there)
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
        yield call.effect("cloud.read" if reading else "cloud.write", there)
    elif operation == "config":
        yield call.effect("cred.write")
    else:
        yield call.effect("cloud.read")


def _mc(call: Call) -> Iterator[Effect]:
    """minio: `alias/bucket/key` is there, anything else is here."""
    args = call.args
    operation = args.operands[0].text if args.operands else ""
    rest = args.operands[1:]
    there = tuple(Target(word.shown, "resource") for word in rest)
    local = all(word.text.startswith(("local/", "play/", "minio-local/")) for word in rest) and bool(rest)
    if operation == "rm":
        whole = args.has("-r --recursive --versions")
        yield call.effect("cloud.delete", there, recoverable=local or not whole)
    elif operation == "rb":
        yield call.effect("cloud.delete", there, recoverable=local)
    elif operation in ("mirror", "cp", "mv") and len(rest) > 1:
        out = not rest[-1].text.startswith((".", "/", "~"))
        remove = args.has("--remove")
        if out:
            yield from call.sent([word for word in rest[:-1] if word.text.startswith((".", "/", "~"))])
            yield call.effect("cloud.delete" if remove else "cloud.write", there[-1:], recoverable=local or None)
        else:
            yield call.effect("net.fetch", there[:1])
            yield from call.on("fs.delete.tree" if remove else "fs.write", rest[-1:])
    elif operation in ("anonymous", "policy"):
        yield call.effect("cloud.expose" if rest and rest[0].text == "set" else "cloud.read", there)
    elif operation in ("alias", "config"):
        yield call.effect("cred.write" if rest and rest[0].text in ("set", "add", "host") else "cloud.read")
    elif operation in ("admin", "ilm", "event", "tag", "replicate", "encrypt"):
        path = [word.text for word in rest]
        kind = verb.find(path)[1]
        yield call.effect(
            "cloud.delete" if kind == "delete" else "cloud.write" if kind == "write" else "cloud.read", there
        )
    elif operation in ("mb", "put", "pipe", "share", "undo"):
        yield call.effect("cloud.write", there)
    else:
        yield call.effect("cloud.read")


def _s3cmd(call: Call) -> Iterator[Effect]:
    args = call.args
    operation = args.operands[0].text if args.operands else ""
    rest = args.operands[1:]
    there = tuple(Target(word.shown, "resource") for word in rest)
    if operation in ("del", "rm", "delete", "rb", "expire"):
        yield call.effect(
            "cloud.delete", there, recoverable=not args.has("-r --recursive --force") and operation != "rb"
        )
    elif operation in ("put", "sync", "cp", "mv", "get"):
        yield from bucket_copy(
            call,
            rest if operation != "get" else [*rest, Word(".")],
            delete=args.has("--delete-removed"),
            move=operation == "mv",
            whole=True,
        )
    elif operation in ("setacl", "setpolicy", "signurl", "delpolicy", "ws-create"):
        yield call.effect("cloud.expose", there)
    elif operation.startswith(("ls", "la", "info", "du", "accesslog", "multipart")) or not operation:
        yield call.effect("cloud.read")
    else:
        yield call.effect("cloud.write", there)


def _azcopy(call: Call) -> Iterator[Effect]:
    operands = call.args.operands
    operation = operands[0].text if operands else ""
    if operation in ("remove", "rm"):
        yield call.effect(
            "cloud.delete",
            tuple(Target(word.shown, "resource") for word in operands[1:]),
            recoverable=not call.args.has("--recursive"),
        )
    elif operation in ("copy", "cp", "sync"):
        flag = call.args.value("--delete-destination")
        yield from bucket_copy(call, operands[1:], delete=flag is not None and flag.text != "false")
    else:
        yield call.effect("cloud.read")


def _restore(call: Call) -> Iterator[Effect]:
    """A backup put back: over what is there, unless into a directory of its own."""
    target = call.args.value("-t --target --target-directory")
    yield from call.on(
        "fs.overwrite" if target is None else "fs.write", [target or Word("/")], note="puts a backup back"
    )


_GONE = Does("backup.delete", "*", "resource", bare=True)

PROGRAMS: dict[str, Program] = {
    "rclone": Program(
        values="--config --include --exclude --filter --transfers --checkers --bwlimit --max-age --min-age --log-file --log-level",
        dry="-n --dry-run",
        call=_rclone,
    ),
    "gsutil": Program(values="-o -h -u", dry="-n", call=_gsutil),
    "mc": Program(values="-C --config-dir --older-than --newer-than", dry="--fake --dry-run", call=_mc),
    "mcli": Program(values="-C --config-dir --older-than --newer-than", dry="--fake --dry-run", call=_mc),
    **programs(
        "s3cmd s4cmd",
        Program(
            values="-c --config --access_key --secret_key --region --host --exclude --include",
            dry="-n --dry-run",
            call=_s3cmd,
        ),
    ),
    "azcopy": Program(
        values="--include-pattern --exclude-pattern --log-level --from-to", dry="--dry-run", call=_azcopy
    ),
    "s5cmd": Program(values="--endpoint-url --profile", dry="--dry-run", call=_s3cmd),
    "b2": Program(
        subs={
            "delete-bucket": Does("cloud.delete", "*", "resource"),
            "bucket delete": Does("cloud.delete", "*", "resource"),
            "rm": Does("cloud.delete", "*", "resource"),
            "delete-file-version": Does("cloud.delete", "*", "resource"),
            "sync": Does("cloud.write", "-1", "resource"),
            "upload-file": Does("cloud.write", "0", "resource"),
            "file upload": Does("cloud.write", "0", "resource"),
            "authorize-account": Does("cred.write"),
            "update-bucket": Does("cloud.expose", "*", "resource"),
        }
    ),
    "restic": Program(
        Does("backup.read"),
        values="-r --repo --repository-file -p --password-file --tag --host --path --keep-last --keep-daily --keep-weekly --keep-monthly --keep-yearly --keep-within -t --target -o",
        dry="--dry-run -n",
        subs={
            "forget": _GONE,
            "prune": _GONE,
            "key remove": _GONE,
            "restore": Program(call=_restore),
            "backup": Does("backup.write"),
            "init": Does("backup.write"),
            "rewrite": _GONE,
            "repair": Does("backup.write"),
            "mount": Does("sys.mount"),
        },
    ),
    "borg": Program(
        Does("backup.read"),
        values="--keep-daily --keep-weekly --keep-monthly --keep-last --keep-within --prefix -P -a --glob-archives --rsh --remote-path",
        dry="--dry-run -n",
        subs={
            "delete": _GONE,
            "prune": _GONE,
            "compact": Does("backup.compact"),
            "create": Does("backup.write"),
            "init": Does("backup.write"),
            "recreate": _GONE,
            "extract": Does("fs.write", "1:", possible=True),
            "key export": Does("cred.read"),
            "break-lock": Does("backup.write"),
        },
    ),
    "duplicity": Program(
        dry="--dry-run",
        subs={
            "remove-older-than": _GONE,
            "remove-all-but-n-full": _GONE,
            "remove-all-inc-of-but-n-full": _GONE,
            "cleanup": _GONE,
            "restore": Does("fs.overwrite", "-1"),
            "collection-status": Does("backup.read"),
        },
    ),
    "timeshift": Program(
        Does("backup.read"),
        Does("backup.delete", when="--delete --delete-all"),
        Does("fs.overwrite", when="--restore", note="puts the whole machine back"),
    ),
    "snapper": Program(
        Does("backup.read"),
        values="-c --config",
        subs={
            "delete": _GONE,
            "rm": _GONE,
            "rollback": Does("sys.setting"),
            "undochange": Does("fs.overwrite"),
            "create": Does("backup.write"),
        },
    ),
    "kopia": Program(
        Does("backup.read"),
        dry="--dry-run",
        subs={
            "snapshot delete": _GONE,
            "snapshot expire": _GONE,
            "repository throttle set": Does("backup.write"),
            "snapshot create": Does("backup.write"),
            "restore": Program(call=_restore),
            "blob delete": _GONE,
            "maintenance run": _GONE,
        },
    ),
    "barman": Program(
        Does("backup.read"),
        subs={
            "delete": _GONE,
            "backup": Does("backup.write"),
            "recover": Does("db.restore"),
            "cron": Does("backup.write"),
        },
    ),
    "pgbackrest": Program(
        Does("backup.read"),
        values="--stanza",
        dry="--dry-run",
        subs={
            "stanza-delete": _GONE,
            "expire": _GONE,
            "backup": Does("backup.write"),
            "restore": Does("db.restore"),
            "stop": Does("sys.service.stop"),
        },
    ),
    "wal-g": Program(
        Does("backup.read"),
        subs={
            "delete": (Does("backup.delete", "*", "resource", when="--confirm"), Does("backup.read")),
            "backup-push": Does("backup.write"),
            "backup-fetch": Does("db.restore"),
        },
    ),
    "velero": Program(
        Does("backup.read"),
        values="-n --namespace --from-backup",
        dry="--dry-run",
        subs={
            **dict.fromkeys(("delete backup", "delete restore", "delete schedule"), _GONE),
            "backup delete": _GONE,
            "restore delete": _GONE,
            "schedule delete": _GONE,
            "backup create": Does("backup.write"),
            "restore create": Does("k8s.write"),
            "uninstall": Does("k8s.delete"),
            "install": Does("k8s.write"),
        },
    ),
    "rdiff-backup": Program(
        Does("backup.delete", when="--remove-older-than"),
        Does("backup.write"),
        values="--remove-older-than -r --restore-as-of",
    ),
    "rsnapshot": Program(Does("backup.write"), dry="-t", values="-c"),
    "proxmox-backup-client": Program(
        Does("backup.read"), subs={"snapshot forget": _GONE, "prune": _GONE, "backup": Does("backup.write")}
    ),
}
