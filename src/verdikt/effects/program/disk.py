"""Disks: file systems, partitions, volumes, and what writes past files to the device itself."""

from collections.abc import Callable, Iterator

from verdikt.effects.invocation import Invocation
from verdikt.effects.program.table import EffectSpec, Program, alias_programs
from verdikt.model.effect import Effect, Target, Zone
from verdikt.shell.command import Word

_READ = EffectSpec("disk.look")


def _on(call: Invocation, what: str, devices: list[Word], note: str = "") -> Iterator[Effect]:
    """Yield an effect on devices. An image file of the project or a temporary one is a file like any other."""
    for word in devices:
        target = call.resolve_path(word, with_state=True)
        if target.zone in (Zone.PROJECT, Zone.TEMP) and not target.path.startswith("/dev/"):
            yield call.make_effect("fs.write", (target,))
        else:
            yield call.make_effect(what, (Target(word.display_text, "other", target.path, Zone.SYSTEM),), note=note)


def _device(what: str, when: str = "", unless: str = "") -> Callable[[Invocation], Iterator[Effect]]:
    """Yield the effect on the devices named, with one of these flags; without any it is only a look."""

    def judge(call: Invocation) -> Iterator[Effect]:
        if (when and not call.args.has_flag(when)) or (unless and call.args.has_flag(unless)):
            yield call.make_effect("disk.look")
        else:
            yield from _on(call, what, call.args.operands)

    return judge


def _sfdisk(call: Invocation) -> Iterator[Effect]:
    scripted = call.command.stdin is not None or call.command.pipe_from is not None or bool(call.command.redirects)
    if call.args.has_flag("--delete --wipe") or scripted:
        yield from _on(call, "disk.partition", call.args.operands[:1])
    else:
        yield from _partition(call)


def _format(call: Invocation) -> Iterator[Effect]:
    if call.args.has_flag("-V --version -n --dry-run") and call.name != "mkswap":
        return
    # The device comes before an optional size.
    yield from _on(call, "disk.format", call.args.operands[:1])


def _partition(call: Invocation) -> Iterator[Effect]:
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


def _classify_parted(call: Invocation) -> Iterator[Effect]:
    words = [word.text for word in call.args.operands]
    if len(words) < 2 or all(
        word
        in ("print", "unit", "free", "help", "quit", "align-check", "GiB", "MiB", "s", "B", "devices", "all", "list")
        for word in words[1:]
    ):
        if call.args.has_flag("-l --list") or len(words) > 1:
            yield call.make_effect("disk.look")
        else:
            yield from _partition(call)
        return
    yield from _on(call, "disk.partition", call.args.operands[:1], note=" ".join(words[1:4]))


def _zfs(call: Invocation) -> Iterator[Effect]:
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


def _hdparm(call: Invocation) -> Iterator[Effect]:
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


def _cryptsetup(call: Invocation) -> Iterator[Effect]:
    operands = call.args.operands
    verb = operands[0].text.lower() if operands else ""
    if verb in ("luksformat", "erase", "lukserase", "lukskillslot", "luksremovekey", "reencrypt", "luksheaderrestore"):
        yield from _on(call, "disk.format", operands[1:2])
    elif verb in ("luksdump", "status", "isluks", "luksuuid", "benchmark", "luksheaderbackup", ""):
        yield call.make_effect("disk.look")
    else:
        yield call.make_effect("sys.mount", tuple(Target(word.display_text, "other") for word in operands[1:]))


def _mount(call: Invocation) -> Iterator[Effect]:
    if not call.args.operands and not call.args.has_flag("-a --all -o"):
        yield call.make_effect("disk.look")
    else:
        yield call.make_effect("sys.mount", tuple(Target(word.display_text, "path") for word in call.args.operands))


def _fsck(call: Invocation) -> Iterator[Effect]:
    if call.args.has_flag("-n -N --dry-run --no-modify"):
        yield call.make_effect("disk.look")
    else:
        yield call.make_effect("disk.repair", tuple(Target(word.display_text, "other") for word in call.args.operands))


_PARTITION = Program(classify=_partition, dry_run_flags="-l --list -s -x -v --version")
_VOLUME_GONE = Program(EffectSpec("disk.partition", "*", "other", without_target=True), dry_run_flags="-t --test")
_VOLUME = Program(
    EffectSpec("sys.mount", "*", "other", without_target=True),
    dry_run_flags="-t --test",
    value_flags="-L --size -l --extents -n --name",
)

PROGRAMS: dict[str, Program] = {
    **alias_programs(
        "mkfs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat mkfs.ntfs mkfs.exfat mkfs.f2fs "
        "mkfs.minix mkfs.msdos mkfs.cramfs mkfs.bfs mke2fs mkdosfs mkntfs mkexfatfs newfs newfs_apfs newfs_hfs "
        "mkswap mkfs.jfs mkfs.reiserfs mkfs.erofs",
        Program(classify=_format, value_flags="-t --type -b -L -U -m -i -I -N -E -O -T -n -s -S -d -l -R"),
    ),
    "wipefs": Program(
        classify=_device("disk.format", "-a --all -o --offset"),
        value_flags="-o --offset -t --types",
        dry_run_flags="-n --no-act",
    ),
    **alias_programs("fdisk cfdisk gdisk cgdisk", _PARTITION),
    "sfdisk": Program(
        classify=_sfdisk,
        dry_run_flags="-l --list -d --dump -n --no-act -J --json -V --verify -F -s",
    ),
    "sgdisk": Program(
        classify=_device(
            "disk.partition",
            "-Z --zap-all -z --zap -o --clear -d --delete -n --new -g --mbrtogpt -t --typecode -l --load-backup -R "
            "--replicate -G",
        ),
        value_flags="-d --delete -n --new -t --typecode -c --change-name -b --backup -l --load-backup -i --info -u -A -R --replicate",
        dry_run_flags="-P --pretend",
    ),
    "parted": Program(classify=_classify_parted, value_flags="-a --align", dry_run_flags="-l --list"),
    **alias_programs(
        "blkdiscard",
        Program(classify=_device("disk.write"), value_flags="-o --offset -l --length -p --step"),
    ),
    "nvme": Program(
        _READ,
        value_flags="-s --ses -n --namespace-id",
        subcommands={
            "format": Program(classify=_device("disk.format")),
            "sanitize": Program(classify=_device("disk.format")),
            "delete-ns": EffectSpec("disk.partition", "*", "other"),
            "write": EffectSpec("disk.write", "*", "other"),
            "fw-download": EffectSpec("disk.write", "*", "other"),
        },
    ),
    "hdparm": Program(classify=_hdparm, value_flags="--user-master --security-erase-pass"),
    "badblocks": Program(
        classify=_device("disk.write", "-w", unless="-n"),
        value_flags="-b -c -o -p -t",
    ),
    **alias_programs("lvremove vgremove pvremove vgreduce lvreduce thin_delete vdo", _VOLUME_GONE),
    **alias_programs(
        "lvcreate lvextend lvresize lvrename vgcreate vgextend vgrename pvcreate pvresize vgchange lvchange "
        "lvconvert vgexport vgimport pvmove",
        _VOLUME,
    ),
    **alias_programs(
        "lvs vgs pvs lvdisplay vgdisplay pvdisplay lvscan vgscan pvscan lsblk blkid findmnt df smartctl lsscsi lshw "
        "partprobe dumpe2fs e2label xfs_info iostat iotop swapon fio xfs_db",
        Program(_READ),
    ),
    "debugfs": Program(classify=_device("disk.write", "-w"), value_flags="-b -s -R -f -c -z"),
    **alias_programs("zpool zfs", Program(value_flags="-o -O -t", dry_run_flags="-n", classify=_zfs)),
    "btrfs": Program(
        _READ,
        dry_run_flags="--dry-run",
        subcommands={
            "subvolume delete": EffectSpec("disk.partition", "*", "other"),
            "device delete": EffectSpec("disk.partition", "*", "other"),
            "device remove": EffectSpec("disk.partition", "*", "other"),
            "filesystem resize": EffectSpec("disk.repair", "*", "other"),
            "balance start": EffectSpec("disk.repair", "*", "other"),
            "check": EffectSpec("disk.repair", "*", "other", when="--repair"),
            "rescue zero-log": EffectSpec("disk.repair", "*", "other"),
            "quota": EffectSpec("sys.mount"),
        },
    ),
    "cryptsetup": Program(classify=_cryptsetup, value_flags="--type -c --cipher -s --key-size -h --hash -d --key-file"),
    "mdadm": Program(
        _READ,
        EffectSpec("disk.partition", "*", "other", when="--zero-superblock --create -C"),
        EffectSpec("sys.mount", "*", "other", when="-S --stop -A --assemble -G --grow -a --add -r --remove -f --fail"),
        value_flags="-l --level -n --raid-devices",
    ),
    "mount": Program(classify=_mount, value_flags="-t --types -o --options -L -U -O", dry_run_flags="-f --fake -V -l"),
    **alias_programs(
        "umount udisksctl gvfs-mount pmount pumount fusermount fusermount3",
        Program(
            EffectSpec("sys.mount", "*", "path", without_target=True),
            dry_run_flags="--fake",
            subcommands={"status": _READ, "info": _READ, "dump": _READ},
        ),
    ),
    "swapoff": Program(EffectSpec("sys.mount", "*", "other", without_target=True)),
    **alias_programs(
        "fsck e2fsck xfs_repair fsck.ext4 fsck.xfs fsck.vfat ntfsfix dosfsck btrfsck",
        Program(classify=_fsck, value_flags="-t -b -B -j -C"),
    ),
    **alias_programs(
        "resize2fs tune2fs xfs_growfs xfs_admin ntfsresize fatlabel e4crypt growpart",
        Program(EffectSpec("disk.repair", "0", "other"), dry_run_flags="-l -P -N --dry-run -n"),
    ),
    **alias_programs(
        "losetup qemu-nbd kpartx",
        Program(
            EffectSpec("sys.mount", "*", "other"),
            dry_run_flags="-a --all -l --list -j -n",
            value_flags="-o --offset -c --connect -d --disconnect -f",
        ),
    ),
    "dmsetup": Program(
        _READ,
        subcommands={
            "remove": EffectSpec("sys.mount", "*", "other"),
            "remove_all": EffectSpec("disk.partition", without_target=True),
            "wipe_table": EffectSpec("disk.partition", "*", "other"),
            "create": EffectSpec("sys.mount", "*", "other"),
        },
    ),
    **alias_programs(
        "dcfldd ddrescue dc3dd",
        Program(EffectSpec("fs.overwrite", "of=|1")),
    ),
    **alias_programs(
        "grub-install grub2-install lilo extlinux syslinux bootctl efibootmgr update-grub grub-mkconfig "
        "grub2-mkconfig update-initramfs dracut mkinitcpio",
        Program(
            EffectSpec("sys.boot", "*", "other", without_target=True, unless="-v list status --version"),
            dry_run_flags="-v --dry-run",
            value_flags="-b --bootnum -L --label -d --disk -p --part -o --output",
        ),
    ),
    "flashrom": Program(EffectSpec("disk.write", when="-w --write -E --erase", note="the machine's firmware")),
}
