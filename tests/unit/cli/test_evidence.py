"""`verdikt evidence`: what people and machines get."""

import json

from click.testing import CliRunner

from verdikt.cli import root


def run(*arguments: str, text: str = "") -> tuple[int, str]:
    """Status and output of a call."""
    result = CliRunner().invoke(root, ["evidence", *arguments], input=text)
    return result.exit_code, result.output


def test_claims_of_a_message_as_json() -> None:
    """Type, words and place."""
    status, output = run("claims", "--json", text="Fixed the parser. Is it fast?")

    assert status == 0
    assert [(claim["type"], claim["start"]) for claim in json.loads(output)] == [("done", 0)]


def test_a_batch_goes_on_after_a_bad_line() -> None:
    """Each line has its answer, in order."""
    lines = ['{"id": 1, "text": "Done."}', "nonsense", '{"id": 2, "text": "Hello"}', "[1]"]

    status, output = run("claims", "--batch", text="\n".join(lines))

    answers = [json.loads(line) for line in output.splitlines()]
    assert status == 65
    assert [answer["id"] for answer in answers] == [1, None, 2, None]
    assert [claim["type"] for claim in answers[0]["claims"]] == ["done"]
    assert answers[2]["claims"] == []


def test_people_get_words() -> None:
    """Plain when piped."""
    assert run("claims", text="hello") == (0, "no claims\n")
    assert run("claims", text="All tests pass.")[1].startswith("done")
