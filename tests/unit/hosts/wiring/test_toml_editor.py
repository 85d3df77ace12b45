"""Changes of single keys in TOML files."""

import tomllib

import pytest

from verdikt.errors import WiringError
from verdikt.hosts.wiring.toml_editor import set_key


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "[features]\ntty = false\n"),
        ("a = 1", "a = 1\n\n[features]\ntty = false\n"),
        ("[features]", "[features]\ntty = false\n"),
        ("[features]\nx = 1\n\n[b]\n", "[features]\ntty = false\nx = 1\n\n[b]\n"),
        ("[features]  # mine\ntty = true # why\n[b]\ntty = 1\n", "[features]  # mine\ntty = false\n[b]\ntty = 1\n"),
        ("[features]\ntty = false\n", "[features]\ntty = false\n"),
        ("features.tty = false\n", "features.tty = false\n"),
        ("features.x = 1\n[b]\n", "features.tty = false\nfeatures.x = 1\n[b]\n"),
        ("# c\r\n[features]\r\nx = 1\r\n[b]\r\n", "# c\r\n[features]\r\ntty = false\r\nx = 1\r\n[b]\r\n"),
        ("[features]\r\ntty = true\r\n", "[features]\r\ntty = false\r\n"),
        ("a = 1\r\n", "a = 1\r\n\r\n[features]\r\ntty = false\r\n"),
        ("a = 1\r\nb = 2\n[features]\n", "a = 1\r\nb = 2\n[features]\ntty = false\r\n"),
        ("\ufeff[features]\nx = 1\n", "\ufeff[features]\ntty = false\nx = 1\n"),
        ("\ufeffa = 1\n", "\ufeffa = 1\n\n[features]\ntty = false\n"),
        ('s = """\n[features]\n"""\n', 's = """\n[features]\n"""\n\n[features]\ntty = false\n'),
    ],
)
def test_set_key_keeps_everything_else(before: str, after: str) -> None:
    """Comments, order, line ends and other tables stay as they are."""
    assert set_key(before.encode(), ("features",), "tty", False, "config.toml").decode() == after


@pytest.mark.parametrize("before", ["features = 1\n", "features = {tty = true}\n", "[features\n", "a = 1\na = 2\n"])
def test_set_key_in_a_file_that_cannot_be_edited_safely_raises(before: str) -> None:
    """The error names the file."""
    with pytest.raises(WiringError, match="config.toml"):
        set_key(before.encode(), ("features",), "tty", False, "config.toml")


def test_set_key_with_special_characters_in_a_table_name_quotes_it() -> None:
    """The key of an approved hook holds slashes and colons."""
    text = set_key(
        None, ("hooks", "state", "/a b/hooks.json:stop:0:0"), "trusted_hash", "sha256:1", "config.toml"
    ).decode()

    assert tomllib.loads(text)["hooks"]["state"]["/a b/hooks.json:stop:0:0"] == {"trusted_hash": "sha256:1"}
