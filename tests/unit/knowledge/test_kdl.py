"""KDL is read as far as `usage` specs need it."""

import pytest

from verdikt.knowledge.kdl import MAX_DEPTH, KdlError, KdlNode, parse_kdl


def test_node_has_arguments_properties_and_children() -> None:
    """What stands after the name belongs to the node, what stands in braces to its children."""
    assert parse_kdl('cmd "ls" effect="read" { alias l x; flag "-a --all" }') == [
        KdlNode("cmd", ["ls"], {"effect": "read"}, [KdlNode("alias", ["l", "x"]), KdlNode("flag", ["-a --all"])])
    ]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (r'a "x\ty\"z"', ['x\ty"z']),
        (r'a r"x\y"', [r"x\y"]),
        ('a r#"x"y"#', ['x"y']),
        ('a #"x"y"#', ['x"y']),
        ('a """\nx\n"""', ["\nx\n"]),
        ("a true #true 1.5", ["true", "true", "1.5"]),
        ("a (type)x", ["x"]),
        ("a x // y\nb", ["x"]),
        ("a x /* y\n */ z", ["x", "z"]),
        ("a x \\\n  z", ["x", "z"]),
        ("a /-x y /-k=v", ["y"]),
        ("\ufeffa x\r\n", ["x"]),
    ],
)
def test_value_is_read_in_every_spelling(text: str, values: list[str]) -> None:
    """Both versions of the language write strings, booleans and comments in their own way."""
    assert parse_kdl(text)[0].arguments == values


def test_node_after_a_slash_and_a_dash_is_a_comment() -> None:
    """It is read, so that its end is found, and then dropped with its children."""
    assert parse_kdl("/-a { b }\nc /-{ d }") == [KdlNode("c")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a {", "line 1: expected `}`, found the end of the file"),
        ("a\n}", "line 2: expected a node, found `}`"),
        ('a "x', 'line 1: expected a name or a value, found `"x`'),
        ("a\n= x", "line 2: expected a name or a value, found `= x`"),
        ("a k=", "line 1: expected a name or a value, found ``"),
        ("a {" * (MAX_DEPTH + 1), "line 1: nodes are nested too deeply"),
        ("a /*", "line 1: expected a name or a value, found `/*`"),
    ],
)
def test_text_that_is_no_kdl_is_refused(text: str, message: str) -> None:
    """The message names the line; nothing loops or recurses without bound."""
    with pytest.raises(KdlError) as error:
        parse_kdl(text)
    assert str(error.value) == message
