"""Loops of Python that choose some of what they go through, and loops that leave some out."""

import ast

import pytest

from verdikt.effects.code.python_filters import is_selective_loop


@pytest.mark.parametrize(
    ("body", "is_selective"),
    [
        ("remove(n)", False),
        ("if n not in KEEP:\n  remove(n)", False),
        ("if n in KEEP:\n  continue\n remove(n)", False),
        ("if not n.startswith('.') and n != 'src':\n  remove(n)", False),
        ("if n.is_dir():\n  rmtree(n)\n else:\n  remove(n)", False),
        ("if n.endswith('.tmp'):\n  remove(n)", True),
        ("if not n.endswith('.tmp'):\n  continue\n remove(n)", True),
        ("if n in OLD:\n  remove(n)", True),
    ],
)
def test_loop(body: str, is_selective: bool) -> None:
    """A loop that leaves out what it names takes nearly all; one that chooses takes little."""
    loop = ast.parse(f"for n in listdir('.'):\n {body}\n").body[0]
    assert isinstance(loop, ast.For)
    assert is_selective_loop(loop) is is_selective
