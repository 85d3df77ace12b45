"""Cost of the shell analysis: against a bare tree-sitter parse of the same text, and as texts grow."""

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import tree_sitter_bash
import yaml
from tree_sitter import Language, Parser

from verdikt.daemon.lifecycle import tune_garbage_collector
from verdikt.effects.classifier import classify, classify_shell_text
from verdikt.graph.context import GovernanceContext
from verdikt.graph.guard import PolicyNode
from verdikt.model.action import Action, ActionKind
from verdikt.model.facts import Facts
from verdikt.observe.world import RealWorld
from verdikt.policy import parse_policy
from verdikt.shell import analyse

COMMANDS: list[str] = yaml.safe_load(Path(__file__).with_name("commands.yaml").read_text(encoding="utf-8"))

ROUNDS = 15
# Passes before the measurement: the process behind the hooks has seen commands before.
WARM_UP_ROUNDS = 5

SCRIPT = """set -e
NAME=${1:-world}
if [ -f "$NAME.txt" ]; then
  rm -f "$NAME.txt"   # written again below
fi
find . -name '*.o' | xargs rm -f
cat <<END > out.txt
hello $NAME from $(hostname)
END
for d in api web; do (cd $d && make test) || exit 1; done
sudo apt-get install -y jq && echo "ok: $((1 + 2))"
"""


def measure_fastest(run: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds of the fastest of several rounds, the one that other processes disturbed least."""
    shortest = float("inf")
    for _ in range(ROUNDS):
        start = clock()
        run()
        shortest = min(shortest, clock() - start)
    return shortest


def measure_command(command: str, parser: Parser, facts: Facts, policy: PolicyNode) -> tuple[float, ...]:
    """Return the seconds of a bare parse, of the analysis, of analysis, effects and decision, of cached effects."""
    source = command.encode()
    action = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": command}, cwd=facts.cwd)

    def decide() -> object:
        effects = classify_shell_text(command, facts)
        return policy.evaluate(action, GovernanceContext(action=action, effects=effects, facts=facts))

    return (
        measure_fastest(lambda: parser.parse(source)),
        measure_fastest(lambda: analyse(command, home=facts.home, cwd=facts.cwd)),
        measure_fastest(decide),
        measure_fastest(lambda: classify(action, facts.copy_without_answers())),
    )


def main() -> None:
    """Print the ratios."""
    parser = Parser(Language(tree_sitter_bash.language()))
    facts = Facts(RealWorld("/nowhere/project", home="/nowhere"))
    policy = parse_policy("profile: standard").root
    for _ in range(WARM_UP_ROUNDS):
        for command in COMMANDS:
            measure_command(command, parser, facts, policy)
    tune_garbage_collector()
    times = [measure_command(command, parser, facts, policy) for command in COMMANDS]
    print(f"{len(COMMANDS)} ordinary commands against a bare parse of the same text:")
    for column, name in enumerate(
        ("shell analysis", "analysis, effects, decision (≤ 12×)", "effects of a command met before"), start=1
    ):
        ratios = sorted(row[column] / row[0] for row in times)
        together = sum(row[column] for row in times) / sum(row[0] for row in times)
        p90 = ratios[int(len(ratios) * 0.9)]
        print(f"  {name:36} p50 {statistics.median(ratios):4.1f}×  p90 {p90:4.1f}×  together {together:4.1f}×")

    small = SCRIPT * (1_000 // len(SCRIPT) or 1)
    large = small * (100_000 // len(small))
    # CPU time of this process: the long run is interrupted far more often than the short one.
    runs: tuple[tuple[str, Callable[[str], object]], ...] = (
        ("shell analysis", analyse),
        ("analysis and effects (≤ 120×)", lambda text: classify_shell_text(text, facts)),
    )
    for name, run in runs:
        growth = measure_fastest(lambda run=run: run(large), time.process_time) / measure_fastest(
            lambda run=run: run(small), time.process_time
        )
        print(f"{len(large)} letters of script against {len(small)}, {name}: {growth:.0f}× the time")


if __name__ == "__main__":
    main()
