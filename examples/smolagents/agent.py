"""smolagents: `python -m examples.smolagents.agent`, or with `--approve` to say yes where a person is asked.

The agent writes Python, so two things are governed: the code, before the executor runs it, and the tool it calls.
"""

import os
import sys
from typing import Any

from smolagents import CodeAgent, LogLevel, Model, OpenAIModel, tool
from smolagents.local_python_executor import CodeOutput, LocalPythonExecutor
from smolagents.models import ChatMessage, MessageRole

from examples.scene import SCRIPT, SESSION, TASK, open_governance, run_shell
from verdikt import Turn
from verdikt.integrations import govern

SECRET = "print(open('/home/ann/.ssh/id_ed25519').read())"  # refused as code, before the executor sees it


class ScriptedModel(Model):
    """Says the steps of the script as code; takes the place of a real model."""

    steps_taken = 0

    def generate(self, messages: Any, **options: Any) -> ChatMessage:
        """Return the next step."""
        number, self.steps_taken = self.steps_taken, self.steps_taken + 1
        step = SCRIPT[min(max(number - 1, 0), len(SCRIPT) - 1)]
        code = f"print(sh({step.command!r}))" if step.command else f"final_answer({step.text!r})"
        code = code if number else SECRET
        return ChatMessage(role=MessageRole.ASSISTANT, content=f"Thought: next\n<code>\n{code}\n</code>")


def sh(command: str) -> str:
    """Run a shell command in the project.

    Args:
        command: The command to run.
    """
    return run_shell(command)


def build_model() -> Any:
    """Return a real model if there is a key, and the script otherwise."""
    return OpenAIModel("gpt-5") if os.environ.get("OPENAI_API_KEY") else ScriptedModel(model_id="scripted")


def main(arguments: list[str]) -> None:
    """Run the agent."""

    def ask(question: dict[str, Any]) -> bool:
        print(f"waiting for a person: {question['args']}: {question['reason']}")
        return arguments == ["--approve"]

    with open_governance(is_new=True) as governance:
        governed_sh = govern(sh, governance=governance, kinds={"sh": "bash"}, session_id=SESSION, ask=ask)

        class GovernedExecutor(LocalPythonExecutor):
            """Runs only code that the policy lets through."""

            @govern(governance=governance, kinds={"python": "execute_code"}, name="python", session_id=SESSION)
            def __call__(self, code_action: str) -> CodeOutput:
                return super().__call__(code_action)

        def check_end(final_answer: Any, memory: Any, agent: Any) -> bool:
            answer = governance.stop(Turn(session_id=SESSION, message=str(final_answer)))
            if not answer.allowed:
                raise ValueError(answer.reason)
            return True

        agent = CodeAgent(
            tools=[tool(governed_sh)],
            model=build_model(),
            executor=GovernedExecutor(additional_authorized_imports=[]),
            final_answer_checks=[check_end],
            verbosity_level=LogLevel.OFF,
        )
        answer = agent.run(TASK)
        for step in agent.memory.steps:
            code = getattr(step, "code_action", None)
            if code:
                print(f"{code}: {step.error or step.observations}")
        print(answer)


if __name__ == "__main__":
    main(sys.argv[1:])
