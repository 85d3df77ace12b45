"""Accounts and the rights that come with them."""

from collections.abc import Iterator

from verdikt.effects.argument import words
from verdikt.effects.call import Call
from verdikt.effects.program.table import Does, Program, programs
from verdikt.model.effect import Effect, Target

_ADMIN_GROUPS = words(
    "sudo wheel admin root docker lxd libvirt disk shadow adm kmem lxc incus-admin podman administrators"
)


def _useradd(call: Call) -> Iterator[Effect]:
    groups = {name for word in call.args.all("-G --groups -g --gid --ingroup") for name in word.text.split(",")}
    operands = call.args.operands
    if call.name == "adduser" and len(operands) > 1:
        groups.add(operands[1].text)
    uid = call.args.value("-u --uid")
    targets = tuple(Target(word.shown, "other") for word in operands)
    if groups & _ADMIN_GROUPS or (uid is not None and uid.text == "0"):
        yield call.effect("priv.grant", targets, note="a right that is nearly every right")
    else:
        yield call.effect("sys.user", targets)


def _passwd(call: Call) -> Iterator[Effect]:
    args = call.args
    target = tuple(Target(word.shown, "other") for word in args.operands) or (Target("this account", "other"),)
    if args.has("-S --status"):
        yield call.effect("sys.read")
    elif args.has("-d --delete") or any(word.text == "root" for word in args.operands):
        yield call.effect("priv.grant", target)
    else:
        yield call.effect("sys.user", target)


def _gpasswd(call: Call) -> Iterator[Effect]:
    groups = {word.text for word in call.args.operands}
    grant = call.args.has("-a --add -M --members -A") and groups & _ADMIN_GROUPS
    yield call.effect(
        "priv.grant" if grant else "sys.user", tuple(Target(word.shown, "other") for word in call.args.operands)
    )


def _visudo(call: Call) -> Iterator[Effect]:
    if not call.args.has("-c --check"):
        yield call.effect("priv.grant", (Target("/etc/sudoers"),))


PROGRAMS: dict[str, Program] = {
    **programs(
        "useradd usermod adduser",
        Program(
            call=_useradd,
            values="-G --groups -g --gid --ingroup -d --home -s --shell -u --uid -c --comment -e -f -p --password -l --login -k -K --gecos",
        ),
    ),
    **programs("userdel deluser", Program(Does("sys.user.delete", "*", "other"))),
    **programs(
        "groupadd groupmod groupdel addgroup delgroup groupmems newusers chage chfn chsh vipw vigr newgrp",
        Program(Does("sys.user", "*", "other", bare=True, unless="-l --list"), values="-s --shell -g --gid -R"),
    ),
    "passwd": Program(call=_passwd, values="-n -x -w -i"),
    "chpasswd": Program(Does("priv.grant", note="sets passwords")),
    "gpasswd": Program(call=_gpasswd, values="-M --members -A --administrators"),
    "visudo": Program(call=_visudo, values="-f --file"),
}
