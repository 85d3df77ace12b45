"""Disks: file systems, partitions, volumes, and what writes past files to the device itself."""

from collections.abc import Callable, Iterator

from verdikt.effects.call import Call
from verdikt.effects.program.table import Does, Program, programs
from verdikt.model.effect import Effect, Target, Zone
from verdikt.shell.command import Word

_READ = Does("disk.look")


def _on(call: Call, what: str, devices: list[Word], note: str = "") -> Iterator[Effect]:
    """An effect on devices. An image file of the project or a temporary one is a file like any other."""
    for word in devices:
        target = call.path(word, look=True)
        if target.zone in (Zone.PROJECT, Zone.TEMP) and not target.path.startswith("/dev/"):
            yield call.effect("fs.write", (target,))
        else:
            yield call.effect(what, (Target(word.shown, "other", target.path, Zone.SYSTEM),), note=note)


def _device(what: str, when: str = "", unless: str = "") -> Callable[[Call], Iterator[Effect]]:
    """The effect on the devices named, with one of these flags; without any it is only a look."""

    def judge(call: Call) -> Iterator[Effect]:
        if (when and not call.args.has(when)) or (unless and call.args.has(unless)):
            yield call.effect("disk.look")
        else:
            yield from _on(call, what, call.args.operands)

    return judge


def _sfdisk(call: Call) -> Iterator[Effect]:
    scripted = call.command.stdin is not None or call.command.pipe_from is not None or bool(call.command.redirects)
    if call.args.has("--delete --wipe") or scripted:
        yield from _on(call, "disk.partition", call.args.operands[:1])
    else:
        yield from _partition(call)


def _format(call: Call) -> Iterator[Effect]:
    if call.args.has("-V --version -n --dry-run") and call.name != "mkswap":
        return
    # The device comes before an optional size.
    yield from _on(call, "disk.format", call.args.operands[:1])


def _partition(call: Call) -> Iterator[Effect]:
    """`fdisk` and its kin: a dialogue, which loses nothing before its last word; a prepared answer gives that word."""
    devices = call.args.operands
    if not devices:
        return
    if call.command.stdin is not None or call.command.pipe_from is not None:
        yield from _on(call, "disk.partition", devices[:1])
    else:
        yield call.effect("disk.partition", (Target(devices[0].shown, "other"),), possible=True, note="by dialogue")


def _parted(call: Call) -> Iterator[Effect]:
    words = [word.text for word in call.args.operands]
    if len(words) < 2 or all(
        word
        in ("print", "unit", "free", "help", "quit", "align-check", "GiB", "MiB", "s", "B", "devices", "all", "list")
        for word in words[1:]
    ):
        if call.args.has("-l --list") or len(words) > 1:
            yield call.effect("disk.look")
        else:
            yield from _partition(call)
        return
    yield from _on(call, "disk.partition", call.args.operands[:1], note=" ".join(words[1:4]))


def _zfs(call: Call) -> Iterator[Effect]:
    operands = call.args.operands
    verb = operands[0].text if operands else ""
    targets = tuple(Target(word.shown, "other") for word in operands[1:])
    if verb in ("destroy", "labelclear"):
        yield call.effect("disk.partition", targets)
    elif verb == "rollback":
        yield call.effect("disk.rollback", targets, note="what came after the snapshot is lost")
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
        yield call.effect("disk.look")
    else:
        yield call.effect("sys.mount", targets)


def _hdparm(call: Call) -> Iterator[Effect]:
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
        yield call.effect("disk.look")


def _cryptsetup(call: Call) -> Iterator[Effect]:
    operands = call.args.operands
    verb = operands[0].text.lower() if operands else ""
    if verb in ("luksformat", "erase", "lukserase", "lukskillslot", "luksremovekey", "reencrypt", "luksheaderrestore"):
        yield from _on(call, "disk.format", operands[1:2])
    elif verb in ("luksdump", "status", "isluks", "luksuuid", "benchmark", "luksheaderbackup", ""):
        yield call.effect("disk.look")
    else:
        yield call.effect("sys.mount", tuple(Target(word.shown, "other") for word in operands[1:]))


def _mount(call: Call) -> Iterator[Effect]:
    if not call.args.operands and not call.args.has("-a --all -o"):
        yield call.effect("disk.look")
    else:
        yield call.effect("sys.mount", tuple(Target(word.shown, "path") for word in call.args.operands))


def _fsck(call: Call) -> Iterator[Effect]:
    if call.args.has("-n -N --dry-run --no-modify"):
        yield call.effect("disk.look")
    else:
        yield call.effect("disk.repair", tuple(Target(word.shown, "other") for word in call.args.operands))


_PARTITION = Program(call=_partition, dry="-l --list -s -x -v --version")
_VOLUME_GONE = Program(Does("disk.partition", "*", "other", bare=True), dry="-t --test")
_VOLUME = Program(
    Does("sys.mount", "*", "other", bare=True), dry="-t --test", values="-L --size -l --extents -n --name"
)

PROGRAMS: dict[str, Program] = {
    **programs(
        "mkfs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat mkfs.ntfs mkfs.exfat mkfs.f2fs mkfs.minix mkfs.msdos mkfs.cramfs mkfs.bfs mke2fs mkdosfs mkntfs mkexfatfs newfs newfs_apfs newfs_hfs mkswap mkfs.jfs mkfs.reiserfs mkfs.erofs",
        Program(call=_format, values="-t --type -b -L -U -m -i -I -N -E -O -T -n -s -S -d -l -R"),
    ),
    "wipefs": Program(
        call=_device("disk.format", "-a --all -o --offset"),
        values="-o --offset -t --types",
        dry="-n --no-act",
    ),
    **programs("fdisk cfdisk gdisk cgdisk", _PARTITION),
    "sfdisk": Program(
        call=_sfdisk,
        dry="-l --list -d --dump -n --no-act -J --json -V --verify -F -s",
    ),
    "sgdisk": Program(
        call=_device(
            "disk.partition",
            "-Z --zap-all -z --zap -o --clear -d --delete -n --new -g --mbrtogpt -t --typecode -l --load-backup -R --replicate -G",
        ),
        values="-d --delete -n --new -t --typecode -c --change-name -b --backup -l --load-backup -i --info -u -A -R --replicate",
        dry="-P --pretend",
    ),
    "parted": Program(call=_parted, values="-a --align", dry="-l --list"),
    **programs(
        "blkdiscard",
        Program(call=_device("disk.write"), values="-o --offset -l --length -p --step"),
    ),
    "nvme": Program(
        _READ,
        values="-s --ses -n --namespace-id",
        subs={
            "format": Program(call=_device("disk.format")),
            "sanitize": Program(call=_device("disk.format")),
            "delete-ns": Does("disk.partition", "*", "other"),
            "write": Does("disk.write", "*", "other"),
            "fw-download": Does("disk.write", "*", "other"),
        },
    ),
    "hdparm": Program(call=_hdparm, values="--user-master --security-erase-pass"),
    "badblocks": Program(
        call=_device("disk.write", "-w", unless="-n"),
        values="-b -c -o -p -t",
    ),
    **programs("lvremove vgremove pvremove vgreduce lvreduce thin_delete vdo", _VOLUME_GONE),
    **programs(
        "lvcreate lvextend lvresize lvrename vgcreate vgextend vgrename pvcreate pvresize vgchange lvchange lvconvert vgexport vgimport pvmove",
        _VOLUME,
    ),
    **programs(
        "lvs vgs pvs lvdisplay vgdisplay pvdisplay lvscan vgscan pvscan lsblk blkid findmnt df smartctl lsscsi lshw partprobe dumpe2fs e2label xfs_info iostat iotop swapon fio xfs_db",
        Program(_READ),
    ),
    "debugfs": Program(call=_device("disk.write", "-w"), values="-b -s -R -f -c -z"),
    **programs("zpool zfs", Program(values="-o -O -t", dry="-n", call=_zfs)),
    "btrfs": Program(
        _READ,
        dry="--dry-run",
        subs={
            "subvolume delete": Does("disk.partition", "*", "other"),
            "device delete": Does("disk.partition", "*", "other"),
            "device remove": Does("disk.partition", "*", "other"),
            "filesystem resize": Does("disk.repair", "*", "other"),
            "balance start": Does("disk.repair", "*", "other"),
            "check": Does("disk.repair", "*", "other", when="--repair"),
            "rescue zero-log": Does("disk.repair", "*", "other"),
            "quota": Does("sys.mount"),
        },
    ),
    "cryptsetup": Program(call=_cryptsetup, values="--type -c --cipher -s --key-size -h --hash -d --key-file"),
    "mdadm": Program(
        _READ,
        Does("disk.partition", "*", "other", when="--zero-superblock --create -C"),
        Does("sys.mount", "*", "other", when="-S --stop -A --assemble -G --grow -a --add -r --remove -f --fail"),
        values="-l --level -n --raid-devices",
    ),
    "mount": Program(call=_mount, values="-t --types -o --options -L -U -O", dry="-f --fake -V -l"),
    **programs(
        "umount udisksctl gvfs-mount pmount pumount fusermount fusermount3",
        Program(
            Does("sys.mount", "*", "path", bare=True),
            dry="--fake",
            subs={"status": _READ, "info": _READ, "dump": _READ},
        ),
    ),
    "swapoff": Program(Does("sys.mount", "*", "other", bare=True)),
    **programs(
        "fsck e2fsck xfs_repair fsck.ext4 fsck.xfs fsck.vfat ntfsfix dosfsck btrfsck",
        Program(call=_fsck, values="-t -b -B -j -C"),
    ),
    **programs(
        "resize2fs tune2fs xfs_growfs xfs_admin ntfsresize fatlabel e4crypt growpart",
        Program(Does("disk.repair", "0", "other"), dry="-l -P -N --dry-run -n"),
    ),
    **programs(
        "losetup qemu-nbd kpartx",
        Program(
            Does("sys.mount", "*", "other"),
            dry="-a --all -l --list -j -n",
            values="-o --offset -c --connect -d --disconnect -f",
        ),
    ),
    "dmsetup": Program(
        _READ,
        subs={
            "remove": Does("sys.mount", "*", "other"),
            "remove_all": Does("disk.partition", bare=True),
            "wipe_table": Does("disk.partition", "*", "other"),
            "create": Does("sys.mount", "*", "other"),
        },
    ),
    **programs(
        "dcfldd ddrescue dc3dd",
        Program(Does("fs.overwrite", "of=|1")),
    ),
    **programs(
        "grub-install grub2-install lilo extlinux syslinux bootctl efibootmgr update-grub grub-mkconfig grub2-mkconfig update-initramfs dracut mkinitcpio",
        Program(
            Does("sys.boot", "*", "other", bare=True, unless="-v list status --version"),
            dry="-v --dry-run",
            values="-b --bootnum -L --label -d --disk -p --part -o --output",
        ),
    ),
    "flashrom": Program(Does("disk.write", when="-w --write -E --erase", note="the machine's firmware")),
}
