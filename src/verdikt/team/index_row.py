"""The few fields of an entry by which a service searches, counts and lists; everything else stays in the line."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from verdikt.model.canonical_json import hash_canonical
from verdikt.model.effect import EffectClass
from verdikt.model.entry import ABSENT_BODY, ENTRY_KINDS, Entry, EntryKind
from verdikt.model.verdict import VerdictKind
from verdikt.report.entry_line import receipt_of, summarize_entry, verdict_of

SUMMARY_CHARS = 240
_SHAPE_CHARS = 32
# What is asked of each entry many times: a dictionary, which it nearly always is, is known at once.
_OBJECT = (dict, Mapping)

# Stored in databases: a number is never given to another word, new ones are added at the end.
KIND_CODES: dict[str, int] = {
    kind: code
    for code, kind in enumerate(
        "tool_call decision contract snapshot validator_pass override grant finding finding_cleared review feedback"
        " posture completion crash gap rotation key_rotation checkpoint session mcp answer approval".split(),
        start=1,
    )
}
"""Kind of an entry → its number in the store; 0 is a kind that this version does not know."""

CLASS_CODES: dict[str, int] = {effect_class: code for code, effect_class in enumerate(EffectClass, start=1)}
VERDICT_CODES: dict[str, int] = {verdict.word: int(verdict) for verdict in VerdictKind}


class IndexRow(NamedTuple):
    """What a store keeps of one entry beside its line. `verdict` is None for what is no decision."""

    seq: int
    ts: int
    kind: int
    verdict: int | None
    guard: str
    effect_class: int
    tool: str
    effect: str
    host: str
    hash: str
    summary: str
    shape: str
    """Equal for calls that differ in their arguments only; empty for what is no decision."""


def build_index_row(fields: Mapping[str, Any], index: Mapping[str, Any] | None = None) -> IndexRow:
    """Return the index row of a verified line; of one without its body, what its header and the machine's index say."""
    kind = str(fields["kind"])
    if "body" not in fields or kind not in ENTRY_KINDS or not isinstance(fields["body"], _OBJECT):
        return _build_row(fields, KIND_CODES.get(kind, 0), **_read_index(index or {}))
    entry = Entry(**{**fields, "kind": EntryKind(kind)})
    receipt = receipt_of(entry)
    action = receipt.get("action")
    if not isinstance(action, _OBJECT):
        action = entry.body
    row: dict[str, Any] = {"tool": _clip(action.get("tool")), "host": _clip(action.get("host"))}
    if entry.kind is EntryKind.DECISION:
        row |= _read_decision(entry, receipt, row["tool"])
    return _build_row(fields, KIND_CODES.get(kind, 0), summary=summarize_entry(entry, SUMMARY_CHARS), **row)


def _read_decision(entry: Entry, receipt: Mapping[str, Any], tool: str) -> dict[str, Any]:
    """Return the columns that only a decision has."""
    verdict, guard = verdict_of(entry)
    effects = receipt.get("effects")
    effects = [effect for effect in effects if isinstance(effect, _OBJECT)] if isinstance(effects, list) else []
    dominant = receipt.get("dominant")
    return {
        "verdict": VERDICT_CODES.get(verdict),
        "guard": _clip(guard),
        "effect_class": CLASS_CODES.get(dominant, 0) if isinstance(dominant, str) else 0,
        # The first effect of the most restrictive class.
        "effect": _clip(next((effect.get("what") for effect in effects if effect.get("class") == dominant), "")),
        "shape": _hash_shape(tool, tuple(sorted({_clip(effect.get("what")) for effect in effects})), guard),
    }


def _build_row(
    fields: Mapping[str, Any],
    kind: int,
    *,
    verdict: int | None = None,
    guard: str = "",
    effect_class: int = 0,
    tool: str = "",
    effect: str = "",
    host: str = "",
    summary: str = "",
    shape: str = "",
) -> IndexRow:
    return IndexRow(
        fields["seq"],
        fields["ts"],
        kind,
        verdict,
        guard,
        effect_class,
        tool,
        effect,
        host,
        fields["hash"],
        summary,
        shape,
    )


def build_index(row: IndexRow) -> dict[str, Any]:
    """Return what a machine that keeps bodies says of an entry: no payload, no path, no text of an agent."""
    names = ("verdict", "guard", "effect_class", "tool", "effect", "host", "shape")
    return {name: getattr(row, name) for name in names if getattr(row, name)}


def _read_index(index: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that a machine names; what is of another type or unknown is left out."""
    columns: dict[str, Any] = {name: _clip(index.get(name)) for name in ("guard", "tool", "effect", "host")}
    verdict, effect_class, shape = index.get("verdict"), index.get("effect_class"), index.get("shape")
    if type(verdict) is int and verdict in VERDICT_CODES.values():
        columns["verdict"] = verdict
    if type(effect_class) is int and effect_class in CLASS_CODES.values():
        columns["effect_class"] = effect_class
    if isinstance(shape, str) and len(shape) == _SHAPE_CHARS and not shape.strip("0123456789abcdef"):
        columns["shape"] = shape
    return columns


def _clip(value: Any) -> str:
    """Return a short text for a column."""
    return _make_storable(value)[:100] if isinstance(value, str) else ""


def _make_storable(text: str) -> str:
    """Return a text without NUL, which PostgreSQL does not store, and without lone surrogates, which have no bytes."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "␀").encode("utf-8", "replace").decode()


# A fleet has few shapes, and they come again and again.
@lru_cache(maxsize=4096)
def _hash_shape(tool: str, effects: tuple[str, ...], guard: str) -> str:
    """Return a digest of tool, effects and guard without arguments, by which equal asks are grouped."""
    return hash_canonical([tool, list(effects), guard])[:_SHAPE_CHARS]


def read_place(fields: Mapping[str, Any]) -> tuple[str, str]:
    """Return the host and the working directory that an entry names; empty texts when it names none."""
    body = fields.get("body", ABSENT_BODY)
    if not isinstance(body, Mapping):
        return "", ""
    receipt = body.get("receipt")
    action = receipt.get("action") if isinstance(receipt, Mapping) else body
    action = action if isinstance(action, Mapping) else {}
    host, cwd = action.get("host"), action.get("cwd")
    return _clip(host), _make_storable(cwd)[:1000] if isinstance(cwd, str) else ""


def read_objective(fields: Mapping[str, Any]) -> str:
    """Return what a contract says the person asked for, in one line; empty for every other entry."""
    if fields["kind"] != EntryKind.CONTRACT:
        return ""
    body = fields.get("body", ABSENT_BODY)
    objective = body.get("objective") if isinstance(body, Mapping) else ""
    line = _make_storable(" ".join(objective.split())) if isinstance(objective, str) else ""
    return line if len(line) <= SUMMARY_CHARS else f"{line[: SUMMARY_CHARS - 1]}…"
