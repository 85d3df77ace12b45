"""Accounts and the rights that come with them."""

from collections.abc import Iterator

from verdikt.effects.arguments import word_set
from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect, Target

_ADMIN_GROUPS = word_set(
    "sudo wheel admin root docker lxd libvirt disk shadow adm kmem lxc incus-admin podman administrators"
)


def classify_useradd(call: Invocation) -> Iterator[Effect]:
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


def classify_passwd(call: Invocation) -> Iterator[Effect]:
    args = call.args
    target = tuple(Target(word.display_text, "other") for word in args.operands) or (Target("this account", "other"),)
    if args.has_flag("-S --status"):
        yield call.make_effect("sys.read")
    elif args.has_flag("-d --delete") or any(word.text == "root" for word in args.operands):
        yield call.make_effect("priv.grant", target)
    else:
        yield call.make_effect("sys.user", target)


def classify_gpasswd(call: Invocation) -> Iterator[Effect]:
    groups = {word.text for word in call.args.operands}
    grant = call.args.has_flag("-a --add -M --members -A") and groups & _ADMIN_GROUPS
    yield call.make_effect(
        "priv.grant" if grant else "sys.user", tuple(Target(word.display_text, "other") for word in call.args.operands)
    )


def classify_visudo(call: Invocation) -> Iterator[Effect]:
    if not call.args.has_flag("-c --check"):
        yield call.make_effect("priv.grant", (Target("/etc/sudoers"),))
