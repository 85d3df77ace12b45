"""CPU µs per decision by 1, 10, 100 and 1,000 equality rules, beside cedarpy, regopy and casbin in the same run.

Each engine gets the same rules (a write to the path of rule i is denied), parsed once, and then decides about a path
that only the last rule names, and about one that none names. verdikt is measured through
`verdikt.engine.PolicyEngine.evaluate`, with session counting and trace as in use, and like the others without
reading the disk or classifying effects. `verdikt, from a file` is the same policy loaded from `governance.yaml`.

    make bench      or      .venv/bin/python benchmarks/policy.py
"""

import json
import sys
import time
from collections.abc import Callable

from verdikt import Action, ActionKind, Effect, EffectClass, Effects
from verdikt.engine import PolicyEngine
from verdikt.graph.policy_test import CaseWorld
from verdikt.graph.rule import Rule, RuleSet
from verdikt.model.effect import Target, Zone
from verdikt.model.facts import Facts
from verdikt.policy import parse_policy

SIZES = (1, 10, 100, 1_000)
BARS = {1: 3.0, 1_000: 20.0}
SECONDS = 0.08
ROUNDS = 5

Decide = Callable[[str], bool]
"""Takes a path and returns whether it may be written."""


def build_rules(count: int) -> list[dict[str, object]]:
    """Return the rules as plain data."""
    verdict = {"verdict": "block", "reason": "no", "fix": "do not"}
    return [{"name": f"r{i}", "kind": "write", "equals": {"file_path": f"/p/{i}"}, **verdict} for i in range(count)]


def load_verdikt(count: int) -> Decide:
    """Return verdikt with a graph built in Python."""
    engine = PolicyEngine(RuleSet(*map(Rule.from_data, build_rules(count))), classify=None, observe=None)
    write = ActionKind.WRITE
    return lambda path: engine.evaluate(Action(kind=write, tool="Write", payload={"file_path": path})).passed


def load_verdikt_file(count: int) -> Decide:
    """Return verdikt with the same policy from a file, and the rule on unknown tools that every file has."""
    engine = PolicyEngine(
        parse_policy(json.dumps({"profile": "none", "rules": build_rules(count)})).root, classify=None, observe=None
    )
    write = ActionKind.WRITE
    return lambda path: engine.evaluate(Action(kind=write, tool="Write", payload={"file_path": path})).passed


# The others are imported where they are used: they are optional, and some cannot share a process with re2 once started.


def load_cedar(count: int) -> Decide:
    """Return cedarpy with parsed policies and entities."""
    import cedarpy

    source = "permit(principal, action, resource);\n" + "\n".join(
        f'forbid(principal, action == Action::"write", resource) when {{ context.path == "/p/{i}" }};'
        for i in range(count)
    )
    policies, entities = cedarpy.PolicySet.from_str(source), cedarpy.Entities.from_json_str("[]")
    base = {"principal": 'Agent::"a"', "action": 'Action::"write"', "resource": 'File::"f"'}
    return lambda path: cedarpy.is_authorized({**base, "context": {"path": path}}, policies, entities).allowed


def load_rego(count: int) -> Decide:
    """Return regopy with the module compiled to a bundle."""
    import regopy

    lines = (f'deny if {{ input.action == "write"; input.path == "/p/{i}" }}' for i in range(count))
    interpreter = regopy.Interpreter()
    interpreter.add_module("policy", "package policy\ndefault deny := false\n" + "\n".join(lines))
    bundle = interpreter.build(None, ["policy/deny"])

    def decide(path: str) -> bool:
        interpreter.set_input({"action": "write", "path": path})
        return interpreter.query_bundle_entrypoint(bundle, "policy/deny").results[0].expressions[0] is False

    return decide


def load_casbin(count: int) -> Decide:
    """Return casbin with its effect for deny rules."""
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


def measure_conditions() -> dict[str, tuple[float, float]]:
    """Return CPU µs of a decision by one rule and by 1,000, per kind of condition, on an action that fits none."""
    target = Target("src/pkg/module.py", path="/home/dev/project/src/pkg/module.py", zone=Zone.PROJECT)
    effects = Effects((Effect(cls=EffectClass.WRITE, what="fs.write", targets=(target,)),))
    payload = {"command": "python -m pytest tests -q --maxfail=1", "file_path": "/p/none"}
    action = Action(kind=ActionKind.BASH, tool="Bash", payload=payload, agent="main")
    facts = Facts(CaseWorld())
    costs_by_kind = {}
    for name, condition in CONDITIONS.items():
        costs = []
        for count in (1, 1_000):
            verdict = {"verdict": "block", "reason": "no", "fix": "do not"}
            engine = PolicyEngine(
                RuleSet(*(Rule.from_data({"name": f"r{i}", **condition(i), **verdict}) for i in range(count)))
            )

            def decide(_: str, engine: PolicyEngine = engine) -> bool:
                return engine.evaluate(action, effects=effects, facts=facts).passed

            costs.append(measure_decision(decide, ""))
        costs_by_kind[name] = (costs[0], costs[1])
    return costs_by_kind


ENGINES: dict[str, Callable[[int], Decide]] = {
    "verdikt": load_verdikt,
    "verdikt, from a file": load_verdikt_file,
    "cedarpy": load_cedar,
    "regopy": load_rego,
    "casbin": load_casbin,
}
PEERS = ("cedarpy", "regopy", "casbin")


def measure_decision(decide: Decide, path: str) -> float:
    """Return the CPU microseconds of one decision in the fastest of a few rounds."""
    loops, seconds = 1, 0.0
    while True:
        started_at = time.process_time()
        for _ in range(loops):
            decide(path)
        seconds = time.process_time() - started_at
        if seconds > SECONDS / 4 or loops > 1 << 20:
            break
        loops *= 4
    loops = max(1, int(loops * SECONDS / max(seconds, 1e-9)))
    samples = []
    for _ in range(ROUNDS if seconds < 1 else 1):
        started_at = time.process_time()
        for _ in range(loops):
            decide(path)
        samples.append((time.process_time() - started_at) / loops)
    return min(samples) * 1e6


def measure_engines() -> dict[tuple[str, int, str], float]:
    """Return the cost per engine, size and case; end the run when an engine decides wrongly."""
    costs: dict[tuple[str, int, str], float] = {}
    for count in SIZES:
        paths = {"last": f"/p/{count - 1}", "none": "/p/none"}
        for name, load_engine in ENGINES.items():
            decide = load_engine(count)
            if decide(paths["last"]) or not decide(paths["none"]):
                sys.exit(f"{name} with {count} rules gives a wrong answer")
            for case, path in paths.items():
                costs[name, count, case] = measure_decision(decide, path)
    return costs


def main() -> int:
    """Print the table with ratios, and return 0 when the bars are met."""
    costs_by_kind = measure_conditions()  # before the other engines are loaded, see above
    costs = measure_engines()
    head = "".join(f"{f'N={count:,} {case}':>14}" for count in SIZES for case in ("last", "none"))
    print(f"CPU µs per decision\n{'':22}{head}")
    for name in ENGINES:
        row = "".join(f"{costs[name, count, case]:14.1f}" for count in SIZES for case in ("last", "none"))
        print(f"{name:22}{row}")
    print("\ntimes as fast as the fastest of the others")
    is_met = True
    for name in ("verdikt", "verdikt, from a file"):
        ratios = {
            (count, case): min(costs[peer, count, case] for peer in PEERS) / costs[name, count, case]
            for count in SIZES
            for case in ("last", "none")
        }
        print(f"{name:22}" + "".join(f"{ratios[count, case]:13.1f}×" for count in SIZES for case in ("last", "none")))
        is_met &= all(ratios[count, case] >= bar for count, bar in BARS.items() for case in ("last", "none"))
        times = max(costs[name, 1_000, case] / costs[name, 1, case] for case in ("last", "none"))
        is_met &= times <= 2
        print(f"{'':22}1,000 rules cost {times:.2f} times one rule (bar: at most 2)")
    print("\nverdikt by kind of condition, no rule fires: CPU µs by one rule, by 1,000, times (bar: at most 2)")
    for name, (one_rule, thousand_rules) in costs_by_kind.items():
        is_met &= thousand_rules / one_rule <= 2
        print(f"{name:22}{one_rule:14.1f}{thousand_rules:14.1f}{thousand_rules / one_rule:13.2f}×")
    print(f"bars (at least 3× at N=1, 20× at N=1,000): {'met' if is_met else 'NOT met'}")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
