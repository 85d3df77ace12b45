"""Render a policy graph, and the path that an evaluation took through it, as text, Mermaid or SVG."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

GraphNode = Mapping[str, Any]
"""A node as plain data: `name`, `type` (All, When, guard …), `note`, and `children`, each with its own `edge`."""

_ROW, _INDENT, _WIDTH, _CHARACTER = 26, 28, 720, 7.3


def render_graph_text(root: GraphNode) -> str:
    """Return the graph as an indented tree."""
    return "\n".join(_render_lines(root, "", ""))


def _render_lines(node: GraphNode, prefix: str, branch: str) -> Iterator[str]:
    yield f"{prefix}{branch}{_label(node)}"
    inner = prefix + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
    children = node["children"]
    for index, child in enumerate(children):
        yield from _render_lines(child, inner, "└─ " if index == len(children) - 1 else "├─ ")


def _label(node: GraphNode) -> str:
    edge = f"{node['edge']}: " if node.get("edge") else ""
    kind = "" if node["type"] == node["name"] else f"{node['type']} "
    note = f"  ({node['note']})" if node.get("note") else ""
    return f"{edge}{kind}{node['name']}{note}"


def render_mermaid(root: GraphNode) -> str:
    """Return the graph as a Mermaid flowchart."""
    lines = ["flowchart TD"]
    for number, (node, parent) in enumerate(_walk(root)):
        text = _escape_mermaid(_label({**node, "edge": ""}))
        lines.append(f'  n{number}["{text}"]')
        if parent is not None:
            edge = f"|{_escape_mermaid(node['edge'])}|" if node.get("edge") else ""
            lines.append(f"  n{parent} -->{edge} n{number}")
    return "\n".join(lines)


def _escape_mermaid(text: str) -> str:
    """Return a label in which quotes, brackets and bars are shown and not read: Mermaid's own references."""
    text = text.replace("#", "#35;")
    for mark, name in (('"', "quot"), ("<", "lt"), (">", "gt"), ("|", "124"), ("\n", "32")):
        text = text.replace(mark, f"#{name};")
    return text


def render_svg(root: GraphNode) -> str:
    """Return the graph as an SVG picture without scripts and without anything to load."""
    rows = list(_walk(root))
    depths: list[int] = []
    for _, parent in rows:
        depths.append(0 if parent is None else depths[parent] + 1)
    extents = [depth * _INDENT + len(_label(node)) * _CHARACTER for (node, _), depth in zip(rows, depths, strict=True)]
    width = max(_WIDTH, 40 + max(extents))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{len(rows) * _ROW + 16}"'
        ' font-family="monospace" font-size="12">'
    ]
    for number, ((node, parent), depth) in enumerate(zip(rows, depths, strict=True)):
        x, y = 10 + depth * _INDENT, 8 + number * _ROW
        if parent is not None:
            start_x, start_y = 10 + depths[parent] * _INDENT + 8, 8 + parent * _ROW + 20
            parts.append(f'<path d="M{start_x} {start_y} V{y + 10} H{x}" fill="none" stroke="#888"/>')
        label = _label(node)
        parts.append(
            f'<rect x="{x}" y="{y}" width="{len(label) * _CHARACTER + 12:.0f}" height="20" rx="4"'
            ' fill="#eef" stroke="#557"/>'
            f'<text x="{x + 6}" y="{y + 14}" fill="#113">{escape(label)}</text>'
        )
    return "\n".join([*parts, "</svg>"])


def _walk(root: GraphNode, start: int = 0, parent: int | None = None) -> Iterator[tuple[GraphNode, int | None]]:
    """Yield every node with the number of its parent, in the order of evaluation."""
    yield root, parent
    number = start + 1
    for child in root["children"]:
        rows = list(_walk(child, number, start))
        yield from rows
        number += len(rows)


def render_path(trace: Sequence[tuple[str, Any, int]]) -> list[str]:
    """Return the path of an evaluation, one line for each node: its verdict, its name, and the reason of an objection.

    `trace` has (name, verdict, depth), each node above its children.
    """
    lines = []
    for name, verdict, depth in trace:
        reason = f"  {verdict.reason}" if verdict.reason and verdict.guard == name and not verdict.passed else ""
        by = f"  by {verdict.guard}" if verdict.guard != name and not verdict.passed else ""
        lines.append(f"{'  ' * depth}{verdict.kind.word:<5} {name}{by}{reason}")
    return lines


def render_deciding_path(trace: Sequence[tuple[str, Any, int]]) -> str:
    """Return the nodes from the root to the one that decided, in one line."""
    if not trace:
        return ""
    path = [trace[0]]
    for name, verdict, depth in trace[1:]:
        parent = path[-1]
        if depth == parent[2] + 1 and (verdict.kind, verdict.guard) == (parent[1].kind, parent[1].guard):
            path.append((name, verdict, depth))
    return " › ".join(name for name, _, _ in path)
