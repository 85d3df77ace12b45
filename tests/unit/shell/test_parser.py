"""The parser keeps every command of a text, and the pipes and lists between them."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from verdikt.shell import analyse
from verdikt.shell.lexer import Lexer
from verdikt.shell.parser import parse_statements, parse_tokens
from verdikt.shell.statement import CommandPipeline, StatementList

TEMPLATES = (
    *("{0} | {1}", "{0} |& {1}", "{0} |\n {1}", "{0} && {1}", "{0} || {1}", "{0} &&\n {1}"),
    *("{0}; {1}", "{0}\n{1}", "{0} & {1}", "{0}\n\n{1} > out", "! {0} | {1}"),
    *("( {0} )", "{{ {0}; }}", "{{ {0}\n}} 2>&1", "if {0}; then {1}; else {2}; fi", "if {0}\nthen\n{1}\nfi"),
    *("for x in a b; do {0}; done", "while {0}; do {1}; done < file", "for ((i=0; i<3; i++)); do {0}; done"),
    *("case $x in a|b) {0};; (c) {1} ;; esac", "[[ -f x ]] && {0}", "(( 1 )); {0}"),
)
# `@` stands for a command, which gets a name of its own below.
STATEMENTS = st.recursive(
    st.just("@"),
    lambda inner: st.builds(
        lambda template, parts: template.format(*parts), st.sampled_from(TEMPLATES), st.tuples(inner, inner, inner)
    ),
    max_leaves=12,
)


@given(STATEMENTS)
def test_every_command_of_a_nested_text_is_found(template: str) -> None:
    """A text that is correct has no problem, and none of its commands is lost."""
    count = 0

    def name_command(_: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"run{count}"

    text = re.sub("@", name_command, template)
    script = analyse(text)

    assert script.problems == ()
    assert {command.name for command in script.commands if command.argv} >= {
        f"run{number + 1}" for number in range(count)
    }


def test_list_after_a_long_pipeline_is_not_part_of_the_pipeline() -> None:
    """`&&` binds weaker than `|`, however many stages a pipeline has."""
    statement, problems = parse_statements("a | b | c && d")

    assert problems == []
    assert isinstance(statement, StatementList)
    assert isinstance(statement.items[0], CommandPipeline)
    assert [len(statement.items[0].stages), statement.operators] == [3, ["&&", ""]]


BROKEN_TEXTS = (
    *("a | | b", "a && || b", "a |", "a &&", "; a", "a ; ; b", "a ;; b", "a ) b"),
    *("( a && )", "{ a | }", "a >", "a > ; b", "if a; then b", "a |\n"),
)


@pytest.mark.parametrize("text", BROKEN_TEXTS)
def test_text_with_a_syntax_error_is_reported_and_its_commands_found(text: str) -> None:
    """A text that bash refuses has a problem, and its commands are known all the same."""
    script = analyse(text)

    assert script.problems
    assert {command.name for command in script.commands} >= set(re.findall(r"\b[ab]\b", text))


FLAT_PIECES = (
    *("a", "b -x", "A=1", "'c d'", '"$x"', "$(f; g)", "`h`", "> f", "2>&1", ">|f", "<<<w", "<<E\nl\nE\n", "[[ i ]]"),
    *("((1))", "&&", "||", ";", "&", "|", "|&", "\n", "\n\n", "\\\n", "# note\n", "x=(1 2)", "<(j)"),
)


@given(st.lists(st.sampled_from(FLAT_PIECES), max_size=9).map(" ".join))
def test_text_without_compound_commands_needs_no_grammar(text: str) -> None:
    """Where the grammar is skipped, the tokens alone give the statement that it would give."""
    lexer = Lexer(text)
    assume(lexer.is_flat and not lexer.has_syntax_error)
    statement, problems = parse_statements(text)
    lexer.is_flat = False
    expected_statement, expected_problems = parse_tokens(lexer)

    assert describe(statement) == describe(expected_statement)
    assert problems == expected_problems


def describe(value: object) -> object:
    """Return a statement as plain data that can be compared."""
    if isinstance(value, list | tuple):
        return [describe(item) for item in value]
    slots = getattr(type(value), "__slots__", None)
    return value if slots is None else (type(value).__name__, [describe(getattr(value, name)) for name in slots])
