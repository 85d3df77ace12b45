"""The parser of files whose format has a syntax of its own."""

from pathlib import Path

import pytest

from verdikt.observe.file_syntax import find_syntax_error


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"a": 1,}'),
        ("a.yaml", "a: [1"),
        ("a.yml", "a: b: c"),
        ("a.toml", "a = "),
        ("a.ini", "[open\n"),
        ("a.cfg", "[a]\n = 1\n"),
        ("a.xml", "<a>"),
        ("A.JSON", "{"),
    ],
)
def test_file_that_does_not_parse_is_reported_in_one_line(tmp_path: Path, name: str, text: str) -> None:
    """The format is the one that the ending names."""
    (tmp_path / name).write_text(text)

    error = find_syntax_error(str(tmp_path / name))

    assert error
    assert "\n" not in error


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"a": 1}'),
        ("a.yaml", "Bucket: !Ref Name\n"),
        ("a.yaml", "a: 1\n---\nb: 2\n"),
        ("a.ini", "before = the first section\n[a]\nalone\n"),
        ("a.txt", "{"),
    ],
)
def test_file_that_its_programs_accept_has_no_error(tmp_path: Path, name: str, text: str) -> None:
    """Tags of other programs, several documents and values before the first section are part of these formats."""
    (tmp_path / name).write_text(text)

    assert find_syntax_error(str(tmp_path / name)) == ""


@pytest.mark.parametrize("name", ["tsconfig.json", "jsconfig.base.json", ".vscode/settings.json", "a.code-workspace"])
def test_json_with_comments_is_not_parsed_where_its_program_accepts_them(tmp_path: Path, name: str) -> None:
    """A comment in the settings of an editor or a compiler is no error."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("{ // why\n}")

    assert find_syntax_error(str(tmp_path / name)) == ""


@pytest.mark.parametrize("text", ["a: {{ value }}: [", "{% if x %}\n- [\n"])
def test_template_is_not_parsed(tmp_path: Path, text: str) -> None:
    """It is not yet in the format that its name says."""
    (tmp_path / "values.yaml").write_text(text)

    assert find_syntax_error(str(tmp_path / "values.yaml")) == ""
