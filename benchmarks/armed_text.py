"""Cost of judging a file when it is written, against parsing it: `python benchmarks/armed_text.py`."""

import ast
import time
from collections.abc import Callable

from verdikt.effects.armed_text import judge_text
from verdikt.effects.script_classifier import ScriptClassifier
from verdikt.effects.target import TargetResolver
from verdikt.model.effect import Effect
from verdikt.model.facts import Facts
from verdikt.observe.world import RealWorld
from verdikt.shell.command import Command

LINES = 2_000
ROUNDS = 7
BLOCK = """
def build_{n}(items, limit={n}):
    rows = [item.strip() for item in items if item and len(item) < limit]
    with open("build/out_{n}.txt", "w") as file:
        file.write("\\n".join(rows))
    subprocess.run(["git", "status", "--short"], check=True)
    return {{"count": len(rows), "name": f"part-{{limit}}"}}


"""


WORDY_BLOCK = """
def sync_{n}(home, limit={n}):
    target = Path.home() / ".cache" / "acme" / "part-{n}"
    body = requests.get("https://api.acme.example/items/{n}").json()
    target.write_text(json.dumps(body))
    if limit > len(body):
        target.unlink(missing_ok=True)
    return load_token(".env")


"""
"""Has words of all families, and nothing that meets: the most that the reader of any language has to do."""


def write_module(block: str) -> str:
    """Return a Python module of 2,000 lines."""
    text = "import subprocess\n"
    number = 0
    while text.count("\n") < LINES:
        text += block.format(n=number)
        number += 1
    return text


def measure_fastest(run: Callable[[], object]) -> float:
    """Return the CPU seconds of the fastest of several rounds."""
    shortest = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        run()
        shortest = min(shortest, time.process_time() - start)
    return shortest


def judge(text: str) -> object:
    """Judge a module as it is judged when a tool writes it."""
    resolver = TargetResolver(Facts(RealWorld(".")))

    def classify_shell(inner: str, command: Command) -> list[Effect]:
        return ScriptClassifier(resolver).classify_shell(inner, command.cwd, command.host)

    return judge_text("/project/module.py", text, resolver, classify_shell)


if __name__ == "__main__":
    for name, block in (("ordinary", BLOCK), ("with words of all families", WORDY_BLOCK)):
        module = write_module(block)
        parsing = measure_fastest(lambda module=module: ast.parse(module))  # type: ignore[misc]
        judging = measure_fastest(lambda module=module: judge(module))  # type: ignore[misc]
        lines = module.count("\n")
        print(f"judging {lines} lines of Python, {name}: {judging / parsing:.1f} times parsing them (bar: 20)")
