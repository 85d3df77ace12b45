"""What an adapter costs on top of the decision itself: median of `before` through each adapter, by a bare `before`.

Every figure is a ratio within one run, on the same commands and the same kind of log: by `Governance.before`, and by
`Governance.abefore`, which decides in a worker thread as the adapters of async SDKs do. It is the median over batches
that follow each other, so that a busy machine slows both sides; `its CPU` does not depend on what else runs. The SDKs
run in their own environments (`make sdks`); one that is not there is left out. What is measured is the adapter's part
of a tool call: from the SDK's hook to its answer, outcome not included, because a bare `before` records none. An async
adapter decides in a worker thread; on a busy machine its time is mostly that of waking the thread.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.sdks.environments import PACKAGES, ROOT, find_environment

from benchmarks.programs.sdk_overhead import BUILDERS

PROGRAM = "benchmarks.programs.sdk_overhead"


def measure_sdk(python: Path, sdk: str) -> dict[str, float]:
    """Return the ratios of one SDK to `bare` and `bare async`, each also as `… cpu`."""
    env = dict(os.environ) | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    command = [str(python), "-m", PROGRAM, sdk]
    completed = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    ratios: dict[str, float] = json.loads(completed.stdout.splitlines()[-1])
    return ratios


def main() -> None:
    """Print the ratios of each adapter whose environment is there."""
    pythons = {sdk: find_environment(sdk, "newest") for sdk in PACKAGES if sdk in BUILDERS}
    for sdk, python in {"python": Path(sys.executable), **pythons}.items():
        if python is None:
            print(f"{sdk:20} not installed (make sdks)")
            continue
        ratios = measure_sdk(python, sdk)
        print(
            f"{sdk:20} {ratios['bare']:5.2f} × `before` ({ratios['bare cpu']:.2f} × its CPU),"
            f" {ratios['bare async']:5.2f} × `abefore` ({ratios['bare async cpu']:.2f} × its CPU)"
        )


if __name__ == "__main__":
    main()
