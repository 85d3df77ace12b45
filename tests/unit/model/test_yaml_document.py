"""YAML is read as plain data with positions; other input is refused with its position."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdikt.errors import PolicyError
from verdikt.model.yaml_document import MAX_BYTES, parse_document
from verdikt.model.yaml_node import YamlNode

TEXT = """\
profile: standard
rules:
  - name: a
    kind: [bash, write]
    count: 3
    ratio: 0.5
    on: yes
    off: no
    empty:
    quoted: "true"
    flag: true
    version: 1.2.3
    octal: 0o17
"""


def test_parse_document_values_follow_yaml_1_2() -> None:
    """`yes` and `no` are texts, so that a pattern or a branch may have that name."""
    rule = parse_document(TEXT, "p.yaml").value["rules"][0]

    assert rule == {
        "name": "a",
        "kind": ["bash", "write"],
        "count": 3,
        "ratio": 0.5,
        "on": "yes",
        "off": "no",
        "empty": None,
        "quoted": "true",
        "flag": True,
        "version": "1.2.3",
        "octal": 15,
    }


def test_format_location_of_each_value_and_key() -> None:
    """Every value and every key has its position."""
    document = parse_document(TEXT, "p.yaml")

    assert document.format_location(("profile",)) == "p.yaml:1:10"
    assert document.format_location(("rules", 0, "kind", 1)) == "p.yaml:4:18"
    assert document.format_location(("rules", 0, "kind"), key=True) == "p.yaml:4:5"
    assert document.format_location(("rules", 0, "missing")) == "p.yaml:3:5"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("a: [1", r"p.yaml:2:1: invalid YAML"),
        ("a: 1\na: 2", r"p.yaml:2:1: expected each key once, found `a` again \(first at p.yaml:1:1\)"),
        ("a: &x 1\nb: *x", r"p.yaml:2:4: expected a value, found the alias `\*x`: write the value out"),
        ("a: {<<: {b: 1}}", "p.yaml:1:5: expected a name as key, found the merge key `<<`"),
        ("a: !!python/object:os.system x", "p.yaml:1:4: expected a value without a tag"),
        ("a: !!str 5", "p.yaml:1:4: expected a value without a tag"),
        ("a: !x [1]", "p.yaml:1:4: expected a value without a tag"),
        ("? [1, 2]\n: 3", "p.yaml:1:3: expected a name as key, found a list"),
        ("a: 1\n---\nb: 2", "p.yaml:2:1: expected one document, found a second"),
        ("[" * 100_000, "expected at most 64 levels"),
        ("a: 99999999999999999999", "p.yaml:1:4: expected a number up to 9007199254740991"),
        (b"a: 1\nb: \xff\xfe", "p.yaml:2: expected UTF-8 text, found other bytes"),
        ("a: \udc80", "p.yaml: expected Unicode text, found a lone surrogate"),
        ("a: \x00", "p.yaml:?.*invalid YAML"),
        ("\t- a", "invalid YAML"),
        (b"x" * (MAX_BYTES + 1), "p.yaml: expected at most 1048576 bytes"),
    ],
)
def test_parse_document_other_yaml_is_refused_with_its_position(data: bytes | str, message: str) -> None:
    """YAML that is not accepted raises a `PolicyError` with the position."""
    with pytest.raises(PolicyError, match=message):
        parse_document(data, "p.yaml")


def test_parse_document_alias_bomb_is_refused_at_its_first_alias() -> None:
    """No alias is expanded."""
    bomb = "a: &a [x, x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [*{chr(97 + i)}, *{chr(97 + i)}]\n" for i in range(20)
    )

    with pytest.raises(PolicyError, match=r"p.yaml:2:8: expected a value, found the alias `\*a`"):
        parse_document(bomb, "p.yaml")


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200), st.text("ab:- []{}#&*!|>'\"\n\t?,%@`", max_size=60)))
def test_parse_document_any_bytes_raise_only_policy_error(data: bytes | str) -> None:
    """Any bytes give a document or a `PolicyError`."""
    try:
        document = parse_document(data, "p.yaml")
    except PolicyError as error:
        assert str(error).startswith("p.yaml")
    else:
        list(YamlNode.from_document(document).walk())


def test_errors_are_collected_with_suggestions() -> None:
    """Each error has a message of its own, with the nearest valid name."""
    document = parse_document("kind: 5\ncolor: red\nshade: drak\nlist: []\nflag: yes\nnumber: 9\n", "p.yaml")
    fields = YamlNode.from_document(document).read_mapping(["kind", "colour", "shade", "list", "flag", "number"])
    fields["kind"].read_text()
    fields["shade"].read_choice(["light", "dark"])
    fields["list"].read_texts()
    fields["flag"].read_bool()
    fields["number"].read_int(minimum=1, maximum=8)

    with pytest.raises(PolicyError) as caught:
        document.raise_errors()

    assert [str(fault) for fault in caught.value.faults] == [
        "p.yaml:2:1: expected a known key, found `color` (did you mean `colour`?)",
        "p.yaml:1:7: `kind`: expected a text, found `5`",
        "p.yaml:3:8: `shade`: expected one of light, dark, found `drak` (did you mean `dark`?)",
        "p.yaml:4:7: `list`: expected a text or a list of texts, found an empty list",
        "p.yaml:5:7: `flag`: expected `true` or `false`, found `yes`",
        "p.yaml:6:9: `number`: expected a whole number from 1 to 8, found `9`",
    ]
    assert str(caught.value).count("\n") == 5
