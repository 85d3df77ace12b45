"""Attacks by injected text, in AgentDojo's suites with a scripted model: how many succeed, and what work gets done.

The model obeys every injected text that it reads, which no real model does: what the attacks do not achieve here is
verdikt's doing alone. The policy is one flow, `benchmarks/programs/agentdojo.yaml`. Nothing leaves this machine.
AgentDojo has an environment of its own, which the first run makes.
"""

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from tests.sdks.environments import ROOT, EnvironmentMissing, install_environment

PROGRAM = "benchmarks.programs.agentdojo_suites"

Row = tuple[str, str, str, bool, bool]
"""Suite, the person's task, the injected task or "", whether the first was done and whether the second was."""


def play(python: Path, mode: str) -> list[Row]:
    """Return the results of all suites, `plain` or `governed`."""
    env = dict(os.environ) | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    command = [str(python), "-m", PROGRAM, mode]
    completed = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return [(str(a), str(b), str(c), bool(d), bool(e)) for a, b, c, d, e in json.loads(completed.stdout)]


def summarize(rows: list[Row]) -> dict[str, tuple[int, float, float, float]]:
    """Return by suite: the number of attacks, utility without and with them, and the share that succeeded."""
    by_suite: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_suite[row[0]].append(row)
        by_suite["all"].append(row)
    summary = {}
    for suite, played in sorted(by_suite.items(), key=lambda item: item[0] == "all"):
        calm, attacked = [row for row in played if not row[2]], [row for row in played if row[2]]
        summary[suite] = (
            len(attacked),
            sum(row[3] for row in calm) / len(calm),
            sum(row[3] for row in attacked) / len(attacked),
            sum(row[4] for row in attacked) / len(attacked),
        )
    return summary


def main() -> None:
    """Print the table, with and without verdikt."""
    try:
        python = install_environment("agentdojo", "pinned")
    except EnvironmentMissing as missing:
        sys.exit(str(missing))
    print("suite       attacks | utility  attacked  attack success | the same without verdikt")
    plain = summarize(play(python, "plain"))
    for suite, (count, calm, attacked, success) in summarize(play(python, "governed")).items():
        _, plain_calm, plain_attacked, plain_success = plain[suite]
        print(
            f"{suite:10} {count:8} |    {calm:4.2f}      {attacked:4.2f}            {success:4.2f}"
            f" |    {plain_calm:4.2f}      {plain_attacked:4.2f}            {plain_success:4.2f}"
        )


if __name__ == "__main__":
    main()
