"""Clusters: which resources a command falls on, and whether the cluster is on this machine."""

from collections.abc import Callable, Iterator

from verdikt.effects import command_verbs
from verdikt.effects.arguments import word_set
from verdikt.effects.invocation import Invocation
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
_READ = word_set(
    "logs log explain diff top config api-resources api-versions version cluster-info events wait krew port-forward "
    "proxy completion kustomize options plugin alpha auth help status whoami projects project types"
)
_WHOLE = word_set(
    "namespace namespaces ns project projects all crd crds customresourcedefinition customresourcedefinitions node "
    "nodes no"
)
"""Kinds whose deletion takes everything inside along."""
_DATA = word_set(
    "pvc pvcs pv pvs persistentvolumeclaim persistentvolumeclaims persistentvolume persistentvolumes statefulset "
    "statefulsets sts volumesnapshot volumesnapshots storageclass sc"
)
"""Kinds that hold data, or whose deletion loses it."""


def _local(call: Invocation) -> bool:
    """Return whether the cluster runs on this machine, where only this user depends on it."""
    context = call.args.get_value("--context --kube-context --kubecontext")
    return context is not None and context.text.startswith(_LOCAL)


def _dry(call: Invocation) -> bool:
    value = call.args.get_value("--dry-run")
    return call.args.has_flag("--dry-run") and (value is None or value.text not in ("none", "false"))


def classify_kubectl(call: Invocation) -> Iterator[Effect]:
    operands = call.args.operands
    name, rest = (operands[0].text, operands[1:]) if operands else ("", [])
    if _dry(call) or not name:
        yield call.make_effect("k8s.read")
    elif name in _PARTS:
        yield from _PARTS[name](call, rest)
    elif name in ("port-forward", "proxy") and (address := call.args.get_value("--address")) is not None:
        here = all(part in ("localhost", "127.0.0.1", "::1") for part in address.text.split(","))
        yield call.make_effect(
            "k8s.read" if here else "net.tunnel", note="lets others reach the cluster through this machine"
        )
    elif name in _READ:
        yield call.make_effect("k8s.read")
    else:
        yield from _change(call, name, rest)


def _drain(call: Invocation, rest: list[Word]) -> Iterator[Effect]:
    hard = call.args.has_flag("--force --delete-emptydir-data --delete-local-data --disable-eviction")
    here = True if _local(call) else None
    yield call.make_effect("k8s.drain.force" if hard else "k8s.drain", _targets(rest), recoverable=here)


def _cordon(call: Invocation, rest: list[Word]) -> Iterator[Effect]:
    yield call.make_effect("k8s.read" if _local(call) else "k8s.drain", _targets(rest))


def _rollout(call: Invocation, rest: list[Word]) -> Iterator[Effect]:
    looks = not rest or rest[0].text in ("status", "history")
    yield call.make_effect("k8s.read" if looks else _write(call), _targets(rest[1:]))


def _exec(call: Invocation, rest: list[Word]) -> Iterator[Effect]:
    inside = [word.text.rsplit("/", 1)[-1] for word in rest[1:]]
    shell = len(inside) == 1 and inside[0] in ("sh", "bash", "zsh", "ash", "dash")
    yield call.make_effect("k8s.shell" if shell else "k8s.exec", _targets(rest[:1]))


def classify_helm_source(call: Invocation) -> Iterator[Effect]:
    """Classify a chart repository whose transport an attacker on the way could change."""
    plain = any(word.text.startswith("http://") for word in call.args.operands) or call.args.has_flag(
        "--insecure-skip-tls-verify"
    )
    yield call.make_effect("pkg.source" if plain else "k8s.read", _targets(call.args.operands))


def _whoami(call: Invocation, _rest: list[Word]) -> Iterator[Effect]:
    yield call.make_effect("cred.read" if call.args.has_flag("-t --show-token") else "k8s.read")


def _write(call: Invocation) -> str:
    return "k8s.local" if _local(call) else "k8s.write"


def _targets(found: list[Word]) -> tuple[Target, ...]:
    return tuple(Target(word.display_text, "resource") for word in found)


_CHOICES = "-l --selector -f --filename -k --kustomize --field-selector --raw"


def _delete(call: Invocation, rest: list[Word]) -> Iterator[Effect]:
    """`delete KIND NAME …`, `delete KIND/NAME …`, `delete KIND,KIND …`."""
    words_ = [word.text.lower() for word in rest]
    heads = words_[:1] + [word for word in words_[1:] if "/" in word]
    kinds = {kind.split(".", 1)[0] for head in heads for kind in head.split("/", 1)[0].split(",")}
    everything = call.args.has_flag("--all -A --all-namespaces")
    here = True if _local(call) else None
    # `delete ns` alone is refused: neither names nor a choice.
    if (
        len(rest) == 1
        and "/" not in words_[0]
        and rest[0].is_known
        and not (everything or call.args.has_flag(_CHOICES))
    ):
        return
    if kinds & _WHOLE or everything:
        yield call.make_effect("k8s.delete.all", _targets(rest), recoverable=here)
    elif kinds & _DATA:
        yield call.make_effect("k8s.delete.data", _targets(rest), recoverable=here)
    else:
        yield call.make_effect("k8s.local" if here else "k8s.delete", _targets(rest))


def _look(call: Invocation, rest: list[Word]) -> Iterator[Effect]:
    kinds = {kind for word in rest for kind in word.text.split("/")[0].lower().split(",")}
    output = call.args.get_value("-o --output")
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
        yield call.make_effect("cred.read", _targets(rest), note="shows what the cluster keeps secret")
    else:
        yield call.make_effect("k8s.read")


def _config(call: Invocation, rest: list[Word]) -> Iterator[Effect]:
    name = rest[0].text if rest else ""
    if name == "view" and call.args.has_flag("--raw"):
        yield call.make_effect("cred.read", note="shows the credentials of every cluster")
    elif name in ("use-context", "use", "set-context"):
        local = len(rest) > 1 and rest[1].text.startswith(_LOCAL)
        yield call.make_effect(
            "k8s.read" if local or (name == "set-context" and call.args.has_flag("--current")) else "k8s.context",
            _targets(rest[1:]),
        )
    elif name.startswith(("delete-", "unset", "set-cred", "set-cluster", "rename-")):
        yield call.make_effect("k8s.context", _targets(rest[1:]))
    else:
        yield call.make_effect("k8s.read")


def _copy(call: Invocation, rest: list[Word]) -> Iterator[Effect]:
    if len(rest) > 1 and ":" in rest[-1].text:
        yield from call.make_effects("fs.read", rest[:-1])
        yield call.make_effect(_write(call), _targets(rest[-1:]), note="puts files into a pod")
    elif len(rest) > 1:
        yield from call.make_effects("fs.write", rest[-1:])


def _change(call: Invocation, name: str, rest: list[Word]) -> Iterator[Effect]:
    args = call.args
    flat = " ".join(word.text for word in (*call.command.argv,))
    first = rest[0].text if rest else ""
    if name == "run" and any(
        mark in flat.replace(" ", "")
        for mark in ('"hostPID":true', '"privileged":true', '"hostNetwork":true', '"hostPath"')
    ):
        yield call.make_effect("container.escape", recoverable=True, note="a pod that holds its node")
    elif name == "run" and args.has_flag("--rm"):
        yield call.make_effect("k8s.exec", note="a pod that goes away by itself")
    elif name == "debug":
        yield call.make_effect(
            "container.escape" if first.startswith("node/") else "k8s.exec", _targets(rest[:1]), recoverable=True
        )
    elif name == "create" and first == "token":
        yield call.make_effect("cred.create", _targets(rest[1:]))
    elif (
        "clusterrolebinding" in first
        or "rolebinding" in first
        or name == "certificate"
        or (name == "adm" and first == "policy")
    ):
        yield call.make_effect("cloud.iam", _targets(rest))
    elif name == "adm":
        yield from _kubectl_inner(call, rest)
    elif name == "replace" and args.has_flag("--force"):
        yield call.make_effect(
            "k8s.local" if _local(call) else "k8s.delete",
            _targets(args.get_values("-f --filename")),
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
        prune = name == "apply" and args.has_flag("--prune")
        yield call.make_effect(
            _write(call),
            _targets(rest) or _targets(args.get_values("-f --filename -k --kustomize")),
            note="what is no longer listed goes" if prune else "",
        )
    elif name == "login":
        yield call.make_effect("cred.write")
    else:
        yield call.make_effect("unknown.program", note=f"kubectl {name}")


def _kubectl_inner(call: Invocation, rest: list[Word]) -> Iterator[Effect]:
    call.args.operands = rest
    yield from classify_kubectl(call)


_PARTS: dict[str, Callable[[Invocation, list[Word]], Iterator[Effect]]] = {
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


def classify_by_verb(call: Invocation) -> Iterator[Effect]:
    """Tools around a cluster, judged by their verbs."""
    if _dry(call):
        return
    path = [word.text for word in call.args.operands]
    _, kind = command_verbs.find_verb(path)
    local = _local(call)
    if kind == "delete":
        yield call.make_effect("k8s.delete.all", _targets(call.args.operands), recoverable=True if local else None)
    elif kind == "write":
        yield call.make_effect("k8s.local" if local else "k8s.write", _targets(call.args.operands))
    else:
        yield call.make_effect("k8s.read")


def classify_release(call: Invocation) -> Iterator[Effect]:
    """Classify a release that is put into a cluster."""
    yield call.make_effect("k8s.local" if _local(call) else "k8s.write", _targets(call.args.operands))
