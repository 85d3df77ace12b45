"""The semantics of the policy graph, written naively: no context, no trace, no short cuts.

A graph is nested tuples: `("pass"|"warn"|"ask"|"block",)`, `("red",)` (a red-line block), `("raise",)` (a guard that
fails), `("observe",)` (an OBSERVE guard that fails), `("all"|"any", [graphs])`, `("threshold", n, [graphs])`,
`("not", graph)`, `("when", True|False|None, then, otherwise|None)` (None: the condition raises),
`("escalate", primary, fallback)`.
"""

from typing import Any

ORDER = ["pass", "warn", "ask", "block"]
LEAVES = {
    "pass": ("pass", set()),
    "warn": ("warn", set()),
    "ask": ("ask", set()),
    "block": ("block", set()),
    "red": ("block", {"red"}),
    "raise": ("block", {"error"}),
    "observe": ("ignored", set()),
}

Answer = tuple[str, set[str]]


def evaluate_naively(graph: tuple[Any, ...]) -> Answer:
    """Return the kind (`ignored` counts as a pass at the top) and, for a block, its marks: a red line, an error."""
    match graph:
        case ("all", children):
            answers = [a for a in map(evaluate_naively, children) if a[0] != "ignored"]
            return _nth_most_lenient(answers, len(answers)) if answers else ("ignored", set())
        case ("any", children):
            return _nth_most_lenient([_to_vote(evaluate_naively(child)) for child in children], 1)
        case ("threshold", n, children):
            return _nth_most_lenient([_to_vote(evaluate_naively(child)) for child in children], n)
        case ("not", child):
            kind, marks = _to_vote(evaluate_naively(child))
            if kind == "block":
                return ("block", marks) if "error" in marks else ("pass", set())
            return ("block", set()) if kind == "pass" else (kind, marks)
        case ("when", None, _, _):
            return "block", {"error"}
        case ("when", holds, then, otherwise):
            branch = then if holds else otherwise
            return ("pass", set()) if branch is None else evaluate_naively(branch)
        case ("escalate", primary, fallback):
            first = evaluate_naively(primary)
            if first[0] != "block" or first[1]:
                return first
            second = evaluate_naively(fallback)
            return ("block", first[1] | second[1]) if second[0] in ("ignored", "block") else second
    return LEAVES[graph[0]]


def _to_vote(answer: Answer) -> Answer:
    return ("block", {"error"}) if answer[0] == "ignored" else answer


def _nth_most_lenient(answers: list[Answer], n: int) -> Answer:
    kind = sorted((kind for kind, _ in answers), key=ORDER.index)[n - 1]
    return kind, set().union(*(marks for k, marks in answers if k == kind)) if kind == "block" else set()
