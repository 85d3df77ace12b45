"""`verdikt-launch`: what committed settings find on PATH on a machine where verdikt is installed and was never set up.

It writes the wrappers into the data directory, where the same settings find them at the next call, and then does what
they do.
"""

import os
import sys
from typing import NoReturn

from verdikt.errors import VerdiktError
from verdikt.hosts.wiring.installation import Installation
from verdikt.hosts.wiring.plan import apply_plan, plan_wrappers
from verdikt.ledger.data_directory import get_data_directory


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run `verdikt-launch closed|open HOST EVENT` and exit with the status of the hook."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        installation = Installation(
            project=os.getcwd(), data_directory=str(get_data_directory(os.environ).absolute()), env=os.environ
        )
        apply_plan(installation, [change for change in plan_wrappers(installation, "project") if change.is_needed])
        os.execv(installation.launcher_path, [installation.launcher_path, *words])
    except (VerdiktError, OSError) as error:
        # Any status but 2 lets the tool run on some hosts; elsewhere than before an action the call does not matter.
        print(f"[verdikt] blocked, because verdikt could not be set up for this account: {error}", file=sys.stderr)
        raise SystemExit(0 if words[:1] == ["open"] else 2) from error


if __name__ == "__main__":
    main()
