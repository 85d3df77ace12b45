"""What a service knows of an entry without reading its line."""

from tests.unit.team.chains import build_body, build_lines
from verdikt.model.entry import ENTRY_KINDS, Entry, EntryKind, decode_entry, seal_entry, unseal_line
from verdikt.team.index_row import (
    KIND_CODES,
    SUMMARY_CHARS,
    IndexRow,
    build_index,
    build_index_row,
    read_objective,
    read_place,
)


def index(line: bytes) -> IndexRow:
    """Return the row of a line."""
    fields = unseal_line(line)
    assert isinstance(fields, dict)
    return build_index_row(fields)


def test_row_of_a_decision_has_what_people_search_for() -> None:
    """Verdict, guard, tool, effect, host and one line of text."""
    row = index(build_lines("s", [5])[0])

    assert (row.verdict, row.guard, row.tool) == (3, "delete_outside", "Bash")
    assert (row.effect, row.host) == ("fs.list", "claude")
    assert (row.kind, row.effect_class, row.summary) == (KIND_CODES["decision"], 1, "Bash echo 5")


def test_row_of_a_tool_call_has_no_verdict() -> None:
    """An outcome is no decision, and has no shape."""
    row = index(build_lines("s", [2])[0])

    assert (row.verdict, row.guard, row.shape, row.summary) == (None, "", "", "Bash echo 2: ok")


def test_shape_is_the_same_for_other_arguments_only() -> None:
    """Equal asks are grouped whatever their arguments; another guard is another shape."""
    first, second, other = (index(build_lines("s", [number])[0]).shape for number in (1, 9, 5))

    assert first == second != other


def test_row_without_a_body_has_the_header_only() -> None:
    """What stays on the machine is not in the index."""
    row = index(decode_entry(build_lines("s", [5])[0]).to_line(with_body=False))

    assert (row.seq, row.kind, row.verdict, row.summary) == (1, KIND_CODES["decision"], None, "")


def test_row_of_hostile_bodies_never_fails() -> None:
    """A machine may send any body: wrong types become empty columns, NUL and control characters become visible."""
    bodies = [
        {"receipt": 5},
        {"receipt": {"verdict": [], "action": [], "effects": {}, "dominant": {}}},
        {"receipt": {"verdict": {"kind": 7, "guard": {}}, "action": {"tool": "\0\x1b[2J", "host": "\0"}}},
        {"receipt": {"effects": [5, {"class": "read", "what": 3}], "dominant": "read"}},
    ]
    rows = [
        index(seal_entry(Entry(seq=1, ts=1, session="s", kind=EntryKind.DECISION, body=body))[1]) for body in bodies
    ]

    assert all("\0" not in "".join(map(str, row)) for row in rows)
    assert "\x1b" not in rows[2].summary
    assert rows[2].tool.startswith("␀")


def test_every_kind_has_a_code() -> None:
    """A new kind gets a number, and no number is given twice."""
    assert set(KIND_CODES) == ENTRY_KINDS
    assert len(set(KIND_CODES.values())) == len(KIND_CODES)
    assert (KIND_CODES["tool_call"], KIND_CODES["session"]) == (1, 19)


def test_read_place_finds_host_and_directory() -> None:
    """Decisions have it in their action, tool calls in their body."""
    assert read_place({"body": build_body(1)}) == read_place({"body": build_body(2)}) == ("claude", "/home/ana/shop")
    assert read_place({"body": {"receipt": {"action": 7}}}) == read_place({}) == ("", "")
    assert read_place({"body": {"host": "a\ud800", "cwd": "/\0"}}) == ("a?", "/␀")


def test_read_objective_is_the_contract_in_one_line() -> None:
    """What a person asked for names the session; other kinds and other types do not."""
    assert read_objective({"kind": "contract", "body": {"objective": "Add\n a retry"}}) == "Add a retry"
    long = read_objective({"kind": "contract", "body": {"objective": "word " * 100}})
    assert (len(long), long[-6:]) == (SUMMARY_CHARS, " word…")
    assert read_objective({"kind": "decision", "body": {"objective": "x"}}) == ""
    assert read_objective({"kind": "contract", "body": {"objective": 7}}) == read_objective({"kind": "contract"}) == ""


def test_index_of_a_machine_has_no_text_of_an_agent_and_gives_the_same_columns() -> None:
    """A body that stays at home can still be counted and searched by rule, tool and effect."""
    line = build_lines("s", [5])[0]
    row = index(line)
    fields = unseal_line(decode_entry(line).to_line(with_body=False))
    assert isinstance(fields, dict)

    assert "echo" not in str(build_index(row))
    assert build_index_row(fields, build_index(row)) == row._replace(summary="")


def test_index_of_a_hostile_machine_is_checked() -> None:
    """Wrong types and values become empty columns."""
    fields = unseal_line(decode_entry(build_lines("s", [5])[0]).to_line(with_body=False))
    assert isinstance(fields, dict)
    row = build_index_row(
        fields, {"verdict": 9, "guard": 5, "effect_class": "x", "tool": "t" * 500, "shape": "zz", "host": "\0"}
    )

    assert (row.verdict, row.guard, row.effect_class, row.shape, row.host) == (None, "", 0, "", "␀")
    assert len(row.tool) == 100
