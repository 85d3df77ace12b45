"""Clusters: which resources a command falls on, and whether the cluster is on this machine."""

from collections.abc import Callable, Iterator

from verdikt.effects import verb
from verdikt.effects.argument import words
from verdikt.effects.call import Call
from verdikt.effects.program.table import Does, Program, programs
from verdikt.model.effect import Effect, Target
from verdikt.shell.command import Word

_LOCAL = (
    "kind-",
    "k3d-",
    "minikube",
    "docker-desktop",
    "docker-for-desktop",
    "rancher-desktop",
    "colima",
    "orbstack",
    "microk8s",
    "k3s-local",
    "localhost",
    "default-local",
)
_READ = words(
    "logs log explain diff top config api-resources api-versions version cluster-info events wait krew port-forward proxy completion kustomize options plugin alpha auth help status whoami projects project types"
)
_WHOLE = words(
    "namespace namespaces ns project projects all crd crds customresourcedefinition customresourcedefinitions node nodes no"
)
"""Kinds whose deletion takes everything inside along."""
_DATA = words(
    "pvc pvcs pv pvs persistentvolumeclaim persistentvolumeclaims persistentvolume persistentvolumes statefulset statefulsets sts volumesnapshot volumesnapshots storageclass sc"
)
"""Kinds that hold data, or whose deletion loses it."""


def _local(call: Call) -> bool:
    """Whether the cluster is one of this machine, which nobody else uses."""
    context = call.args.value("--context --kube-context --kubecontext")
    return context is not None and context.text.startswith(_LOCAL)


def _dry(call: Call) -> bool:
    value = call.args.value("--dry-run")
    return call.args.has("--dry-run") and (value is None or value.text not in ("none", "false"))


def _kubectl(call: Call) -> Iterator[Effect]:
    operands = call.args.operands
    name, rest = (operands[0].text, operands[1:]) if operands else ("", [])
    if _dry(call) or not name:
        yield call.effect("k8s.read")
    elif name in _PARTS:
        yield from _PARTS[name](call, rest)
    elif name in ("port-forward", "proxy") and (address := call.args.value("--address")) is not None:
        here = all(part in ("localhost", "127.0.0.1", "::1") for part in address.text.split(","))
        yield call.effect(
            "k8s.read" if here else "net.tunnel", note="lets others reach the cluster through this machine"
        )
    elif name in _READ:
        yield call.effect("k8s.read")
    else:
        yield from _change(call, name, rest)


def _drain(call: Call, rest: list[Word]) -> Iterator[Effect]:
    hard = call.args.has("--force --delete-emptydir-data --delete-local-data --disable-eviction")
    here = True if _local(call) else None
    yield call.effect("k8s.drain.force" if hard else "k8s.drain", _targets(rest), recoverable=here)


def _cordon(call: Call, rest: list[Word]) -> Iterator[Effect]:
    yield call.effect("k8s.read" if _local(call) else "k8s.drain", _targets(rest))


def _rollout(call: Call, rest: list[Word]) -> Iterator[Effect]:
    looks = not rest or rest[0].text in ("status", "history")
    yield call.effect("k8s.read" if looks else _write(call), _targets(rest[1:]))


def _exec(call: Call, rest: list[Word]) -> Iterator[Effect]:
    inside = [word.text.rsplit("/", 1)[-1] for word in rest[1:]]
    shell = len(inside) == 1 and inside[0] in ("sh", "bash", "zsh", "ash", "dash")
    yield call.effect("k8s.shell" if shell else "k8s.exec", _targets(rest[:1]))


def _helm_source(call: Call) -> Iterator[Effect]:
    """A place for charts that anybody on the way could change."""
    plain = any(word.text.startswith("http://") for word in call.args.operands) or call.args.has(
        "--insecure-skip-tls-verify"
    )
    yield call.effect("pkg.source" if plain else "k8s.read", _targets(call.args.operands))


def _whoami(call: Call, _rest: list[Word]) -> Iterator[Effect]:
    yield call.effect("cred.read" if call.args.has("-t --show-token") else "k8s.read")


def _write(call: Call) -> str:
    return "k8s.local" if _local(call) else "k8s.write"


def _targets(found: list[Word]) -> tuple[Target, ...]:
    return tuple(Target(word.shown, "resource") for word in found)


def _delete(call: Call, rest: list[Word]) -> Iterator[Effect]:
    """`delete KIND NAME …`, `delete KIND/NAME …`, `delete KIND,KIND …`."""
    words_ = [word.text.lower() for word in rest]
    heads = words_[:1] + [word for word in words_[1:] if "/" in word]
    kinds = {kind.split(".", 1)[0] for head in heads for kind in head.split("/", 1)[0].split(",")}
    everything = call.args.has("--all -A --all-namespaces")
    here = True if _local(call) else None
    if kinds & _WHOLE or everything:
        yield call.effect("k8s.delete.all", _targets(rest), recoverable=here)
    elif kinds & _DATA:
        yield call.effect("k8s.delete.data", _targets(rest), recoverable=here)
    else:
        yield call.effect("k8s.local" if here else "k8s.delete", _targets(rest))


def _look(call: Call, rest: list[Word]) -> Iterator[Effect]:
    kinds = {kind for word in rest for kind in word.text.split("/")[0].lower().split(",")}
    output = call.args.value("-o --output")
    shown = output is not None and output.text.split("=")[0] in (
        "yaml",
        "json",
        "jsonpath",
        "go-template",
        "template",
        "jsonpath-as-json",
        "custom-columns",
    )
    if kinds & {"secret", "secrets"} and shown:
        yield call.effect("cred.read", _targets(rest), note="shows what the cluster keeps secret")
    else:
        yield call.effect("k8s.read")


def _config(call: Call, rest: list[Word]) -> Iterator[Effect]:
    name = rest[0].text if rest else ""
    if name == "view" and call.args.has("--raw"):
        yield call.effect("cred.read", note="shows the credentials of every cluster")
    elif name in ("use-context", "use", "set-context"):
        local = len(rest) > 1 and rest[1].text.startswith(_LOCAL)
        yield call.effect(
            "k8s.read" if local or (name == "set-context" and call.args.has("--current")) else "k8s.context",
            _targets(rest[1:]),
        )
    elif name.startswith(("delete-", "unset", "set-cred", "set-cluster", "rename-")):
        yield call.effect("k8s.context", _targets(rest[1:]))
    else:
        yield call.effect("k8s.read")


def _copy(call: Call, rest: list[Word]) -> Iterator[Effect]:
    if len(rest) > 1 and ":" in rest[-1].text:
        yield from call.on("fs.read", rest[:-1])
        yield call.effect(_write(call), _targets(rest[-1:]), note="puts files into a pod")
    elif len(rest) > 1:
        yield from call.on("fs.write", rest[-1:])


def _change(call: Call, name: str, rest: list[Word]) -> Iterator[Effect]:
    args = call.args
    flat = " ".join(word.text for word in (*call.command.argv,))
    first = rest[0].text if rest else ""
    if name == "run" and any(
        mark in flat.replace(" ", "")
        for mark in ('"hostPID":true', '"privileged":true', '"hostNetwork":true', '"hostPath"')
    ):
        yield call.effect("container.escape", recoverable=True, note="a pod that holds its node")
    elif name == "run" and args.has("--rm"):
        yield call.effect("k8s.exec", note="a pod that goes away by itself")
    elif name == "debug":
        yield call.effect(
            "container.escape" if first.startswith("node/") else "k8s.exec", _targets(rest[:1]), recoverable=True
        )
    elif name == "create" and first == "token":
        yield call.effect("cred.create", _targets(rest[1:]))
    elif (
        "clusterrolebinding" in first
        or "rolebinding" in first
        or name == "certificate"
        or (name == "adm" and first == "policy")
    ):
        yield call.effect("cloud.iam", _targets(rest))
    elif name == "adm":
        yield from _kubectl_inner(call, rest)
    elif name == "replace" and args.has("--force"):
        yield call.effect(
            "k8s.local" if _local(call) else "k8s.delete",
            _targets(args.all("-f --filename")),
            note="deletes and makes it again",
        )
    elif name in (
        "apply",
        "create",
        "replace",
        "patch",
        "edit",
        "set",
        "scale",
        "autoscale",
        "expose",
        "label",
        "annotate",
        "uncordon",
        "run",
        "new-app",
        "start-build",
        "process",
    ):
        prune = name == "apply" and args.has("--prune")
        yield call.effect(
            _write(call),
            _targets(rest) or _targets(args.all("-f --filename -k --kustomize")),
            note="what is no longer listed goes" if prune else "",
        )
    elif name == "login":
        yield call.effect("cred.write")
    else:
        yield call.effect("unknown.program", note=f"kubectl {name}")


def _kubectl_inner(call: Call, rest: list[Word]) -> Iterator[Effect]:
    call.args.operands = rest
    yield from _kubectl(call)


_PARTS: dict[str, Callable[[Call, list[Word]], Iterator[Effect]]] = {
    "delete": _delete,
    "get": _look,
    "describe": _look,
    "config": _config,
    "whoami": _whoami,
    "rollout": _rollout,
    "drain": _drain,
    "cordon": _cordon,
    "taint": _cordon,
    "exec": _exec,
    "rsh": _exec,
    "attach": _exec,
    "cp": _copy,
    "rsync": _copy,
}


def _by_verb(call: Call) -> Iterator[Effect]:
    """Tools around a cluster, judged by their verbs."""
    if _dry(call):
        return
    path = [word.text for word in call.args.operands]
    _, kind = verb.find(path)
    local = _local(call)
    if kind == "delete":
        yield call.effect("k8s.delete.all", _targets(call.args.operands), recoverable=True if local else None)
    elif kind == "write":
        yield call.effect("k8s.local" if local else "k8s.write", _targets(call.args.operands))
    else:
        yield call.effect("k8s.read")


def _released(call: Call) -> Iterator[Effect]:
    """A release that is put into a cluster."""
    yield call.effect("k8s.local" if _local(call) else "k8s.write", _targets(call.args.operands))


_KUBE_VALUES = (
    "-n --namespace --context --kubeconfig --cluster --user -s --server --token --as --as-group -l --selector -o --output -f --filename -k --kustomize -c --container --field-selector "
    "--since --since-time --tail -p --patch --type --replicas --image --port --for --timeout --grace-period --cascade --overrides --env --limits --requests --restart --clusterrole --role "
    "--serviceaccount --max-log-requests --sort-by --field-manager --overwrite-value --template --address"
)
_GONE = Does("k8s.delete.all", "*", "resource", bare=True)
_LOOK = Does("k8s.read")
_PUT = Does("k8s.write", "*", "resource", bare=True)
_RELEASE = Program(call=_released)
_MINE = Does("k8s.local", "*", "resource", bare=True)
_MINE_GONE = Does("container.remove.force", "*", "resource", bare=True, note="a cluster on this machine")
_HELM_VALUES = "-n --namespace --kube-context --kubeconfig -f --values --set --set-string --version --repo -o --output --timeout --kube-token --environment -e -l --selector"

PROGRAMS: dict[str, Program] = {
    **programs("kubectl k oc kubecolor microk8s.kubectl", Program(values=_KUBE_VALUES, call=_kubectl)),
    "kustomize": Program(_LOOK),
    **programs(
        "helm helm3",
        Program(
            _LOOK,
            values=_HELM_VALUES,
            dry="--dry-run",
            subs={
                "install": _RELEASE,
                "upgrade": _RELEASE,
                "rollback": _RELEASE,
                "uninstall": _GONE,
                "delete": _GONE,
                "del": _GONE,
                "un": _GONE,
                "push": Does("container.push", "*", "resource"),
                "registry login": Does("cred.write"),
                "test": Does("k8s.exec"),
                "plugin install": Does("pkg.foreign", "*", "package"),
                "get values": _LOOK,
                "repo add": Program(call=_helm_source),
            },
        ),
    ),
    "helmfile": Program(
        _LOOK,
        values=_HELM_VALUES,
        dry="--dry-run",
        subs={"apply": _PUT, "sync": _PUT, "destroy": _GONE, "delete": _GONE},
    ),
    "argocd": Program(
        _LOOK,
        values="--server --auth-token --grpc-web-root-path -o --revision -N --app-namespace -l --selector",
        dry="--dry-run",
        subs={
            "login": Does("cred.write"),
            "account generate-token": Does("cred.create"),
            "app get": _LOOK,
            "app diff": _LOOK,
            "app logs": _LOOK,
            "app history": _LOOK,
        },
        call=_by_verb,
    ),
    "flux": Program(
        values="-n --namespace --context --source --path",
        dry="--dry-run --export",
        subs={
            "get": _LOOK,
            "logs": _LOOK,
            "check": _LOOK,
            "diff": _LOOK,
            "trace": _LOOK,
            "tree": _LOOK,
            "stats": _LOOK,
            "events": _LOOK,
            "export": _LOOK,
            "build": _LOOK,
            "reconcile": _PUT,
            "suspend": _PUT,
            "resume": _PUT,
            "bootstrap": _PUT,
            "install": _PUT,
            "create": _PUT,
            "uninstall": _GONE,
            "delete": _GONE,
        },
    ),
    "istioctl": Program(
        _LOOK,
        values="-n --namespace --context --set -f -i",
        dry="--dry-run",
        subs={
            "install": _PUT,
            "upgrade": _PUT,
            "uninstall": _GONE,
            "experimental uninstall": _GONE,
            "x uninstall": _GONE,
        },
    ),
    "linkerd": Program(_LOOK),
    "minikube": Program(
        _LOOK,
        values="-p --profile --driver --cpus --memory",
        subs={
            "start": _MINE,
            "stop": _MINE,
            "pause": _MINE,
            "delete": _MINE_GONE,
            "ssh": Does("container.exec"),
            "mount": Does("sys.mount"),
            "addons enable": _MINE,
        },
    ),
    "kind": Program(
        _LOOK,
        values="--name --config --image -n",
        subs={
            "create": _MINE,
            "create cluster": _MINE,
            "load": _MINE,
            "delete": _MINE_GONE,
            "delete cluster": _MINE_GONE,
            "delete clusters": _MINE_GONE,
        },
    ),
    **programs(
        "k3d ctlptl",
        Program(
            _LOOK,
            values="-c --config -n",
            subs={
                "cluster create": _MINE,
                "cluster start": _MINE,
                "cluster stop": _MINE,
                "cluster delete": _MINE_GONE,
                "image import": _MINE,
                "delete": _MINE_GONE,
                "apply": _MINE,
            },
        ),
    ),
    "eksctl": Program(
        values="--cluster --name --region --profile -f --config-file --nodegroup -n",
        dry="--dry-run",
        subs={"utils write-kubeconfig": _LOOK},
        call=_by_verb,
    ),
    **programs(
        "kops gardenctl rosa tanzu clusterctl vcluster rancher capi kubermatic",
        Program(values="--name --state", dry="--dry-run", call=_by_verb),
    ),
    "kubeadm": Program(
        _LOOK,
        dry="--dry-run",
        subs={
            "reset": _GONE,
            "init": _PUT,
            "join": _PUT,
            "upgrade": _PUT,
            "upgrade plan": _LOOK,
            "token create": Does("cred.create"),
            "certs renew": Does("cred.write"),
        },
    ),
    "etcdctl": Program(
        _LOOK,
        values="--endpoints --cacert --cert --key --user",
        subs={
            "del": Does("db.delete.all", "*", "database"),
            "put": Does("db.write"),
            "member remove": Does("k8s.drain", "*", "resource"),
            "snapshot restore": Does("db.restore"),
            "compact": Does("db.delete.all"),
            "defrag": Does("db.write"),
        },
    ),
    **programs(
        "k9s stern kail kubetail popeye kube-linter kubeval kubeconform kube-score pluto polaris kubent conftest datree kubescape click",
        Program(_LOOK),
    ),
    "kubectx": Program(
        Does(
            "k8s.context",
            "0",
            "host",
            unless="-c --current - minikube docker-desktop kind-kind rancher-desktop colima orbstack",
        )
    ),
    "kubens": Program(_LOOK),
    "skaffold": Program(
        _LOOK,
        values="-p --profile -f --filename --kube-context",
        subs={
            "run": _PUT,
            "deploy": _PUT,
            "apply": _PUT,
            "delete": _GONE,
            "dev": _MINE,
            "debug": _MINE,
            "build": Does("container.build"),
        },
    ),
    "tilt": Program(_LOOK, subs={"up": _MINE, "down": Does("container.stop"), "ci": _MINE}),
    "telepresence": Program(_LOOK, subs={"connect": Does("net.tunnel"), "intercept": _PUT}),
    **programs(
        "kn odo kapp ytt kbld okteto werf",
        Program(values="-n --namespace -f", dry="--dry-run --diff-run", call=_by_verb),
    ),
    "kubeseal": Program(
        Does("cred.read", when="--recovery-unseal"),
        Does("fs.read", "-f --secret-file"),
        values="-f --secret-file -w -o --format --cert --controller-name --controller-namespace",
    ),
}
