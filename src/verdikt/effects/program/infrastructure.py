"""Infrastructure as code, and the tools that change many machines at once."""

from collections.abc import Iterator

from verdikt.effects import command_verbs
from verdikt.effects.invocation import Invocation
from verdikt.effects.program.table import EffectSpec, Program, alias_programs
from verdikt.model.effect import Effect, Target
from verdikt.shell.command import Word

_READ = EffectSpec("infra.read")
_APPLY = EffectSpec("infra.apply", "*", "resource", without_target=True)
_DESTROY = EffectSpec("infra.destroy", "*", "resource", without_target=True)
_STATE = EffectSpec("infra.state", "*", "resource", without_target=True)
_LOGIN = EffectSpec("cred.write")


def _targets(found: list[Word]) -> tuple[Target, ...]:
    return tuple(Target(word.display_text, "resource") for word in found)


def _terraform(call: Invocation) -> Iterator[Effect]:
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


_PULUMI: dict[str, Program | EffectSpec | tuple[EffectSpec, ...]] = {
    "up": _APPLY,
    "update": _APPLY,
    "destroy": _DESTROY,
    "down": _DESTROY,
    "stack rm": (
        EffectSpec("infra.destroy", "*", "resource", when="-f --force", without_target=True),
        EffectSpec("infra.state", "*", "resource", without_target=True),
    ),
    "stack import": _STATE,
    "state delete": _STATE,
    "state unprotect": _STATE,
    "state rename": _STATE,
    "import": _STATE,
    "refresh": _STATE,
    "cancel": _STATE,
    "login": _LOGIN,
    "config": EffectSpec("cred.read", when="--show-secrets"),
    "config get": _READ,
    "config set": EffectSpec("cred.write", when="--secret"),
    "stack output": EffectSpec("cred.read", when="--show-secrets"),
}


def _ansible(call: Invocation) -> Iterator[Effect]:
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


def _salt(call: Invocation) -> Iterator[Effect]:
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


def _by_verb(call: Invocation) -> Iterator[Effect]:
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


def _cap(call: Invocation) -> Iterator[Effect]:
    if any("deploy" in word.text for word in call.args.operands):
        yield call.make_effect("infra.apply", _targets(call.args.operands))


_TF_VALUES = "-chdir -var -var-file -target -out -state -backend-config -replace -lock-timeout -parallelism --terragrunt-working-dir --working-dir --terragrunt-config"

PROGRAMS: dict[str, Program] = {
    **alias_programs(
        "terraform tofu terragrunt tf opentofu", Program(value_flags=_TF_VALUES, single_dash=True, classify=_terraform)
    ),
    "pulumi": Program(
        _READ,
        value_flags="-s --stack -C --cwd -t --target -m --message -c --config -p --parallel",
        dry_run_flags="--preview-only",
        subcommands=_PULUMI,
    ),
    "ansible": Program(
        value_flags="-i --inventory -m --module-name -a --args -u --user -l --limit -e --extra-vars -f --forks --private-key --become-user --become-method -t --tree",
        dry_run_flags="-C --check --list-hosts",
        classify=_ansible,
    ),
    "ansible-playbook": Program(
        EffectSpec("infra.apply", "*", "resource"),
        value_flags="-i --inventory -u --user -l --limit -e --extra-vars -f --forks --private-key -t --tags --skip-tags --start-at-task --vault-password-file --vault-id -c --connection",
        dry_run_flags="-C --check --syntax-check --list-tasks --list-hosts --list-tags",
    ),
    **alias_programs(
        "ansible-doc ansible-inventory ansible-config ansible-console molecule ansible-galaxy", Program(_READ)
    ),
    "ansible-pull": Program(
        EffectSpec("infra.apply", "-U --url", "host", without_target=True),
        value_flags="-U --url -i -d",
        dry_run_flags="-C --check",
    ),
    "ansible-vault": Program(
        subcommands={
            "view": EffectSpec("cred.read", "*", "path"),
            "decrypt": EffectSpec("cred.read", "*", "path"),
            "edit": EffectSpec("cred.read", "*", "path"),
            "encrypt": EffectSpec("fs.write", "*"),
            "rekey": EffectSpec("cred.write"),
        },
        value_flags="--vault-password-file --vault-id",
    ),
    "cdk": Program(
        _READ,
        value_flags="-a --app -c --context --profile -o --output --require-approval",
        dry_run_flags="--no-execute",
        subcommands={
            "deploy": _APPLY,
            "destroy": _DESTROY,
            "bootstrap": _APPLY,
            "import": _STATE,
            "watch": _APPLY,
            "rollback": _APPLY,
            "gc": _DESTROY,
        },
    ),
    **alias_programs(
        "cdktf sst",
        Program(
            _READ,
            value_flags="--stage",
            subcommands={"deploy": _APPLY, "destroy": _DESTROY, "remove": _DESTROY, "dev": EffectSpec("code.run")},
        ),
    ),
    **alias_programs(
        "serverless sls",
        Program(
            _READ,
            value_flags="-s --stage -r --region -c --config --aws-profile",
            dry_run_flags="--noDeploy",
            subcommands={
                "deploy": _APPLY,
                "remove": _DESTROY,
                "rollback": _APPLY,
                "invoke": EffectSpec("cloud.write"),
                "invoke local": EffectSpec("code.run"),
                "package": EffectSpec("code.build"),
                "offline": EffectSpec("code.run"),
                "login": _LOGIN,
            },
        ),
    ),
    "sam": Program(
        _READ,
        value_flags="--stack-name -t --template --profile --region",
        subcommands={
            "deploy": _APPLY,
            "delete": _DESTROY,
            "sync": _APPLY,
            "local": EffectSpec("code.run"),
            "build": EffectSpec("code.build"),
            "remote invoke": EffectSpec("cloud.write"),
        },
    ),
    "chalice": Program(_READ, subcommands={"deploy": _APPLY, "delete": _DESTROY, "local": EffectSpec("code.run")}),
    "zappa": Program(_READ, subcommands={"deploy": _APPLY, "update": _APPLY, "undeploy": _DESTROY, "rollback": _APPLY}),
    "up": Program(_READ, subcommands={"deploy": _APPLY, "stack delete": _DESTROY}),
    "vagrant": Program(
        _READ,
        subcommands={
            "up": EffectSpec("vm.run"),
            "halt": EffectSpec("vm.run"),
            "reload": EffectSpec("vm.run"),
            "provision": EffectSpec("vm.run"),
            "suspend": EffectSpec("vm.run"),
            "destroy": EffectSpec("vm.delete", "*", "resource", without_target=True, recoverable=True),
            "box remove": EffectSpec("vm.delete", "*", "resource", recoverable=True),
            "snapshot delete": EffectSpec("vm.delete", "*", "resource", recoverable=True),
            "ssh": EffectSpec("container.exec"),
        },
    ),
    "packer": Program(
        _READ, value_flags="-var -var-file -only -except", single_dash=True, subcommands={"build": _APPLY}
    ),
    **alias_programs("chef-client chef-solo cinc-client", Program(_APPLY, dry_run_flags="-W --why-run")),
    "puppet": Program(
        _READ,
        value_flags="--server --environment",
        dry_run_flags="--noop",
        subcommands={
            "apply": _APPLY,
            "agent": _APPLY,
            "resource": (EffectSpec("infra.apply", "2:", "resource"), _READ),
            "node clean": _DESTROY,
            "cert clean": _DESTROY,
        },
    ),
    "knife": Program(value_flags="-c --config -u", classify=_by_verb),
    "salt": Program(value_flags="-t --timeout --out -G -L -E", dry_run_flags="test=True", classify=_salt),
    "salt-call": Program(EffectSpec("infra.apply", "*", "resource"), dry_run_flags="test=True"),
    "salt-key": Program(EffectSpec("infra.apply", when="-a -A -d -D -r -R --accept --delete")),
    "salt-ssh": Program(EffectSpec("infra.run", "0", "host"), classify=_salt),
    **alias_programs("pssh pdsh clush parallel-ssh cssh", Program(EffectSpec("infra.run", "*", "host"))),
    "fab": Program(EffectSpec("code.run", "*", "other")),
    "nomad": Program(
        _READ,
        value_flags="-address -namespace -region",
        single_dash=True,
        subcommands={
            "job run": _APPLY,
            "run": _APPLY,
            "job stop": (
                EffectSpec("infra.destroy", "*", "resource", when="-purge"),
                EffectSpec("infra.apply", "*", "resource"),
            ),
            "stop": (
                EffectSpec("infra.destroy", "*", "resource", when="-purge"),
                EffectSpec("infra.apply", "*", "resource"),
            ),
            "node drain": EffectSpec("k8s.drain", "*", "resource"),
            "system gc": _APPLY,
            "namespace delete": _DESTROY,
            "volume delete": _DESTROY,
            "var purge": _DESTROY,
            "alloc exec": EffectSpec("infra.run"),
            "acl token create": EffectSpec("cred.create"),
        },
    ),
    "consul": Program(
        _READ,
        value_flags="-http-addr -token -datacenter",
        single_dash=True,
        subcommands={
            "kv put": EffectSpec("db.write.live", "0", "database"),
            "kv delete": (
                EffectSpec("db.delete.all", "0", "database", when="-recurse"),
                EffectSpec("db.write.live", "0", "database"),
            ),
            "leave": EffectSpec("sys.service.stop"),
            "force-leave": EffectSpec("sys.service.stop"),
            "snapshot restore": EffectSpec("db.restore"),
            "acl token create": EffectSpec("cred.create"),
            "config delete": _STATE,
        },
    ),
    "copier": Program(EffectSpec("code.build")),
    "boundary": Program(_READ, classify=_by_verb),
    "waypoint": Program(_READ, classify=_by_verb),
    **alias_programs("infracost terraform-docs terrascan driftctl tfswitch terratag", Program(_READ)),
    "kamal": Program(
        _READ,
        value_flags="-d --destination -c",
        subcommands={
            "deploy": _APPLY,
            "redeploy": _APPLY,
            "rollback": _APPLY,
            "remove": _DESTROY,
            "app exec": EffectSpec("infra.run"),
            "prune": _APPLY,
            "setup": _APPLY,
            "accessory remove": _DESTROY,
        },
    ),
    "cap": Program(
        _READ,
        dry_run_flags="-n --dry-run",
        classify=_cap,
    ),
    "dokku": Program(classify=_by_verb),
    "nixops": Program(_READ, subcommands={"deploy": _APPLY, "destroy": _DESTROY}),
}
