"""Any callable: `python -m examples.plain_python.agent`, or with `--approve` to say yes where a person is asked."""

import sys

from examples.scene import SCRIPT, SESSION, open_governance, run_shell
from verdikt import BlockedError, Turn
from verdikt.integrations import govern


def sh(command: str) -> str:
    """Run a shell command in the project."""
    return run_shell(command)


def main(arguments: list[str]) -> None:
    """Run the commands of the script, each only if the policy lets it, and end only when it is proven."""
    with open_governance(is_new=True) as governance:
        governed_sh = govern(
            sh,
            governance=governance,
            kinds={"sh": "bash"},
            session_id=SESSION,
            ask=lambda question: arguments == ["--approve"],
        )
        for step in SCRIPT:
            if step.text:
                end = governance.stop(Turn(session_id=SESSION, message=step.text))
                print(step.text if end.allowed else f"{step.text} (refused: {end.reason})")
                continue
            try:
                print(f"{step.command}: {governed_sh(step.command)}")
            except BlockedError as refusal:
                print(f"{step.command}: {refusal}")


if __name__ == "__main__":
    main(sys.argv[1:])
