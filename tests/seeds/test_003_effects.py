"""Seed 003: effects, manifest, classifier, posture, receipt. The ids of its checklist stand above the tests."""

import ast
import itertools
import json
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

import verdikt
from tests.fakes import FakeWorld
from verdikt.cli import root
from verdikt.effects import PRECEDENCE, EffectClass, most_restrictive
from verdikt.effects.classifier import classify
from verdikt.effects.declared import Classification, ToolCall, classify_declared, judge, receive
from verdikt.effects.manifest import Manifest, ToolDeclaration, parse_manifest
from verdikt.errors import (
    HookError,
    ManifestError,
    PostureError,
    VerdiktError,
)
from verdikt.model.action import Action
from verdikt.model.canonical_json import encode_canonical
from verdikt.model.facts import Facts
from verdikt.model.posture import POSTURE_TRANSITIONS, Disposition, Posture, dispose, move
from verdikt.model.spine import SpineReceipt, render_rationale
from verdikt.model.tool_kind import classify_tool

TESTS = Path(__file__).parents[1]
SRC = TESTS.parent / "src" / "verdikt"

TOOLS: dict[str, dict[str, Any]] = {
    "read_file": {"effects": ["read"]},
    "write_file": {"effects": ["write"]},
    "fetch_url": {"effects": ["network", "read"]},
    "shell_run": {"effects": ["execute"], "permitted_postures": ["interactive", "autonomous"]},
    "shell_daemon": {"effects": ["spawn"], "permitted_postures": ["interactive"], "require_confirmation": True},
    "git_force_push": {
        "effects": ["destructive", "network"],
        "permitted_postures": ["interactive"],
        "require_confirmation": True,
    },
}
DOCUMENT = {"tools": {name: {"name": name, **tool} for name, tool in TOOLS.items()}}
MANIFEST = parse_manifest(DOCUMENT)


def declare(**changes: Any) -> Manifest:
    """Build a manifest of one tool, `t`, with these fields."""
    return parse_manifest({"tools": {"t": {"name": "t", "effects": ["read"], **changes}}})


# The pipeline


# S3-01, S3-02
@pytest.mark.parametrize("name", TOOLS)
def test_call_manifest_and_posture_give_one_decision_with_a_receipt(name: str) -> None:
    """One function from the three inputs to effects, dominant effect, posture, disposition and bytes."""
    call = ToolCall(tool=name, arguments={"x": 1})

    receipt = judge(call, MANIFEST, Posture.INTERACTIVE)

    assert receipt.effects == classify_declared(call, MANIFEST).effects
    assert receipt.most_restrictive is most_restrictive(receipt.effects)
    assert receipt.posture is Posture.INTERACTIVE
    assert receipt.sha256 == judge(call, MANIFEST, Posture.INTERACTIVE).sha256


# S3-03
def test_the_manifest_declares_effects_and_posture_constraints() -> None:
    """What a tool may do, and when, is in its declaration and nowhere else."""
    tool = MANIFEST.get("shell_daemon")

    assert tool.effects == (EffectClass.SPAWN,)
    assert tool.permitted_postures == (Posture.INTERACTIVE,)
    assert tool.require_confirmation


# S3-05, S3-08
@pytest.mark.parametrize(
    "module",
    [
        "model/effect.py",
        "effects/manifest.py",
        "effects/declared.py",
        "model/posture.py",
        "model/spine.py",
        "model/receipt.py",
        "model/verdict.py",
    ],
)
def test_the_core_imports_no_clock_randomness_network_or_disk(module: str) -> None:
    """The same input gives the same output, because the core has no clock, randomness, network or disk."""
    worldly = {
        "os",
        "sys",
        "io",
        "pathlib",
        "time",
        "datetime",
        "random",
        "secrets",
        "uuid",
        "socket",
        "urllib",
        "http",
    }
    tree = ast.parse((SRC / module).read_text())
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}

    assert not {name.split(".")[0] for name in names} & worldly


# S3-07
@given(
    st.sampled_from(list(TOOLS)),
    st.sampled_from(Posture),
    st.dictionaries(
        st.text(st.characters(exclude_categories=("Cs",))), st.integers(-(2**53) + 1, 2**53 - 1) | st.booleans()
    ),
)
def test_the_same_inputs_give_the_same_bytes(name: str, posture: Posture, arguments: dict[str, Any]) -> None:
    """Whatever the arguments and their order: same decision, same bytes, same hash."""
    turned = dict(reversed(arguments.items()))

    first = judge(ToolCall(tool=name, arguments=arguments), parse_manifest(DOCUMENT), posture)
    second = judge(ToolCall(tool=name, arguments=turned), parse_manifest(MANIFEST.bytes), posture)

    assert (first.bytes, first.sha256) == (second.bytes, second.sha256)


# S3-09
def test_every_phase_of_the_document_has_its_public_names() -> None:
    """Effects, errors, manifest, classifier, posture, receipt, hook and command line exist by their public names."""
    names = (
        "EffectClass PRECEDENCE most_restrictive Manifest parse_manifest ToolCall Classification Posture Disposition"
    )

    assert [name for name in f"{names} SpineReceipt Receipt Decision".split() if not hasattr(verdikt, name)] == []


# Effects


# S3-06, S3-20
def test_there_are_exactly_six_effects() -> None:
    """The taxonomy is closed."""
    assert [effect.value for effect in EffectClass] == ["read", "write", "network", "execute", "spawn", "destructive"]
    assert [effect.name.lower() for effect in EffectClass] == [effect.value for effect in EffectClass]
    assert all(isinstance(effect, str) for effect in EffectClass)
    with pytest.raises(ValueError, match="teleport"):
        EffectClass("teleport")


# S3-21
def test_precedence_runs_from_destructive_to_read() -> None:
    """Most restrictive first, every class once."""
    assert [effect.value for effect in PRECEDENCE] == ["destructive", "spawn", "execute", "network", "write", "read"]
    assert set(PRECEDENCE) == set(EffectClass)


# S3-22
@pytest.mark.parametrize(
    ("tool", "payload", "effect"),
    [
        ("Read", {"file_path": "a"}, "read"),
        ("Write", {"file_path": "a", "content": "b"}, "write"),
        ("Bash", {"command": "curl https://example.com"}, "network"),
        ("Bash", {"command": "python build.py"}, "execute"),
        ("Bash", {"command": "nohup python serve.py &"}, "spawn"),
        ("Bash", {"command": "rm -rf /srv/data"}, "destructive"),
        ("Bash", {"command": "git push --force"}, "destructive"),
    ],
)
def test_what_the_six_effects_mean(tool: str, payload: dict[str, Any], effect: str) -> None:
    """W3-4: by arguments too, without a manifest: one shell tool does what its command does."""
    action = Action(kind=classify_tool(tool), tool=tool, payload=payload)

    assert classify(action, Facts(FakeWorld())).dominant == effect


# S3-23
def test_no_effects_have_no_dominant_one() -> None:
    """Nothing is not a read."""
    with pytest.raises(ValueError, match="^effects must be non-empty$"):
        most_restrictive(iter(()))


# S3-23
@given(st.lists(st.sampled_from(EffectClass), min_size=1).flatmap(lambda e: st.tuples(st.just(e), st.permutations(e))))
def test_the_dominant_effect_is_a_member_that_dominates_all_in_any_order(
    lists: tuple[list[EffectClass], list[EffectClass]],
) -> None:
    """Any iterable, duplicates and generators included."""
    effects, turned = lists
    dominant = most_restrictive(effect for effect in effects)

    assert dominant in effects
    assert all(PRECEDENCE.index(dominant) <= PRECEDENCE.index(effect) for effect in effects)
    assert most_restrictive([dominant]) is dominant
    assert most_restrictive(turned) is dominant


# Manifest


# S3-30, S3-33
@pytest.mark.parametrize(
    "document",
    [
        {"tools": {}, "version": 1},
        {"tools": {"t": {"name": "t", "effects": ["read"], "postures": ["locked"]}}},
        {"tools": []},
        {},
        [],
        "not json",
        b"\xff\xfe",
        '{"tools": {}, "tools": {}}',
        {"tools": {"t": "read"}},
        {"tools": {"t": {"effects": ["read"]}}},
        {"tools": {"t": {"name": "t"}}},
        {"tools": {"t": {"name": "t", "effects": "read"}}},
        {"tools": {"t": {"name": "t", "effects": ["fly"]}}},
        {"tools": {"t": {"name": "t", "effects": [1]}}},
        {"tools": {"t": {"name": 1, "effects": ["read"]}}},
        {"tools": {"": {"name": "", "effects": ["read"]}}},
        {"tools": {"t": {"name": "t", "effects": ["read"], "require_confirmation": "yes"}}},
        {"tools": {"t": {"name": "t", "effects": ["read"], "require_confirmation": 1}}},
        {"tools": {"t": {"name": "t", "effects": ["read"], "permitted_postures": ["asleep"]}}},
        {"tools": {"t": {"name": "t", "effects": ["read"], "metadata": []}}},
        {"tools": {"t": {"name": "t", "effects": ["read"], "metadata": {"x": float("nan")}}}},
        {"tools": {"t": {"name": "t", "effects": ["read"], "description": 7}}},
        {"tools": {"t": {"name": "t", "effects": ["read"]}, " t ": {"name": "t", "effects": ["read"]}}},
    ],
)
def test_what_is_wrong_with_a_manifest_is_a_manifest_error_with_its_cause(document: Any) -> None:
    """Unknown fields at both levels, wrong shapes, broken JSON: one error type, the cause kept."""
    with pytest.raises(ManifestError) as refusal:
        parse_manifest(document)
    assert refusal.value.__cause__ is not None


# S3-30
def test_strings_are_trimmed_and_values_are_frozen() -> None:
    """A loaded manifest cannot be changed, not even deep inside."""
    manifest = parse_manifest(
        {"tools": {" t ": {"name": "t  ", "effects": ["read"], "description": " d ", "metadata": {"a": {"b": [1]}}}}}
    )
    tool = manifest.get("t")

    assert (tool.name, tool.description) == ("t", "d")
    with pytest.raises(FrozenInstanceError):
        tool.name = "u"  # type: ignore[misc]
    with pytest.raises(TypeError):
        manifest.tools["u"] = tool  # type: ignore[index]
    with pytest.raises(TypeError):
        tool.metadata["a"]["b"] = 2
    with pytest.raises(TypeError):
        tool.metadata["a"]["b"][0] = 2


# S3-31
def test_a_tools_name_is_its_key() -> None:
    """A declaration under another tool's key would govern the wrong tool."""
    with pytest.raises(ManifestError, match="tool name mismatch"):
        parse_manifest({"tools": {"a": {"name": "b", "effects": ["read"]}}})


# S3-31
@pytest.mark.parametrize("field", ["effects", "permitted_postures"])
def test_an_empty_list_is_refused(field: str) -> None:
    """No effects, or no posture at all, is a mistake and not a statement."""
    with pytest.raises(ManifestError, match="non-empty"):
        declare(**{field: []})


# S3-31
def test_defaults_and_free_form_metadata() -> None:
    """What is not said is: every posture, no confirmation; metadata comes back as it was."""
    tool = declare().get("t")

    assert (tool.permitted_postures, tool.require_confirmation, tool.description) == (None, False, None)
    assert declare(permitted_postures=None).get("t").permitted_postures is None
    assert declare(metadata={"owner": ["a", {"b": 1}]}).dump()["tools"]["t"]["metadata"] == {"owner": ["a", {"b": 1}]}
    assert parse_manifest({"tools": {}}).tools == {}


# S3-32
def test_effects_and_postures_are_put_in_order_once() -> None:
    """However they were listed."""
    tool = declare(
        effects=["read", "destructive", "read", "network"], permitted_postures=["locked", "interactive", "locked"]
    ).get("t")

    assert [e.value for e in tool.effects] == ["destructive", "network", "read"]
    assert tool.permitted_postures == (Posture.INTERACTIVE, Posture.LOCKED)


# S3-32
@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=("Cs",)), min_size=1).filter(lambda name: name == name.strip() != ""),
        st.fixed_dictionaries(
            {"effects": st.lists(st.sampled_from([e.value for e in EffectClass]), min_size=1)},
            optional={
                "permitted_postures": st.none() | st.lists(st.sampled_from([p.value for p in Posture]), min_size=1),
                "require_confirmation": st.booleans(),
                "description": st.none() | st.text(st.characters(exclude_categories=("Cs",))),
            },
        ),
        max_size=4,
    )
)
def test_a_manifest_dumped_and_read_again_has_the_same_bytes(tools: dict[str, dict[str, Any]]) -> None:
    """Canonical once, canonical for ever."""
    manifest = parse_manifest({"tools": {name: {"name": name, **tool} for name, tool in tools.items()}})

    again = parse_manifest(manifest.bytes)

    assert again == manifest
    assert again.bytes == manifest.bytes
    assert parse_manifest(manifest.bytes.decode()) == manifest


# S3-33
def test_an_undeclared_tool_is_an_error() -> None:
    """Fail closed, in these words."""
    with pytest.raises(ManifestError, match="^tool 'x' not declared in manifest$"):
        MANIFEST.get("x")


# Classifier


# S3-40
def test_calls_and_classifications_are_frozen_and_keyword_only() -> None:
    """Values, not records to fill in."""
    call = ToolCall(tool="read_file")

    assert call.arguments == {}
    with pytest.raises(TypeError):
        ToolCall("read_file")  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        call.tool = "x"  # type: ignore[misc]
    found = classify_declared(call, MANIFEST)
    assert isinstance(found, Classification)
    with pytest.raises(FrozenInstanceError):
        found.tool = "x"  # type: ignore[misc]


# S3-40
def test_a_manifest_ignores_arguments_and_refuses_undeclared_tools() -> None:
    """Seed 003 classifies by name alone; `verdikt check` without a manifest looks at the arguments too."""
    harmless = ToolCall(tool="shell_run", arguments={"command": "ls"})
    harmful = ToolCall(tool="shell_run", arguments={"command": "rm -rf /"})

    assert classify_declared(harmless, MANIFEST) == classify_declared(harmful, MANIFEST)
    with pytest.raises(ManifestError):
        classify_declared(ToolCall(tool="unheard_of"), MANIFEST)


# S3-41
def test_the_rationale_names_effects_alphabetically_and_quotes_as_python_does() -> None:
    """The text is part of the receipt, so it is fixed."""
    assert classify_declared(ToolCall(tool="git_force_push"), MANIFEST).rationale == (
        "tool 'git_force_push' declares effects [destructive, network]; dominant under PRECEDENCE is 'destructive'"
    )
    assert render_rationale("it's", (EffectClass.WRITE, EffectClass.NETWORK), EffectClass.NETWORK) == (
        "tool \"it's\" declares effects [network, write]; dominant under PRECEDENCE is 'network'"
    )


# Posture


# S3-50
def test_four_postures_and_three_dispositions() -> None:
    """Both are closed."""
    assert [posture.value for posture in Posture] == ["interactive", "autonomous", "dry_run", "locked"]
    assert [disposition.value for disposition in Disposition] == ["allow", "deny", "escalate"]


LEGAL = {
    ("interactive", "autonomous"),
    ("interactive", "dry_run"),
    ("interactive", "locked"),
    ("autonomous", "interactive"),
    ("autonomous", "locked"),
    ("dry_run", "interactive"),
    ("dry_run", "locked"),
    ("locked", "interactive"),
}


# S3-51
@pytest.mark.parametrize(("before", "after"), list(itertools.product(Posture, Posture)))
def test_eight_moves_are_legal_and_staying_is_always_allowed(before: Posture, after: Posture) -> None:
    """All sixteen pairs."""
    assert set(POSTURE_TRANSITIONS) == set(Posture)
    if before is after or (before, after) in LEGAL:
        assert move(before, after) is after
    else:
        with pytest.raises(PostureError, match=f"^illegal posture transition: {before} → {after}$"):
            move(before, after)


def expect_disposition(posture: str, effect: str, confirm: bool, permitted: tuple[str, ...] | None) -> str:
    """Decide by the document's order of questions, written down a second time."""
    if permitted is not None and posture not in permitted:
        return "deny"
    if posture in ("locked", "dry_run"):
        return "allow" if effect == "read" else "deny"
    if confirm:
        return {"autonomous": "deny", "interactive": "escalate"}[posture]
    return "allow"


PERMITTED: list[tuple[Posture, ...] | None] = [None]
PERMITTED += [some for size in (1, 2, 3, 4) for some in itertools.combinations(Posture, size)]


# S3-52
@pytest.mark.parametrize("permitted", PERMITTED, ids=str)
@pytest.mark.parametrize("confirm", [False, True])
@pytest.mark.parametrize("posture", Posture)
def test_disposition_of_every_posture_effect_and_permission_follows_the_table(
    posture: Posture, confirm: bool, permitted: tuple[Posture, ...] | None
) -> None:
    """4 postures × 6 effects × confirmation × every set of permitted postures."""
    for effect in EffectClass:
        manifest = declare(
            effects=[effect.value],
            require_confirmation=confirm,
            permitted_postures=None if permitted is None else [p.value for p in permitted],
        )
        want = expect_disposition(posture, effect, confirm, permitted)

        assert dispose(posture, effect, permitted=permitted, confirm=confirm) == want
        assert judge(ToolCall(tool="t"), manifest, posture).disposition == want


# S3-53
def test_surprising_cells_of_the_disposition_table_hold() -> None:
    """Three cells of the table that surprise people."""
    assert judge(ToolCall(tool="t"), declare(effects=["destructive"])).disposition is Disposition.ALLOW
    for posture in (Posture.LOCKED, Posture.DRY_RUN):
        assert judge(ToolCall(tool="t"), declare(require_confirmation=True), posture).disposition is Disposition.ALLOW
        assert judge(ToolCall(tool="fetch_url"), MANIFEST, posture).disposition is Disposition.DENY


# Receipt

VECTORS = json.loads((TESTS / "vectors" / "spine_receipts.json").read_text())


# S3-60, S3-61, S3-62
@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_receipts_have_the_bytes_and_hashes_of_the_vectors(vector: dict[str, Any]) -> None:
    """Both when built by hand and when they come out of the pipeline."""
    given = vector["receipt"]
    effects = tuple(EffectClass(name) for name in given["effects"])
    dominant = most_restrictive(effects)
    receipt = SpineReceipt(
        tool=given["tool"],
        arguments=given["arguments"],
        effects=effects,
        most_restrictive=dominant,
        rationale=render_rationale(given["tool"], effects, dominant),
        posture=Posture(given["posture"]),
        disposition=Disposition(given["disposition"]),
        require_confirmation=given["require_confirmation"],
    )

    assert receipt.sha256 == vector["sha256"]
    assert receipt.bytes.decode() == vector.get("bytes", receipt.bytes.decode())
    call = ToolCall(tool=given["tool"], arguments=given["arguments"])
    assert judge(call, MANIFEST, Posture(given["posture"])) == receipt


# S3-60
def test_a_receipt_is_frozen_slotted_keyword_only_and_has_eight_fields() -> None:
    """No hash inside, no time, nothing else."""
    receipt = judge(ToolCall(tool="read_file", arguments={"paths": ["a", {"b": 1}]}), MANIFEST)

    assert list(receipt.dump()) == [
        "tool",
        "arguments",
        "effects",
        "most_restrictive",
        "rationale",
        "posture",
        "disposition",
        "require_confirmation",
    ]
    assert not hasattr(receipt, "__dict__")
    with pytest.raises(FrozenInstanceError):
        receipt.tool = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        SpineReceipt("read_file")  # type: ignore[call-arg,misc]


# W3-7
def test_nothing_inside_a_receipt_can_be_changed() -> None:
    """Neither through the receipt, nor through what it was made from, nor through what it gave away."""
    arguments = {"paths": ["a", {"b": 1}]}
    receipt = judge(ToolCall(tool="read_file", arguments=arguments), MANIFEST)
    before = receipt.sha256

    arguments["paths"].append("c")
    receipt.dump()["arguments"]["paths"].append("d")
    with pytest.raises(TypeError):
        receipt.arguments["x"] = 1  # type: ignore[index]
    with pytest.raises(TypeError):
        receipt.arguments["paths"][1]["b"] = 2

    assert receipt.sha256 == before


# S3-61
def test_canonical_json_is_sorted_compact_and_raw() -> None:
    """Sorted at every level, no spaces, non-ASCII as it is, no newline at the end."""
    call = ToolCall(tool="read_file", arguments={"z": {"b": 1, "a": "—ü"}, "a": [1, 2]})

    data = judge(call, MANIFEST).bytes

    assert b'{"arguments":{"a":[1,2],"z":{"a":"\xe2\x80\x94\xc3\xbc","b":1}},"disposition":' in data
    assert not data.endswith(b"\n")
    assert data == encode_canonical(json.loads(data))


# The hook's border


# S3-70
def test_a_payload_is_an_object_with_a_tool_and_maybe_arguments() -> None:
    """Other keys are ignored; text and bytes are the same."""
    assert receive('{"tool": "a", "extra": [1]}') == ToolCall(tool="a")
    assert receive(b'{"tool": "a", "arguments": {"x": "\xc3\xbc"}}') == ToolCall(tool="a", arguments={"x": "ü"})


# S3-72
@pytest.mark.parametrize(
    ("payload", "says"),
    [
        ("{", "payload is not valid JSON: "),
        (b"\xff", "payload is not valid JSON: expected UTF-8, found the byte 0xff"),
        ('{"tool": "a", "tool": "b"}', "payload is not valid JSON: expected each key once, found `tool` twice"),
        ('{"tool": "a", "arguments": {"x": NaN}}', "payload is not valid JSON: expected a finite number, found NaN"),
        ('{"tool": "a", "arguments": {"x": "\\ud800"}}', "payload is not valid JSON: expected Unicode text"),
        ('{"tool": "a", "arguments": {"x": 9007199254740993}}', "'arguments' cannot be put in a receipt: "),
        ("[]", "payload must be a JSON object at the top level"),
        ('"tool"', "payload must be a JSON object at the top level"),
        ("{}", "payload missing 'tool' string field"),
        ('{"tool": ""}', "payload missing 'tool' string field"),
        ('{"tool": 1}', "payload missing 'tool' string field"),
        ('{"tool": "a", "arguments": null}', "'arguments' field must be a JSON object if present"),
        ('{"tool": "a", "arguments": []}', "'arguments' field must be a JSON object if present"),
    ],
)
def test_what_is_wrong_with_a_payload_is_a_hook_error(payload: str | bytes, says: str) -> None:
    """In the seed's words."""
    with pytest.raises(HookError) as refusal:
        receive(payload)
    assert str(refusal.value).startswith(says)


# Errors


# S3-10, S3-85
@pytest.mark.parametrize("error", [ManifestError, PostureError, HookError])
def test_every_error_has_a_type_below_one_base(error: type[Exception]) -> None:
    """Callers can catch one, or all."""
    assert issubclass(error, VerdiktError)
    assert error is not VerdiktError


# S3-90
def test_declarations_cannot_be_built_wrong_in_python_either() -> None:
    """The same refusals without a file."""
    with pytest.raises(ManifestError, match="non-empty"):
        ToolDeclaration(name="t", effects=())
    with pytest.raises(ManifestError, match="tool name mismatch"):
        Manifest({"a": ToolDeclaration(name="b", effects=(EffectClass.READ,))})


# The hook and the command line


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Return a function that runs the command line beside a manifest `m.json`."""
    (tmp_path / "m.json").write_text(json.dumps(DOCUMENT))
    (tmp_path / "bad.json").write_text('{"tools": {"t": {"name": "u", "effects": ["read"]}}}')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VERDIKT_HOME", str(tmp_path / "home"))

    def call(*words: str, stdin: str | bytes = b"") -> Result:
        return CliRunner().invoke(root, list(words), input=stdin, catch_exceptions=False)

    return call


# S3-04, S3-70, S3-71
@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("posture", Posture)
def test_the_hook_prints_the_receipt_and_exits_by_disposition(
    run: Callable[..., Result], tool: str, posture: Posture, tmp_path: Path
) -> None:
    """Stdout is the canonical receipt and a newline, stderr is empty, nothing is recorded; twice is the same."""
    payload = json.dumps({"tool": tool, "arguments": {"x": "—"}, "ignored": 1})
    words = ("check", "--manifest", "m.json", "--posture", posture.value)

    result = run(*words, stdin=payload)

    receipt = judge(ToolCall(tool=tool, arguments={"x": "—"}), MANIFEST, posture)
    assert result.stdout_bytes == receipt.bytes + b"\n"
    assert result.stderr == ""
    assert result.exit_code == {"allow": 0, "deny": 1, "escalate": 2}[receipt.disposition]
    assert run(*words, stdin=payload.encode()).stdout_bytes == result.stdout_bytes
    assert not (tmp_path / "home").exists()


# S3-70
def test_the_posture_is_interactive_unless_said(run: Callable[..., Result]) -> None:
    """As in the seed."""
    result = run("check", "--manifest", "m.json", stdin='{"tool": "shell_daemon"}')

    assert json.loads(result.stdout)["posture"] == "interactive"
    assert result.exit_code == 2


# S3-71, S3-72
@pytest.mark.parametrize(
    ("manifest", "payload", "said"),
    [
        ("m.json", "{", (64, "HookError", "payload is not valid JSON: ")),
        ("m.json", b"\xff\xfe", (64, "HookError", "payload is not valid JSON: expected UTF-8")),
        ("m.json", "[]", (64, "HookError", "payload must be a JSON object at the top level")),
        ("m.json", '{"tool": ""}', (64, "HookError", "payload missing 'tool' string field")),
        (
            "m.json",
            '{"tool": "a", "arguments": null}',
            (64, "HookError", "'arguments' field must be a JSON object if present"),
        ),
        ("m.json", '{"tool": "x"}', (65, "ManifestError", "tool 'x' not declared in manifest")),
        ("bad.json", '{"tool": "t"}', (65, "ManifestError", "tool name mismatch")),
        ("absent.json", '{"tool": "t"}', (65, "ManifestError", "cannot read `absent.json`")),
    ],
)
def test_errors_are_canonical_json_and_one_line(
    run: Callable[..., Result], manifest: str, payload: str | bytes, said: tuple[int, str, str]
) -> None:
    """Denied, with the type and the words; 64 for the payload, 65 for the manifest."""
    status, error, message = said

    result = run("check", "--manifest", manifest, stdin=payload)

    assert result.exit_code == status
    found = json.loads(result.stdout)
    assert result.stdout_bytes == encode_canonical(found) + b"\n"
    assert (found["disposition"], found["error"]) == ("deny", error)
    assert found["message"].startswith(message)
    assert result.stderr == f"{error}: {found['message']}\n"


# W3-3
@pytest.mark.parametrize("words", [["--posture", "asleep"], ["--no-such-option"], ["--profile", "lax"]])
def test_a_wrong_call_is_64_and_never_2(run: Callable[..., Result], words: list[str]) -> None:
    """So that 2 means one thing."""
    assert run("check", "--manifest", "m.json", *words, stdin='{"tool": "read_file"}').exit_code == 64


# S3-80
def test_manifest_commands_print_the_documented_texts_and_statuses(run: Callable[..., Result], tmp_path: Path) -> None:
    """Texts and statuses are the document's; TOML is read too."""
    (tmp_path / "m.toml").write_text('[tools.t]\nname = "t"\neffects = ["write"]\n')

    valid, invalid = run("manifest", "validate", "m.json"), run("manifest", "validate", "bad.json")
    assert (valid.exit_code, valid.stdout) == (0, "valid: m.json\n")
    assert (invalid.exit_code, invalid.stdout) == (1, "")
    assert invalid.stderr.startswith("invalid: tool name mismatch")
    assert run("manifest", "validate", "absent.json").exit_code == 1
    assert run("manifest", "validate", "m.toml").exit_code == 0

    found = run("manifest", "classify", "fetch_url", "-m", "m.json")
    assert found.exit_code == 0
    assert found.stdout == (
        '{"effects":["network","read"],"most_restrictive":"network","rationale":"tool \'fetch_url\' declares effects'
        ' [network, read]; dominant under PRECEDENCE is \'network\'","tool":"fetch_url"}\n'
    )
    unknown = run("manifest", "classify", "x", "--manifest", "m.json")
    assert (unknown.exit_code, unknown.stdout) == (1, "")
    assert "tool 'x' not declared in manifest" in unknown.stderr
    assert run("manifest").exit_code != 0
    assert run("--version").exit_code == 0
