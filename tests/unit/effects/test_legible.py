"""Python that this version cannot read as a whole."""

import ast

import pytest

from tests.unit.effects.test_cases import decide
from verdikt.effects.code.fallback_parser import FallbackParser

ODD = ["type X = int", "print 'x'", "def f(", "x = `y`", "?", "while True print(1)"]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_what_can_be_read_is_read_wherever_the_rest_stands(odd: str, at: int) -> None:
    """Between, before and after statements of one line and of several."""
    lines = ["import a", "a.b(\n    'c',\n)", "if a:\n    a.d('''e\nf''')"]
    program = FallbackParser("\n".join([*lines[:at], odd, *lines[at:]]))
    named = {node.attr for node in ast.walk(program.tree) if isinstance(node, ast.Attribute)}

    assert named >= {"b", "d"} or odd == "def f("  # which takes what follows for its arguments
    assert not program.is_complete or odd == "type X = int"  # which later versions read
    assert not program.has_risky_line


def test_a_program_that_parses_is_read_whole() -> None:
    """As Python reads it."""
    text = "import os\nif os:\n    os.system('x')\n"

    assert FallbackParser(text).is_complete
    assert ast.dump(FallbackParser(text).tree) == ast.dump(ast.parse(text))


def test_a_lost_line_tells_when_it_may_do_what_matters() -> None:
    """A call of something that runs or deletes, in a line that nobody can read."""
    assert FallbackParser("subprocess.run(f'{d['x'] ?}')").has_risky_line
    assert FallbackParser("exec 'x'").has_risky_line
    assert not FallbackParser("print 'run'").has_risky_line


def test_reading_ends_however_long_the_text_is() -> None:
    """What is left when there have been enough attempts counts as lost."""
    assert not FallbackParser("?\n" * 50_000).tree.body
    assert FallbackParser("?\n" * 50_000 + "os.system('x')").has_risky_line


def test_python_nested_deeper_than_we_can_read_is_asked_about() -> None:
    """An interpreter that is less deep in calls of its own may run it."""
    deep = "x = " + "+".join(["1"] * 50_000)
    effects, verdict = decide({"run": f'python3 -c "import os; {deep}"'})

    assert effects.named("code.unknown")
    assert verdict.kind.word == "ask"


LONG = {
    "python": "python3 - <<'E'\n" + "x=1\n" * 40_000 + "import shutil\nshutil.rmtree('/home/dev/x')\nE\n",
    "a list": "python3 - <<'E'\ny=[" + "1," * 120_000 + "]\nimport shutil\nshutil.rmtree('/home/dev/x')\nE\n",
    "powershell": "pwsh -c '" + "$x = 1; " * 20_000 + "Remove-Item -Recurse -Force /home/dev/x'",
    "sql": 'psql -c "' + "select 1; " * 30_000 + 'drop table users"',
}


@pytest.mark.parametrize("what", LONG)
def test_what_is_longer_than_anybody_reads_is_not_let_through(what: str) -> None:
    """Nobody hides behind ten thousand lines that do nothing."""
    _, verdict = decide({"run": LONG[what]})

    assert verdict.kind.word in ("ask", "block"), verdict


def test_a_long_program_that_does_nothing_special_is_let_through() -> None:
    """As long as a file may be that is read at all."""
    _, verdict = decide({"run": "python3 - <<'E'\n" + "x=1\n" * 16_000 + "print(x)\nE\n"})

    assert verdict.kind.word == "pass"
