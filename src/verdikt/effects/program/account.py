"""Accounts and the rights that come with them."""

from collections.abc import Iterator

from verdikt.effects.invocation import Invocation
from verdikt.effects.program.table import EffectSpec, Program, alias_programs, word_set
from verdikt.model.effect import Effect, Target

_ADMIN_GROUPS = word_set(
    "sudo wheel admin root docker lxd libvirt disk shadow adm kmem lxc incus-admin podman administrators"
)


def _useradd(call: Invocation) -> Iterator[Effect]:
    groups = {name for word in call.args.get_values("-G --groups -g --gid --ingroup") for name in word.text.split(",")}
    operands = call.args.operands
    if call.name == "adduser" and len(operands) > 1:
        groups.add(operands[1].text)
    uid = call.args.get_value("-u --uid")
    targets = tuple(Target(word.display_text, "other") for word in operands)
    if groups & _ADMIN_GROUPS or (uid is not None and uid.text == "0"):
        yield call.make_effect("priv.grant", targets, note="a right that is nearly every right")
    else:
        yield call.make_effect("sys.user", targets)


def _passwd(call: Invocation) -> Iterator[Effect]:
    args = call.args
    target = tuple(Target(word.display_text, "other") for word in args.operands) or (Target("this account", "other"),)
    if args.has_flag("-S --status"):
        yield call.make_effect("sys.read")
    elif args.has_flag("-d --delete") or any(word.text == "root" for word in args.operands):
        yield call.make_effect("priv.grant", target)
    else:
        yield call.make_effect("sys.user", target)


def _gpasswd(call: Invocation) -> Iterator[Effect]:
    groups = {word.text for word in call.args.operands}
    grant = call.args.has_flag("-a --add -M --members -A") and groups & _ADMIN_GROUPS
    yield call.make_effect(
        "priv.grant" if grant else "sys.user", tuple(Target(word.display_text, "other") for word in call.args.operands)
    )


def _visudo(call: Invocation) -> Iterator[Effect]:
    if not call.args.has_flag("-c --check"):
        yield call.make_effect("priv.grant", (Target("/etc/sudoers"),))


PROGRAMS: dict[str, Program] = {
    **alias_programs(
        "useradd usermod adduser",
        Program(
            classify=_useradd,
            value_flags="-G --groups -g --gid --ingroup -d --home -s --shell -u --uid -c --comment -e -f -p --password -l --login -k -K --gecos",
        ),
    ),
    **alias_programs("userdel deluser", Program(EffectSpec("sys.user.delete", "*", "other"))),
    **alias_programs(
        "groupadd groupmod groupdel addgroup delgroup groupmems newusers chage chfn chsh vipw vigr newgrp",
        Program(
            EffectSpec("sys.user", "*", "other", without_target=True, unless="-l --list"),
            value_flags="-s --shell -g --gid -R",
        ),
    ),
    "passwd": Program(classify=_passwd, value_flags="-n -x -w -i"),
    "chpasswd": Program(EffectSpec("priv.grant", note="sets passwords")),
    "gpasswd": Program(classify=_gpasswd, value_flags="-M --members -A --administrators"),
    "visudo": Program(classify=_visudo, value_flags="-f --file"),
}
