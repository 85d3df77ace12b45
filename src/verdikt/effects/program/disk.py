"""Disks: file systems, partitions, volumes, and what writes past files to the device itself."""

from collections.abc import Iterator

from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect, Target, Zone
from verdikt.shell.command import Word


def _on(call: Invocation, what: str, devices: list[Word], note: str = "") -> Iterator[Effect]:
    """Yield an effect on devices. An image file of the project or a temporary one is a file like any other."""
    for word in devices:
        target = call.resolve_path(word, with_state=True)
        if target.zone in (Zone.PROJECT, Zone.TEMP) and not target.path.startswith("/dev/"):
            yield call.make_effect("fs.write", (target,))
        else:
            yield call.make_effect(what, (Target(word.display_text, "other", target.path, Zone.SYSTEM),), note=note)


def classify_device(call: Invocation, *, what: str, when: str = "", unless: str = "") -> Iterator[Effect]:
    """Yield the effect on the devices named, with one of these flags; without any it is only a look."""
    if (when and not call.args.has_flag(when)) or (unless and call.args.has_flag(unless)):
        yield call.make_effect("disk.look")
    else:
        yield from _on(call, what, call.args.operands)


def classify_sfdisk(call: Invocation) -> Iterator[Effect]:
    scripted = call.command.stdin is not None or call.command.pipe_from is not None or bool(call.command.redirects)
    if call.args.has_flag("--delete --wipe") or scripted:
        yield from _on(call, "disk.partition", call.args.operands[:1])
    else:
        yield from classify_partition(call)


def classify_format(call: Invocation) -> Iterator[Effect]:
    if call.args.has_flag("-V --version -n --dry-run") and call.name != "mkswap":
        return
    # The device comes before an optional size.
    yield from _on(call, "disk.format", call.args.operands[:1])


def classify_partition(call: Invocation) -> Iterator[Effect]:
    """`fdisk` and its kin: a dialogue, which loses nothing before its last word; a prepared answer gives that word."""
    devices = call.args.operands
    if not devices:
        return
    if call.command.stdin is not None or call.command.pipe_from is not None:
        yield from _on(call, "disk.partition", devices[:1])
    else:
        yield call.make_effect(
            "disk.partition", (Target(devices[0].display_text, "other"),), possible=True, note="by dialogue"
        )


def classify_parted(call: Invocation) -> Iterator[Effect]:
    words = [word.text for word in call.args.operands]
    if len(words) < 2 or all(
        word
        in ("print", "unit", "free", "help", "quit", "align-check", "GiB", "MiB", "s", "B", "devices", "all", "list")
        for word in words[1:]
    ):
        if call.args.has_flag("-l --list") or len(words) > 1:
            yield call.make_effect("disk.look")
        else:
            yield from classify_partition(call)
        return
    yield from _on(call, "disk.partition", call.args.operands[:1], note=" ".join(words[1:4]))


def classify_zfs(call: Invocation) -> Iterator[Effect]:
    operands = call.args.operands
    verb = operands[0].text if operands else ""
    targets = tuple(Target(word.display_text, "other") for word in operands[1:])
    if verb in ("destroy", "labelclear"):
        yield call.make_effect("disk.partition", targets)
    elif verb == "rollback":
        yield call.make_effect("disk.rollback", targets, note="what came after the snapshot is lost")
    elif verb in (
        "create",
        "snapshot",
        "list",
        "get",
        "status",
        "diff",
        "hold",
        "holds",
        "iostat",
        "history",
        "events",
        "version",
        "bookmark",
        "send",
        "scrub",
        "clone",
        "",
    ):
        yield call.make_effect("disk.look")
    else:
        yield call.make_effect("sys.mount", targets)


def classify_hdparm(call: Invocation) -> Iterator[Effect]:
    erase = [
        flag
        for flag, _ in call.args.flags
        if "erase" in flag
        or flag
        in (
            "--make-bad-sector",
            "--write-sector",
            "--repair-sector",
            "--trim-sector-ranges",
            "--dco-restore",
            "--fwdownload",
            "--security-set-pass",
        )
    ]
    if erase:
        yield from _on(call, "disk.write", call.args.operands[-1:])
    else:
        yield call.make_effect("disk.look")


def classify_cryptsetup(call: Invocation) -> Iterator[Effect]:
    operands = call.args.operands
    verb = operands[0].text.lower() if operands else ""
    if verb in ("luksformat", "erase", "lukserase", "lukskillslot", "luksremovekey", "reencrypt", "luksheaderrestore"):
        yield from _on(call, "disk.format", operands[1:2])
    elif verb in ("luksdump", "status", "isluks", "luksuuid", "benchmark", "luksheaderbackup", ""):
        yield call.make_effect("disk.look")
    else:
        yield call.make_effect("sys.mount", tuple(Target(word.display_text, "other") for word in operands[1:]))


def classify_mount(call: Invocation) -> Iterator[Effect]:
    if not call.args.operands and not call.args.has_flag("-a --all -o"):
        yield call.make_effect("disk.look")
    else:
        yield call.make_effect("sys.mount", tuple(Target(word.display_text, "path") for word in call.args.operands))


def classify_fsck(call: Invocation) -> Iterator[Effect]:
    if call.args.has_flag("-n -N --dry-run --no-modify"):
        yield call.make_effect("disk.look")
    else:
        yield call.make_effect("disk.repair", tuple(Target(word.display_text, "other") for word in call.args.operands))
