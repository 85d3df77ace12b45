"""Python that this version cannot parse as a whole, and program text that is too long or too deep to classify."""

import ast

import pytest

from tests.unit.effects.test_cases import decide
from verdikt.effects.code.fallback_parser import FallbackParser

UNPARSABLE_LINES = ["type X = int", "print 'x'", "def f(", "x = `y`", "?", "while True print(1)"]


@pytest.mark.parametrize("line", UNPARSABLE_LINES)
@pytest.mark.parametrize("position", [0, 1, 2, 3])
def test_parsable_statements_are_kept_around_an_unparsable_line(line: str, position: int) -> None:
    """Statements of one and of several lines are parsed before, between and after the unparsable line."""
    statements = ["import a", "a.b(\n    'c',\n)", "if a:\n    a.d('''e\nf''')"]
    program = FallbackParser("\n".join([*statements[:position], line, *statements[position:]]))
    attributes = {node.attr for node in ast.walk(program.tree) if isinstance(node, ast.Attribute)}

    assert attributes >= {"b", "d"} or line == "def f("  # what follows is taken for its arguments
    assert not program.is_complete or line == "type X = int"  # later versions parse it
    assert not program.has_risky_line


def test_parsable_program_gives_the_tree_of_python() -> None:
    """A program that parses as a whole has the same tree as `ast.parse` returns."""
    text = "import os\nif os:\n    os.system('x')\n"

    assert FallbackParser(text).is_complete
    assert ast.dump(FallbackParser(text).tree) == ast.dump(ast.parse(text))


def test_unparsable_line_with_a_dangerous_call_is_risky() -> None:
    """A line that cannot be parsed is risky if it calls something that runs or deletes."""
    assert FallbackParser("subprocess.run(f'{d['x'] ?}')").has_risky_line
    assert FallbackParser("exec 'x'").has_risky_line
    assert not FallbackParser("print 'run'").has_risky_line


def test_parsing_stops_after_the_maximum_number_of_attempts() -> None:
    """Lines after the last attempt count as unreadable."""
    assert not FallbackParser("?\n" * 50_000).tree.body
    assert FallbackParser("?\n" * 50_000 + "os.system('x')").has_risky_line


def test_python_nested_too_deeply_to_parse_is_asked_about() -> None:
    """An interpreter at a smaller stack depth may still run it."""
    expression = "x = " + "+".join(["1"] * 50_000)
    effects, verdict = decide({"run": f'python3 -c "import os; {expression}"'})

    assert effects.named("code.unknown")
    assert verdict.kind.word == "ask"


LONG_TEXTS = {
    "python": "python3 - <<'E'\n" + "x=1\n" * 40_000 + "import shutil\nshutil.rmtree('/home/dev/x')\nE\n",
    "a list": "python3 - <<'E'\ny=[" + "1," * 120_000 + "]\nimport shutil\nshutil.rmtree('/home/dev/x')\nE\n",
    "powershell": "pwsh -c '" + "$x = 1; " * 20_000 + "Remove-Item -Recurse -Force /home/dev/x'",
    "sql": 'psql -c "' + "select 1; " * 30_000 + 'drop table users"',
}


@pytest.mark.parametrize("language", LONG_TEXTS)
def test_text_too_long_to_classify_does_not_pass(language: str) -> None:
    """A dangerous statement cannot hide behind ten thousand lines that do nothing."""
    _, verdict = decide({"run": LONG_TEXTS[language]})

    assert verdict.kind.word in ("ask", "block"), verdict


def test_long_harmless_program_passes() -> None:
    """A program up to the size of the largest file that is read is classified in full."""
    _, verdict = decide({"run": "python3 - <<'E'\n" + "x=1\n" * 16_000 + "print(x)\nE\n"})

    assert verdict.kind.word == "pass"
