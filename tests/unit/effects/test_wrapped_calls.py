"""Commands that a program runs by a function of its own."""

import pytest

from verdikt.effects.wrapped_calls import read_wrapped_calls


@pytest.mark.parametrize(
    "text",
    [
        'def git(*args):\n    subprocess.run(["git", *args])\n\ngit("clean", "-fd")\n',
        "const git = (...args) => execFileSync('git', args);\ngit('clean', '-fd');\n",
        'def git(*args) = system("git", *args)\ngit("clean", "-fd")\n',
        'func git(args ...string) error { return exec.Command("git", args...).Run() }\nvar x = git("clean", "-fd")\n',
        "function git(string ...$args) { passthru('git ' . implode(' ', $args)); }\ngit('clean', '-fd');\n",
    ],
)
def test_call_is_a_command_line(text: str) -> None:
    """A call of a function that starts a program with its words is that command line."""
    assert [section.text for section in read_wrapped_calls(text)] == ["git clean -fd"]


def test_other_functions_run_nothing() -> None:
    """A function that does something else with its words is not followed."""
    assert read_wrapped_calls('def log(*args):\n    print("git", *args)\n\nlog("clean", "-fd")\n') == []
