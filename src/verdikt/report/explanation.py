"""Render an explained command as text or HTML: its parts, their effects, the verdict and the fix."""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

Paint = Callable[[str, str], str]
"""(text, role) → the styled text. Roles: pass, warn, ask, block, dim, command, effect."""

# An expanded glob can have hundreds of targets; the line stays readable with a few.
_MAX_TARGETS = 4


def plain_paint(text: str, role: str) -> str:
    """Return the text without any style, for pipes and files."""
    return text


def render_text(explanation: Mapping[str, Any], paint: Paint = plain_paint) -> str:
    """Return the explanation as text, one line for each part."""
    lines = [*_render_tree(explanation["commands"], paint), *_render_problems(explanation, paint)]
    if not explanation["commands"]:
        lines += [_render_effect(effect, paint) for effect in explanation["effects"]]
    verdict = explanation["verdict"]
    lines += ["", f"{paint(verdict['kind'], verdict['kind'])}  {verdict['guard']}"]
    lines += [f"  {name:<4} {verdict[key]}" for name, key in (("why", "reason"), ("fix", "fix")) if verdict[key]]
    lines += [paint(f"  path {explanation['path']}", "dim")] if explanation.get("path") else []
    lines += [f"  {note}" for note in explanation.get("notes", ())]
    if explanation["approved"]:
        lines.append("  the policy approves this: the host need not ask")
    return "\n".join(
        [*lines, paint(f"  posture {explanation['posture']}, receipt {explanation['receipt'][:16]}", "dim")]
    )


def _render_tree(commands: Sequence[Mapping[str, Any]], paint: Paint) -> list[str]:
    lines: list[str] = []
    depths = [command["depth"] for command in commands]
    for index, command in enumerate(commands):
        depth = command["depth"]
        is_last = _is_last_sibling(depths, index)
        branch = "   " * depth + ("└─ " if is_last else "├─ ")
        lines.append(paint(branch, "dim") + paint(command["shown"], "command") + _render_circumstances(command, paint))
        indent = "   " * depth + ("   " if is_last else "│  ")
        lines += [paint(indent, "dim") + _render_effect(effect, paint) for effect in command["effects"]]
    return lines


def _is_last_sibling(depths: Sequence[int], index: int) -> bool:
    """Return whether no later command has the same depth before one that is less deep."""
    for depth in depths[index + 1 :]:
        if depth <= depths[index]:
            return depth < depths[index]
    return True


def _render_circumstances(command: Mapping[str, Any], paint: Paint) -> str:
    words = [f"in {' › '.join(command['via'])}"] if command["via"] else []
    words += [f"on {command['where']}"] if command["where"] else []
    words += [f"at {command['cwd']}"] if command["cwd"] else []
    words += [name for name in ("piped", "background", "conditional", "repeated") if command[name]]
    return paint(f"   ({', '.join(words)})", "dim") if words else ""


def _render_effect(effect: Mapping[str, Any], paint: Paint) -> str:
    targets = ", ".join(_render_target(target) for target in effect["targets"][:_MAX_TARGETS])
    omitted = len(effect["targets"]) - _MAX_TARGETS
    more = f" and {omitted} more" if omitted > 0 else ""
    words = [effect["certainty"]]
    words += [] if effect["recoverable"] else ["can't be undone"]
    words += [effect["note"]] if effect.get("note") else []
    what = paint(f"{effect['class']:<12}{effect['what']}", "effect")
    return f"  {what}  {targets}{more}".rstrip() + paint(f"   {', '.join(words)}", "dim")


def _render_target(target: Mapping[str, Any]) -> str:
    path = target.get("path") or ""
    text = target["text"] if path in ("", target["text"]) else f"{target['text']} = {path}"
    words = [word for word in (target.get("zone", ""), target.get("state", "")) if word and word != "unknown"]
    return f"{text} [{', '.join(words)}]" if words else str(text)


def _render_problems(explanation: Mapping[str, Any], paint: Paint) -> list[str]:
    return [paint(f"not understood: {problem}", "ask") for problem in explanation["problems"]]


_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 ui-monospace, monospace; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1rem; white-space: pre-wrap; overflow-wrap: anywhere; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
.dim { opacity: .6 } .command { font-weight: bold } .pass { color: #2a7a2a } .warn { color: #9a6b00 }
.ask { color: #9a3b9a } .block { color: #c22; } .pass, .warn, .ask, .block { font-weight: bold }
"""


def render_html(explanation: Mapping[str, Any]) -> str:
    """Return the explanation as a self-contained page, without scripts and without anything to load."""

    def mark_role(text: str, role: str) -> str:
        return f"\0{role}\1{text}\2"

    # Control characters survive `escape`, so the text, which an agent wrote, is escaped before any tag is added.
    body = escape(render_text(explanation, mark_role))
    for role in ("pass", "warn", "ask", "block", "dim", "command", "effect"):
        body = body.replace(f"\0{role}\1", f'<span class="{role}">')
    body = body.replace("\2", "</span>")
    title = escape(explanation["text"])
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>verdikt explain</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{title}</h1>\n<pre>{body}</pre></body></html>\n"
    )
