"""Chains of entries for tests of the team service: real lines, made by the real functions."""

from collections.abc import Iterable
from typing import Any

from verdikt.model.chain_head import ChainHead
from verdikt.model.entry import EntryKind, build_entry

START_TS = 1_793_000_000_000_000


def build_lines(
    session: str, numbers: Iterable[int], *, head: ChainHead | None = None, flavour: str = "", host: str = "claude"
) -> list[bytes]:
    """Return the lines of entries with these numbers after a head; another flavour makes another chain."""
    lines, before = [], head or ChainHead()
    for number in numbers:
        entry, line = build_entry(
            seq=before.seq + 1,
            ts=START_TS + number * 1_000_000,
            session=session,
            kind=EntryKind.DECISION if number % 2 else EntryKind.TOOL_CALL,
            body=build_body(number, flavour, host),
            prev=before.hash,
        )
        before = ChainHead(entry.seq, entry.hash)
        lines.append(line)
    return lines


def build_body(number: int, flavour: str = "", host: str = "claude") -> dict[str, Any]:
    """Return the body of a decision (odd numbers) or of a tool call (even ones)."""
    command = f"echo {number} {flavour}".strip()
    action = {"tool": "Bash", "kind": "bash", "payload": {"command": command}, "host": host, "cwd": "/home/ana/shop"}
    if number % 2 == 0:
        return {**action, "success": True, "exit_code": 0}
    kind = ("pass", "ask", "block", "pass")[number // 2 % 4]
    guard = {"pass": "rules", "ask": "publish", "block": "delete_outside"}[kind]
    effect = {"class": "read", "what": "fs.list", "by": command, "certainty": "certain", "recoverable": True}
    verdict = {"kind": kind, "guard": guard, "reason": "" if kind == "pass" else "why", "fix": ""}
    return {
        "receipt": {"action": action, "verdict": verdict, "guard": guard, "dominant": "read", "effects": [effect]},
        "microseconds": 700,
    }


def find_head(lines: list[bytes], head: ChainHead | None = None) -> ChainHead:
    """Return the head after these lines."""
    if not lines:
        return head or ChainHead()
    at = lines[-1].find(b',"hash":"') + 9
    return ChainHead((head.seq if head else 0) + len(lines), lines[-1][at : at + 64].decode())
