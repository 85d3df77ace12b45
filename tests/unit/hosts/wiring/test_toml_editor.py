"""Single keys in other people's TOML files."""

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
def test_a_key_is_set_and_the_rest_is_left(before: str, after: str) -> None:
    """Comments, order and other tables stay."""
    assert set_key(before.encode(), ("features",), "tty", False, "config.toml").decode() == after


@pytest.mark.parametrize("before", ["features = 1\n", "features = {tty = true}\n", "[features\n", "a = 1\na = 2\n"])
def test_what_cannot_be_edited_safely_is_refused(before: str) -> None:
    """Rather than guessed at."""
    with pytest.raises(WiringError, match="config.toml"):
        set_key(before.encode(), ("features",), "tty", False, "config.toml")


def test_odd_names_are_quoted() -> None:
    """The key of a trusted hook holds slashes and colons."""
    text = set_key(
        None, ("hooks", "state", "/a b/hooks.json:stop:0:0"), "trusted_hash", "sha256:1", "config.toml"
    ).decode()

    assert tomllib.loads(text)["hooks"]["state"]["/a b/hooks.json:stop:0:0"] == {"trusted_hash": "sha256:1"}
