"""Values of other local files, put into the texts that use them."""

import pytest

from tests.fakes import FakeWorld
from verdikt.effects.local_values.value_files import WRITTEN_KEY, find_value_users, may_hold_values, may_take_values
from verdikt.effects.local_values.value_filling import fill_local_values
from verdikt.effects.target import TargetResolver
from verdikt.model.facts import Facts

ROOT = "/home/dev/project"


def fill(path: str, text: str, files: dict[str, str]) -> str:
    """Return a text with the values of some files of the project."""
    world = FakeWorld(cwd=ROOT, texts={f"{ROOT}/{name}": content for name, content in files.items()})
    written = [f"{ROOT}/{name}" for name in files]
    return fill_local_values(f"{ROOT}/{path}", text, TargetResolver(Facts(world)), written)


@pytest.mark.parametrize(
    ("path", "text", "files", "expected"),
    [
        ("a.py", "from s import OUT\nrm(OUT)\n", {"s.py": "OUT = 'x/y'\n"}, 'rm("x/y")'),
        ("a.py", "import s\nrm(s.OUT)\n", {"s.py": "OUT = 'x/y'\n"}, 'rm("x/y")'),
        ("a.py", "import s\nfor p in s.ALL:\n    rm(p)\n", {"s.py": "ALL = ['a', 'b']\n"}, 'in ["a", "b"]:'),
        ("a.py", "c = load('c.toml')['d']\nrm(c['out'])\n", {"c.toml": "[d]\nout = 'x/y'\n"}, 'rm("x/y")'),
        ("a.py", "c = load('c.ini')\nrm(c['out'].split())\n", {"c.ini": "[d]\nout = a b\n"}, 'rm(["a", "b"])'),
        ("a.py", "from s import OUT\nrun(f'rm -rf {OUT}/z')\n", {"s.py": "OUT = 'x/y'\n"}, "rm -rf x/y/z"),
        ("a.js", "const { out } = require('./s');\nrm(out);\n", {"s.js": "exports.out = 'x/y';\n"}, 'rm("x/y")'),
        ("a.js", "import all from './c.json';\nall.forEach(rm);\n", {"c.json": '["a"]'}, '["a"].forEach'),
        ("a.go", "package m\nfunc f() { rm(Root) }\n", {"b.go": 'package m\nconst Root = "x/y"\n'}, 'rm("x/y")'),
        (
            "build.gradle.kts",
            "val o: String by project\ndelete(o)\n",
            {"gradle.properties": "o=x/y\n"},
            'delete("x/y")',
        ),
        ("BUILD.bazel", 'load("//t:s.bzl", "D")\ncmd = "rm %s/z" % D\n', {"t/s.bzl": 'D = "x/y"\n'}, '"rm x/y/z"'),
    ],
)
def test_value_stands_where_it_is_used(path: str, text: str, files: dict[str, str], expected: str) -> None:
    """A name that another file binds is replaced by its value, in each language by its own signs."""
    assert expected in fill(path, text, files)


def test_own_names_stay() -> None:
    """A name that the text binds itself, a key and an import are not replaced."""
    text = "from s import OUT\nOUT = 'z'\nrm(OUT)\nf(OUT=1)\n"
    assert fill("a.py", text, {"s.py": "OUT = 'x/y'\n"}) == text


def test_secrets_give_no_values() -> None:
    """The values of a secret file are put nowhere."""
    text = "c = load('.env')\nrm(c['OUT'])\n"
    assert fill("a.py", text, {".env": "OUT=x/y\n"}) == text


def test_users_of_values_are_found() -> None:
    """A file of the session that names another one, and a build that reads it unnamed, may take its values."""
    texts = {
        f"{ROOT}/a.py": "import s\nrm(s.OUT)\n",
        f"{ROOT}/build.gradle": "delete(o)\n",
        f"{ROOT}/b.py": "rm('x')\n",
    }
    facts = Facts(FakeWorld(cwd=ROOT, texts=texts))

    assert find_value_users(f"{ROOT}/s.py", [*texts], facts) == [f"{ROOT}/a.py"]
    assert find_value_users(f"{ROOT}/gradle.properties", (), facts) == [f"{ROOT}/build.gradle"]
    assert may_take_values("a.py", texts[f"{ROOT}/a.py"])
    assert not may_take_values("a.py", "import pytest\n")
    assert may_hold_values("s.py", "OUT = '../x'\n")
    assert not may_hold_values(".env", "OUT=../x\n")
    assert WRITTEN_KEY
