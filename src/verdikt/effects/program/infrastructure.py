"""Infrastructure as code, and the tools that change many machines at once."""

from collections.abc import Iterator

from verdikt.effects import command_verbs
from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect, Target
from verdikt.shell.command import Word


def _targets(found: list[Word]) -> tuple[Target, ...]:
    return tuple(Target(word.display_text, "resource") for word in found)


def classify_terraform(call: Invocation) -> Iterator[Effect]:
    args = call.args
    path = [word.text for word in args.operands]
    name = path[0] if path else ""
    rest = args.operands[1:]
    if args.has_flag("-help -h"):
        return
    if name in ("run-all", "run", "exec", "stack") and call.name == "terragrunt":
        path = [part for part in path[1:] if part != "run"]
        name, rest = (path[0] if path else ""), args.operands[2:]
    name = name.removesuffix("-all") if name != "run-all" else name
    second = rest[0].text if rest else ""
    if name == "destroy":
        yield call.make_effect(
            "infra.destroy",
            _targets(args.get_values("-target --target")) or (Target("everything it manages", "resource"),),
        )
    elif name == "apply":
        if args.has_flag("-destroy --destroy"):
            yield call.make_effect("infra.destroy", (Target("everything it manages", "resource"),))
        else:
            yield call.make_effect("infra.apply", _targets(rest))
    elif name == "state":
        if second == "pull":
            yield call.make_effect(
                "cred.read", (Target("the state", "other"),), note="the state holds passwords in the clear"
            )
            return
        reading = second in ("list", "show", "")
        yield call.make_effect("infra.read" if reading else "infra.state", _targets(rest[1:]))
    elif name == "workspace" and second == "delete":
        yield call.make_effect(
            "infra.state" if not args.has_flag("-force --force") else "infra.destroy", _targets(rest[1:])
        )
    elif name in ("taint", "untaint", "import", "force-unlock", "refresh") or (
        name == "init" and args.has_flag("-force-copy -migrate-state")
    ):
        yield call.make_effect("infra.state", _targets(rest))
    elif name == "login":
        yield call.make_effect("cred.write")
    else:
        yield call.make_effect("infra.read")


def classify_ansible(call: Invocation) -> Iterator[Effect]:
    """`ansible HOSTS -m MODULE -a ARGS`: many machines at once, by module."""
    module, text = call.args.get_value("-m --module-name"), call.args.get_value("-a --args")
    name = module.text.rsplit(".", 1)[-1] if module is not None else "command"
    hosts = tuple(Target(word.display_text, "host") for word in call.args.operands)
    if name in (
        "ping",
        "setup",
        "debug",
        "stat",
        "gather_facts",
        "find",
        "slurp",
        "fetch",
        "service_facts",
        "package_facts",
        "wait_for",
        "assert",
        "getent",
        "win_ping",
    ):
        yield call.make_effect("infra.read")
        return
    yield call.make_effect("infra.run", hosts)
    if name in ("shell", "command", "raw", "script", "win_shell") and text is not None:
        # What it would do on one of these machines, for sure, and on all of them.
        yield from call.classify_shell(text.text)


def classify_salt(call: Invocation) -> Iterator[Effect]:
    operands = call.args.operands
    function = operands[1].text if len(operands) > 1 else ""
    hosts = tuple(Target(word.display_text, "host") for word in operands[:1])
    if (
        function.startswith(("test.", "grains.", "status.", "pillar.", "sys.doc", "network."))
        or command_verbs.classify_word(function) == "read"
    ):
        yield call.make_effect("infra.read")
        return
    yield call.make_effect("infra.run", hosts)
    if function.startswith("cmd.") and len(operands) > 2:
        yield from call.classify_shell(operands[2].text)


def classify_by_verb(call: Invocation) -> Iterator[Effect]:
    path = [word.text for word in call.args.operands]
    _, kind = command_verbs.find_verb(path)
    if kind == "delete":
        yield call.make_effect(
            "infra.destroy", _targets(call.args.operands), recoverable=command_verbs.is_recreatable(path[:2]) or None
        )
    elif kind == "write":
        yield call.make_effect("infra.apply", _targets(call.args.operands))
    else:
        yield call.make_effect("infra.read")


def classify_cap(call: Invocation) -> Iterator[Effect]:
    if any("deploy" in word.text for word in call.args.operands):
        yield call.make_effect("infra.apply", _targets(call.args.operands))
