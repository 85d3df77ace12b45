"""Infrastructure as code, and the tools that change many machines at once."""

from collections.abc import Iterator

from verdikt.effects import verb
from verdikt.effects.call import Call
from verdikt.effects.program.table import Does, Program, programs
from verdikt.model.effect import Effect, Target
from verdikt.shell.command import Word

_READ = Does("infra.read")
_APPLY = Does("infra.apply", "*", "resource", bare=True)
_DESTROY = Does("infra.destroy", "*", "resource", bare=True)
_STATE = Does("infra.state", "*", "resource", bare=True)
_LOGIN = Does("cred.write")


def _targets(found: list[Word]) -> tuple[Target, ...]:
    return tuple(Target(word.shown, "resource") for word in found)


def _terraform(call: Call) -> Iterator[Effect]:
    args = call.args
    path = [word.text for word in args.operands]
    name = path[0] if path else ""
    rest = args.operands[1:]
    if args.has("-help -h"):
        return
    if name in ("run-all", "run", "exec", "stack") and call.name == "terragrunt":
        path = [part for part in path[1:] if part != "run"]
        name, rest = (path[0] if path else ""), args.operands[2:]
    name = name.removesuffix("-all") if name != "run-all" else name
    second = rest[0].text if rest else ""
    if name == "destroy":
        yield call.effect(
            "infra.destroy", _targets(args.all("-target --target")) or (Target("everything it manages", "resource"),)
        )
    elif name == "apply":
        if args.has("-destroy --destroy"):
            yield call.effect("infra.destroy", (Target("everything it manages", "resource"),))
        else:
            yield call.effect("infra.apply", _targets(rest))
    elif name == "state":
        if second == "pull":
            yield call.effect(
                "cred.read", (Target("the state", "other"),), note="the state holds passwords in the clear"
            )
            return
        reading = second in ("list", "show", "")
        yield call.effect("infra.read" if reading else "infra.state", _targets(rest[1:]))
    elif name == "workspace" and second == "delete":
        yield call.effect("infra.state" if not args.has("-force --force") else "infra.destroy", _targets(rest[1:]))
    elif name in ("taint", "untaint", "import", "force-unlock", "refresh") or (
        name == "init" and args.has("-force-copy -migrate-state")
    ):
        yield call.effect("infra.state", _targets(rest))
    elif name == "login":
        yield call.effect("cred.write")
    else:
        yield call.effect("infra.read")


_PULUMI: dict[str, Program | Does | tuple[Does, ...]] = {
    "up": _APPLY,
    "update": _APPLY,
    "destroy": _DESTROY,
    "down": _DESTROY,
    "stack rm": (
        Does("infra.destroy", "*", "resource", when="-f --force", bare=True),
        Does("infra.state", "*", "resource", bare=True),
    ),
    "stack import": _STATE,
    "state delete": _STATE,
    "state unprotect": _STATE,
    "state rename": _STATE,
    "import": _STATE,
    "refresh": _STATE,
    "cancel": _STATE,
    "login": _LOGIN,
    "config": Does("cred.read", when="--show-secrets"),
    "config get": _READ,
    "config set": Does("cred.write", when="--secret"),
    "stack output": Does("cred.read", when="--show-secrets"),
}


def _ansible(call: Call) -> Iterator[Effect]:
    """`ansible HOSTS -m MODULE -a ARGS`: many machines at once, by module."""
    module, text = call.args.value("-m --module-name"), call.args.value("-a --args")
    name = module.text.rsplit(".", 1)[-1] if module is not None else "command"
    hosts = tuple(Target(word.shown, "host") for word in call.args.operands)
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
        yield call.effect("infra.read")
        return
    yield call.effect("infra.run", hosts)
    if name in ("shell", "command", "raw", "script", "win_shell") and text is not None:
        # What it would do on one of these machines, for sure, and on all of them.
        yield from call.shell(text.text)


def _salt(call: Call) -> Iterator[Effect]:
    operands = call.args.operands
    function = operands[1].text if len(operands) > 1 else ""
    hosts = tuple(Target(word.shown, "host") for word in operands[:1])
    if (
        function.startswith(("test.", "grains.", "status.", "pillar.", "sys.doc", "network."))
        or verb.kind(function) == "read"
    ):
        yield call.effect("infra.read")
        return
    yield call.effect("infra.run", hosts)
    if function.startswith("cmd.") and len(operands) > 2:
        yield from call.shell(operands[2].text)


def _by_verb(call: Call) -> Iterator[Effect]:
    path = [word.text for word in call.args.operands]
    _, kind = verb.find(path)
    if kind == "delete":
        yield call.effect("infra.destroy", _targets(call.args.operands), recoverable=verb.recreated(path[:2]) or None)
    elif kind == "write":
        yield call.effect("infra.apply", _targets(call.args.operands))
    else:
        yield call.effect("infra.read")


def _cap(call: Call) -> Iterator[Effect]:
    if any("deploy" in word.text for word in call.args.operands):
        yield call.effect("infra.apply", _targets(call.args.operands))


_TF_VALUES = "-chdir -var -var-file -target -out -state -backend-config -replace -lock-timeout -parallelism --terragrunt-working-dir --working-dir --terragrunt-config"

PROGRAMS: dict[str, Program] = {
    **programs("terraform tofu terragrunt tf opentofu", Program(values=_TF_VALUES, single=True, call=_terraform)),
    "pulumi": Program(
        _READ,
        values="-s --stack -C --cwd -t --target -m --message -c --config -p --parallel",
        dry="--preview-only",
        subs=_PULUMI,
    ),
    "ansible": Program(
        values="-i --inventory -m --module-name -a --args -u --user -l --limit -e --extra-vars -f --forks --private-key --become-user --become-method -t --tree",
        dry="-C --check --list-hosts",
        call=_ansible,
    ),
    "ansible-playbook": Program(
        Does("infra.apply", "*", "resource"),
        values="-i --inventory -u --user -l --limit -e --extra-vars -f --forks --private-key -t --tags --skip-tags --start-at-task --vault-password-file --vault-id -c --connection",
        dry="-C --check --syntax-check --list-tasks --list-hosts --list-tags",
    ),
    **programs("ansible-doc ansible-inventory ansible-config ansible-console molecule ansible-galaxy", Program(_READ)),
    "ansible-pull": Program(
        Does("infra.apply", "-U --url", "host", bare=True), values="-U --url -i -d", dry="-C --check"
    ),
    "ansible-vault": Program(
        subs={
            "view": Does("cred.read", "*", "path"),
            "decrypt": Does("cred.read", "*", "path"),
            "edit": Does("cred.read", "*", "path"),
            "encrypt": Does("fs.write", "*"),
            "rekey": Does("cred.write"),
        },
        values="--vault-password-file --vault-id",
    ),
    "cdk": Program(
        _READ,
        values="-a --app -c --context --profile -o --output --require-approval",
        dry="--no-execute",
        subs={
            "deploy": _APPLY,
            "destroy": _DESTROY,
            "bootstrap": _APPLY,
            "import": _STATE,
            "watch": _APPLY,
            "rollback": _APPLY,
            "gc": _DESTROY,
        },
    ),
    **programs(
        "cdktf sst",
        Program(
            _READ,
            values="--stage",
            subs={"deploy": _APPLY, "destroy": _DESTROY, "remove": _DESTROY, "dev": Does("code.run")},
        ),
    ),
    **programs(
        "serverless sls",
        Program(
            _READ,
            values="-s --stage -r --region -c --config --aws-profile",
            dry="--noDeploy",
            subs={
                "deploy": _APPLY,
                "remove": _DESTROY,
                "rollback": _APPLY,
                "invoke": Does("cloud.write"),
                "invoke local": Does("code.run"),
                "package": Does("code.build"),
                "offline": Does("code.run"),
                "login": _LOGIN,
            },
        ),
    ),
    "sam": Program(
        _READ,
        values="--stack-name -t --template --profile --region",
        subs={
            "deploy": _APPLY,
            "delete": _DESTROY,
            "sync": _APPLY,
            "local": Does("code.run"),
            "build": Does("code.build"),
            "remote invoke": Does("cloud.write"),
        },
    ),
    "chalice": Program(_READ, subs={"deploy": _APPLY, "delete": _DESTROY, "local": Does("code.run")}),
    "zappa": Program(_READ, subs={"deploy": _APPLY, "update": _APPLY, "undeploy": _DESTROY, "rollback": _APPLY}),
    "up": Program(_READ, subs={"deploy": _APPLY, "stack delete": _DESTROY}),
    "vagrant": Program(
        _READ,
        subs={
            "up": Does("vm.run"),
            "halt": Does("vm.run"),
            "reload": Does("vm.run"),
            "provision": Does("vm.run"),
            "suspend": Does("vm.run"),
            "destroy": Does("vm.delete", "*", "resource", bare=True, recoverable=True),
            "box remove": Does("vm.delete", "*", "resource", recoverable=True),
            "snapshot delete": Does("vm.delete", "*", "resource", recoverable=True),
            "ssh": Does("container.exec"),
        },
    ),
    "packer": Program(_READ, values="-var -var-file -only -except", single=True, subs={"build": _APPLY}),
    **programs("chef-client chef-solo cinc-client", Program(_APPLY, dry="-W --why-run")),
    "puppet": Program(
        _READ,
        values="--server --environment",
        dry="--noop",
        subs={
            "apply": _APPLY,
            "agent": _APPLY,
            "resource": (Does("infra.apply", "2:", "resource"), _READ),
            "node clean": _DESTROY,
            "cert clean": _DESTROY,
        },
    ),
    "knife": Program(values="-c --config -u", call=_by_verb),
    "salt": Program(values="-t --timeout --out -G -L -E", dry="test=True", call=_salt),
    "salt-call": Program(Does("infra.apply", "*", "resource"), dry="test=True"),
    "salt-key": Program(Does("infra.apply", when="-a -A -d -D -r -R --accept --delete")),
    "salt-ssh": Program(Does("infra.run", "0", "host"), call=_salt),
    **programs("pssh pdsh clush parallel-ssh cssh", Program(Does("infra.run", "*", "host"))),
    "fab": Program(Does("code.run", "*", "other")),
    "nomad": Program(
        _READ,
        values="-address -namespace -region",
        single=True,
        subs={
            "job run": _APPLY,
            "run": _APPLY,
            "job stop": (Does("infra.destroy", "*", "resource", when="-purge"), Does("infra.apply", "*", "resource")),
            "stop": (Does("infra.destroy", "*", "resource", when="-purge"), Does("infra.apply", "*", "resource")),
            "node drain": Does("k8s.drain", "*", "resource"),
            "system gc": _APPLY,
            "namespace delete": _DESTROY,
            "volume delete": _DESTROY,
            "var purge": _DESTROY,
            "alloc exec": Does("infra.run"),
            "acl token create": Does("cred.create"),
        },
    ),
    "consul": Program(
        _READ,
        values="-http-addr -token -datacenter",
        single=True,
        subs={
            "kv put": Does("db.write.live", "0", "database"),
            "kv delete": (
                Does("db.delete.all", "0", "database", when="-recurse"),
                Does("db.write.live", "0", "database"),
            ),
            "leave": Does("sys.service.stop"),
            "force-leave": Does("sys.service.stop"),
            "snapshot restore": Does("db.restore"),
            "acl token create": Does("cred.create"),
            "config delete": _STATE,
        },
    ),
    "copier": Program(Does("code.build")),
    "boundary": Program(_READ, call=_by_verb),
    "waypoint": Program(_READ, call=_by_verb),
    **programs("infracost terraform-docs terrascan driftctl tfswitch terratag", Program(_READ)),
    "kamal": Program(
        _READ,
        values="-d --destination -c",
        subs={
            "deploy": _APPLY,
            "redeploy": _APPLY,
            "rollback": _APPLY,
            "remove": _DESTROY,
            "app exec": Does("infra.run"),
            "prune": _APPLY,
            "setup": _APPLY,
            "accessory remove": _DESTROY,
        },
    ),
    "cap": Program(
        _READ,
        dry="-n --dry-run",
        call=_cap,
    ),
    "dokku": Program(call=_by_verb),
    "nixops": Program(_READ, subs={"deploy": _APPLY, "destroy": _DESTROY}),
}
