"""CPU µs per decision by 1, 10, 100 and 1,000 equality rules, beside cedarpy, regopy and casbin in the same run.

Each engine gets the same rules (a write to the path of rule i is denied), parsed once, and is then asked about a path that
only the last rule names, and about one that none names. verdikt is measured through `verdikt.engine.PolicyEngine.evaluate`,
with session counting and trace as in use, and like the others without looking at the disk or telling effects; `verdikt, from a file` is the same policy loaded from `governance.yaml`.

    make bench      or      .venv/bin/python benchmarks/policy.py
"""

import sys
import time
from collections.abc import Callable

SIZES = (1, 10, 100, 1_000)
BARS = {1: 3.0, 1_000: 20.0}
SECONDS = 0.08
ROUNDS = 5

Decide = Callable[[str], bool]
"""A path in, whether it may be written out."""


def rules(count: int) -> list[dict[str, object]]:
    """The rules as plain data."""
    return [
        {"name": f"r{i}", "kind": "write", "equals": {"file_path": f"/p/{i}"}, "verdict": "block", "reason": "no", "fix": "do not"}
        for i in range(count)
    ]  # fmt: skip


def verdikt_engine(count: int) -> Decide:
    """verdikt, the graph built in Python."""
    from verdikt import Action, ActionKind
    from verdikt.engine import PolicyEngine
    from verdikt.graph.rule import Rule, RuleSet

    engine = PolicyEngine(RuleSet(*map(Rule.from_data, rules(count))), classify=None, observe=None)
    write = ActionKind.WRITE
    return lambda path: engine.evaluate(Action(kind=write, tool="Write", payload={"file_path": path})).passed


def verdikt_file(count: int) -> Decide:
    """verdikt, the same policy from a file, with the rule on unknown tools that every file has."""
    import json

    from verdikt import Action, ActionKind
    from verdikt.engine import PolicyEngine
    from verdikt.policy import parse_policy

    root = parse_policy(json.dumps({"profile": "none", "rules": rules(count)})).root
    engine = PolicyEngine(root, classify=None, observe=None)
    write = ActionKind.WRITE
    return lambda path: engine.evaluate(Action(kind=write, tool="Write", payload={"file_path": path})).passed


def cedar(count: int) -> Decide:
    """cedarpy, with policies and entities parsed beforehand."""
    import cedarpy

    source = "permit(principal, action, resource);\n" + "\n".join(
        f'forbid(principal, action == Action::"write", resource) when {{ context.path == "/p/{i}" }};'
        for i in range(count)
    )
    policies, entities = cedarpy.PolicySet.from_str(source), cedarpy.Entities.from_json_str("[]")
    base = {"principal": 'Agent::"a"', "action": 'Action::"write"', "resource": 'File::"f"'}
    return lambda path: cedarpy.is_authorized({**base, "context": {"path": path}}, policies, entities).allowed


def rego(count: int) -> Decide:
    """regopy, with the module compiled to a bundle beforehand."""
    import regopy

    lines = (f'deny if {{ input.action == "write"; input.path == "/p/{i}" }}' for i in range(count))
    interpreter = regopy.Interpreter()
    interpreter.add_module("policy", "package policy\ndefault deny := false\n" + "\n".join(lines))
    bundle = interpreter.build(None, ["policy/deny"])

    def decide(path: str) -> bool:
        interpreter.set_input({"action": "write", "path": path})
        return interpreter.query_bundle_entrypoint(bundle, "policy/deny").results[0].expressions[0] is False

    return decide


def casbin_(count: int) -> Decide:
    """casbin, with its effect for deny rules."""
    import casbin
    from casbin.model import Model

    model = Model()
    model.load_model_from_text(
        """
[request_definition]
r = obj, act
[policy_definition]
p = obj, act, eft
[policy_effect]
e = !some(where (p.eft == deny))
[matchers]
m = r.obj == p.obj && r.act == p.act
"""
    )
    enforcer = casbin.Enforcer(model)
    enforcer.add_policies([[f"/p/{i}", "write", "deny"] for i in range(count)])
    return lambda path: bool(enforcer.enforce(path, "write"))


CONDITIONS: dict[str, Callable[[int], dict[str, object]]] = {
    "equals": lambda i: {"equals": {"file_path": f"/p/{i}"}},
    "command": lambda i: {"command": f"tool{i} run"},
    "tool": lambda i: {"tool": [f"Tool{i}", f"mcp__server{i}__*"]},
    "pattern": lambda i: {"pattern": rf"secret{i}\s+\w+"},
    "effect": lambda i: {"effect": f"fs.delete.n{i}"},
    "target": lambda i: {"target": [f"/srv/app{i}/**", f"~/dir{i}/*", f"*.ext{i}"]},
    "agent": lambda i: {"agent": f"agent{i}"},
}
"""Kind of condition → the condition of rule i."""


def growth() -> dict[str, tuple[float, float]]:
    """Kind of condition → CPU µs of a decision by one such rule and by 1,000, on an action that fits none."""
    from verdikt import Action, ActionKind, Effect, EffectClass, Effects, PolicyEngine
    from verdikt.graph.policy_test import CaseWorld
    from verdikt.graph.rule import Rule, RuleSet
    from verdikt.model.effect import Target, Zone
    from verdikt.model.facts import Facts

    target = Target("src/pkg/module.py", path="/home/dev/project/src/pkg/module.py", zone=Zone.PROJECT)
    effects = Effects((Effect(cls=EffectClass.WRITE, what="fs.write", targets=(target,)),))
    payload = {"command": "python -m pytest tests -q --maxfail=1", "file_path": "/p/none"}
    action = Action(kind=ActionKind.BASH, tool="Bash", payload=payload, agent="main")
    facts = Facts(CaseWorld())
    found = {}
    for name, condition in CONDITIONS.items():
        costs = []
        for count in (1, 1_000):
            says = {"verdict": "block", "reason": "no", "fix": "do not"}
            engine = PolicyEngine(
                RuleSet(*(Rule.from_data({"name": f"r{i}", **condition(i), **says}) for i in range(count)))
            )
            costs.append(cost(lambda _, e=engine: e.evaluate(action, effects=effects, facts=facts).passed, ""))  # type: ignore[misc]
        found[name] = (costs[0], costs[1])
    return found


ENGINES: dict[str, Callable[[int], Decide]] = {
    "verdikt": verdikt_engine,
    "verdikt, from a file": verdikt_file,
    "cedarpy": cedar,
    "regopy": rego,
    "casbin": casbin_,
}
PEERS = ("cedarpy", "regopy", "casbin")


def cost(decide: Decide, path: str) -> float:
    """CPU microseconds of one decision: the best of a few rounds, which is the one that other processes disturbed least."""
    loops, spent = 1, 0.0
    while True:
        start = time.process_time()
        for _ in range(loops):
            decide(path)
        spent = time.process_time() - start
        if spent > SECONDS / 4 or loops > 1 << 20:
            break
        loops *= 4
    loops = max(1, int(loops * SECONDS / max(spent, 1e-9)))
    found = []
    for _ in range(ROUNDS if spent < 1 else 1):
        start = time.process_time()
        for _ in range(loops):
            decide(path)
        found.append((time.process_time() - start) / loops)
    return min(found) * 1e6


def measure() -> dict[tuple[str, int, str], float]:
    """Every engine, size and case; an engine that gives a wrong answer is no competitor and ends the run."""
    found: dict[tuple[str, int, str], float] = {}
    for count in SIZES:
        paths = {"last": f"/p/{count - 1}", "none": "/p/none"}
        for name, make in ENGINES.items():
            decide = make(count)
            if decide(paths["last"]) or not decide(paths["none"]):
                sys.exit(f"{name} with {count} rules gives a wrong answer")
            for case, path in paths.items():
                found[name, count, case] = cost(decide, path)
    return found


def main() -> int:
    """Prints the table with ratios; the exit status says whether the bars are met."""
    by_kind = growth()  # first: some of the others cannot share a process with re2 once they have started
    found = measure()
    head = "".join(f"{f'N={count:,} {case}':>14}" for count in SIZES for case in ("last", "none"))
    print(f"CPU µs per decision\n{'':22}{head}")
    for name in ENGINES:
        row = "".join(f"{found[name, count, case]:14.1f}" for count in SIZES for case in ("last", "none"))
        print(f"{name:22}{row}")
    print("\ntimes as fast as the fastest of the others")
    met = True
    for name in ("verdikt", "verdikt, from a file"):
        ratios = {
            (count, case): min(found[peer, count, case] for peer in PEERS) / found[name, count, case]
            for count in SIZES
            for case in ("last", "none")
        }
        print(f"{name:22}" + "".join(f"{ratios[count, case]:13.1f}×" for count in SIZES for case in ("last", "none")))
        met &= all(ratios[count, case] >= bar for count, bar in BARS.items() for case in ("last", "none"))
        times = max(found[name, 1_000, case] / found[name, 1, case] for case in ("last", "none"))
        met &= times <= 2
        print(f"{'':22}1,000 rules cost {times:.2f} times one rule (bar: at most 2)")
    print("\nverdikt by kind of condition, no rule fires: CPU µs by one rule, by 1,000, times (bar: at most 2)")
    for name, (one, thousand) in by_kind.items():
        met &= thousand / one <= 2
        print(f"{name:22}{one:14.1f}{thousand:14.1f}{thousand / one:13.2f}×")
    print(f"bars (at least 3× at N=1, 20× at N=1,000): {'met' if met else 'NOT met'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
