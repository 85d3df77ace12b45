"""Secrets are found by their issuer's format or by the name they are assigned to; nothing else is redacted."""

import random
import string
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.case_files import CASE_FILES, load_yaml
from tests.fakes import FakeWorld
from tests.growth import LINEAR_GROWTH, measure_cpu, measure_growth
from tests.planted import PEM, PLANTED
from verdikt.model.action import UNKNOWN, Action, ActionKind
from verdikt.model.canonical_json import encode_canonical, sha256_hex
from verdikt.model.redaction import (
    make_secret_token,
    mask_tokens,
    may_hold_secret,
    redact_action,
    redact_text,
    redact_value,
)
from verdikt.model.secret_detection import HINT_WORDS, find_secrets
from verdikt.model.secret_formats import FORMATS_BY_LITERAL
from verdikt.model.world import GitFact, RedactedWorld

CASES = load_yaml(CASE_FILES / "secret.yaml")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["text"][:60])
def test_redact_text_case_finds_the_expected_kinds(case: dict[str, Any]) -> None:
    """The listed kinds are redacted, other text stays, and redacting twice changes nothing."""
    text, kinds = redact_text(case["text"])

    assert list(kinds) == case.get("found", [])
    if kinds:
        assert str(case["hidden"]) not in text
        assert str(case.get("kept", "")) in text
    else:
        assert text == case["text"]
    assert redact_text(text) == (text, ())


@pytest.mark.parametrize(("kind", "secret"), PLANTED)
@pytest.mark.parametrize(
    "around", ["{}", "echo {}", "a={} b", '"{}"', "x\n{}\ny", "https://h/?q={}&r", "ü{}ü", "'{}',"]
)
def test_redact_text_issued_format_is_found_in_any_surroundings(kind: str, secret: str, around: str) -> None:
    """A secret of each format is redacted, and the text around it stays."""
    text, kinds = redact_text(around.format(secret))

    assert secret not in text
    assert kind in kinds
    assert text.startswith(around.split("{}", maxsplit=1)[0])


def test_secret_token_holds_the_kind_and_eight_digits_of_the_hash() -> None:
    """Two secrets can be distinguished, and neither can be read."""
    assert make_secret_token("password", "hunter2") == f"<secret:password:{sha256_hex(b'hunter2')[:8]}>"
    assert redact_text("PASSWORD=hunter2")[0] == f"PASSWORD={make_secret_token('password', 'hunter2')}"


def test_redact_text_private_key_ends_with_the_key() -> None:
    """A private key is redacted with real and escaped line breaks and with headers; the text after it stays."""
    for text in (PEM, PEM.replace("\n", "\\n"), PEM.replace("-----\n", "-----\nProc-Type: 4,ENCRYPTED\n\n", 1)):
        redacted, kinds = redact_text(f"echo '{text}'; rm -rf /")

        assert kinds == ("private-key",)
        assert not [line for line in PEM.splitlines()[1:-1] if line in redacted]
        assert redacted.endswith("; rm -rf /")


@pytest.mark.parametrize(
    "command",
    [
        "-----BEGIN PRIVATE KEY-----\nrm -rf ~/work\n-----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nreboot\n-----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nProc-Type: > /etc/passwd\n\nreboot",
        'password="$(rm -rf ~/work)"',
        "password=`reboot`",
        "git clone https://u:$(reboot)@host/x",
        "curl -u bob:$(reboot) https://host",
        "PASSWORD=abc1;reboot",
        'password="x1;reboot|sh"',
    ],
)
def test_redact_text_keeps_everything_a_shell_acts_on(command: str) -> None:
    """A command next to a secret stays visible to the evaluation."""
    seen = mask_tokens(redact_text(command)[0])

    for active in ("rm -rf ~/work", "reboot", ";", "|", "$(", "`", "> /etc/passwd"):
        if active in command and not (active == "reboot" and "x1" in command):
            assert active in seen


def test_redact_action_forged_token_is_escaped() -> None:
    """A token in the input cannot hide a redirection; a shell reads `< x` like `<x`."""
    action = Action(kind=ActionKind.BASH, payload={"command": "echo <secret:a:00000000> /etc/passwd PASSWORD=hunter2"})

    redacted, kinds = redact_action(action)

    assert kinds == ("password",)
    assert redacted.payload["command"].startswith("echo < secret:a:00000000> /etc/passwd PASSWORD=<secret:password:")
    assert mask_tokens(redacted.payload)["command"] == f"echo < secret:a:00000000> /etc/passwd PASSWORD={UNKNOWN}"


def test_redact_value_uses_the_name_of_a_field() -> None:
    """A field's name, or the name beside its value, announces a secret in structured data."""
    value = {
        "password": "my dog's name",
        "pin": 1,
        "db": {"passwd": 12345678, "user": "bob"},
        "headers": {"Authorization": "Bearer 0a1b2c3d4e5f6g7h8i9j"},
        "env": [{"name": "API_KEY", "value": "0a1b2c3d4e5f6g7h"}, {"name": "MODE", "value": "0a1b2c3d4e5f6g7h"}],
        "token": True,
        "secret_name": "0a1b2c3d4e5f6g7h",
    }

    redacted, kinds = redact_value(value)

    assert kinds == ("authorization", "key", "password")
    assert redacted["db"] == {"passwd": make_secret_token("password", "12345678"), "user": "bob"}
    assert redacted["headers"]["Authorization"].startswith("Bearer <secret:authorization:")
    assert redacted["env"][0]["value"] == make_secret_token("key", "0a1b2c3d4e5f6g7h")
    assert redacted["env"][1:] == value["env"][1:]
    assert (redacted["token"], redacted["secret_name"], redacted["pin"]) == (True, "0a1b2c3d4e5f6g7h", 1)


def test_redact_value_searches_keys_and_any_shape() -> None:
    """Every part of a payload is searched, whatever its shape."""
    _, secret = PLANTED[0]

    redacted, kinds = redact_value({secret: [(secret, 1, None)], 3: {"x": secret}})

    assert kinds == ("github-token",)
    assert secret not in str(redacted)
    deep: Any = secret
    for _ in range(300):
        deep = [deep]
    with pytest.raises(Exception, match="levels"):
        encode_canonical(redact_value(deep)[0])


def test_facts_hold_no_secret_of_the_world() -> None:
    """A script's text and a remote's address are redacted, and names that are not Unicode are escaped."""
    _, secret = PLANTED[0]
    world = FakeWorld(
        cwd="/home/dev/\udcff",
        texts={"/s.sh": f"export T={secret}\necho <secret:a:00000000>x\n"},
        repository=GitFact(root="/r", remotes={"origin": "https://bob:s3cr3t@host/a.git"}),
    )

    seen = RedactedWorld(world)

    assert seen.text("/s.sh") == f"export T={make_secret_token('github-token', secret)}\necho < secret:a:00000000>x\n"
    assert seen.text("/absent") is None
    assert seen.git("/r").remotes == {"origin": f"https://bob:{make_secret_token('url-password', 's3cr3t')}@host/a.git"}
    assert encode_canonical(seen.place())
    assert seen.path("/x").real == "/x"


@pytest.mark.parametrize(
    ("head", "part", "tail", "count"),
    [
        ("", "a-", "!", 20_000),
        ("password=", "a-", "!", 20_000),
        ("-----BEGIN PRIVATE KEY-----", "\n ", "", 5000),
        ("-----BEGIN PRIVATE KEY-----", "\nAbcd: x", "", 5000),
        ("", "token", "", 20_000),
        ("", "sk-", "", 30_000),
        ("", "://", "@", 30_000),
        ("", "login ", "", 6000),
        ("eyJ", "a.", "", 50_000),
    ],
)
def test_cost_of_a_hostile_text_grows_at_most_linearly(head: str, part: str, tail: str, count: int) -> None:
    """A text that is built to make patterns backtrack costs in proportion to its length."""
    assert measure_growth(find_secrets, lambda parts: head + part * parts + tail, count) <= LINEAR_GROWTH


@pytest.mark.parametrize("part", ["password=", "token=", "token1=", "api_key=", "login ", "Q~", "PRIVATE KEY", "AZDO"])
def test_text_of_nothing_but_hints_costs_little_more_than_one_with_short_values(part: str) -> None:
    """The same characters are not judged again for every hint word that stands before them."""
    length = 24_000
    ordinary = measure_cpu(find_secrets, "secret=a1b2 " * (length // 12))
    hostile = measure_cpu(find_secrets, part * (length // len(part)))

    # Less than 5 with these patterns; between 30 and 60 when each hint word looked at all that follows.
    assert hostile / ordinary < 15


def test_secret_behind_a_long_row_of_hints_is_found_whole() -> None:
    """The rest of a value that is longer than one match belongs to the same secret."""
    secret = "Xy7" * 20
    redacted, _ = redact_text("password=" * 80 + secret + " and more")

    assert "Xy7" not in redacted
    assert redacted.endswith(" and more")


def test_find_secrets_random_text_costs_in_proportion_to_its_length() -> None:
    """Random characters are searched like any text, and what is found lies within it."""
    text = "".join(random.Random(7).choices(string.printable, k=100_000))

    assert measure_growth(find_secrets, lambda length: text[:length], len(text)) <= LINEAR_GROWTH
    assert all(0 <= secret.start < secret.end <= len(text) for secret in find_secrets(text))


@pytest.mark.parametrize("padding", ["x = 1  # ordinary text\n", "größer, 大きい, İstanbul\n"])
def test_find_secrets_long_text_gives_the_same_as_a_short_one(padding: str) -> None:
    """The search of long texts finds the same secrets."""
    short = "\n".join([*(secret for _, secret in PLANTED), "PASSWORD=hunter2", PEM, ""])
    long = padding * 4000 + short + padding * 4000

    assert [each.kind for each in find_secrets(long)] == [each.kind for each in find_secrets(padding + short)]
    assert redact_text(long)[0].removeprefix(padding * 4000).removesuffix(padding * 4000) == redact_text(short)[0]
    assert find_secrets("\ud800" * 40_000 + " PASSWORD=hunter2")
    for name in ("PaSsWoRd", "TO\N{KELVIN SIGN}EN"):
        assert find_secrets("x " * 20_000 + f'{name}="Zx81kQpL0aa7Yt55"'), name


@given(
    st.lists(
        st.sampled_from([literal for literal, _ in FORMATS_BY_LITERAL])
        | st.sampled_from([*HINT_WORDS])
        | st.text(max_size=8)
    ),
    st.sampled_from([str, str.upper, str.title]),
)
def test_prefilter_when_it_excludes_a_text_leaves_no_secret_out(
    parts: list[str], change_case: Callable[[str], str]
) -> None:
    """A text that the prefilter excludes contains no literal of an issuer and no secret."""
    text = change_case("".join(parts))

    if not may_hold_secret(text):
        assert find_secrets(text) == []
        assert not any(literal in text for literal, _ in FORMATS_BY_LITERAL)
