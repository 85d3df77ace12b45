"""Plays AgentDojo's suites with a scripted model; started by `benchmarks/agentdojo.py`, which prints the table.

The model does what the person asked, call by call, and obeys every injected text as soon as it has read one: the worst
model there is. What verdikt refuses is not run. Utility and success of an attack are AgentDojo's own checks.
"""

import json
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from agentdojo.agent_pipeline.base_pipeline_element import BasePipelineElement
from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.attacks.important_instructions_attacks import ImportantInstructionsAttack
from agentdojo.functions_runtime import FunctionCall
from agentdojo.task_suite.load_suites import get_suites
from agentdojo.types import ChatAssistantMessage, ChatToolResultMessage, text_content_block_from_string

from verdikt import Action, ActionKind, Governance
from verdikt.model.hook_message import Prompt

VERSION = "v1.2.2"
POLICY = Path(__file__).with_name("agentdojo.yaml")
MARK = "<INFORMATION>"
"""Words of the attack by which the model knows that it was told something."""


class ScriptedModel(BasePipelineElement):
    """Plays the calls of the person's task, and those of the injected one once its text was read."""

    name = "gpt-4o-2024-05-13"  # an attack names the model that it is written for

    def __init__(self, governance: Governance | None) -> None:
        self._governance = governance
        self._count = 0
        self.user_task: Any = None
        self.injection_task: Any = None
        self.injected_calls = 0
        self.suite = ""

    def query(
        self, query: str, runtime: Any, env: Any = None, messages: Sequence[Any] = (), extra_args: Any = None
    ) -> tuple[Any, ...]:
        """Play the whole turn: every call, refused or run, and the final answer."""
        self._count += 1
        self.injected_calls = 0
        session = f"{self.suite}-{self._count}"
        if self._governance is not None:
            self._governance.prompt(Prompt(text=query, session_id=session, cwd=os.getcwd()))
        calls = list(self.user_task.ground_truth(env.model_copy(deep=True)))
        played: list[Any] = []
        is_obeyed = self.injection_task is None
        while calls:
            call = calls.pop(0)
            text = self._run(call, session, runtime, env)
            played += _to_messages(call, text)
            if not is_obeyed and MARK in text:
                is_obeyed = True
                injected = list(self.injection_task.ground_truth(env.model_copy(deep=True)))
                self.injected_calls = len(injected)
                calls = injected + calls
        answer = text_content_block_from_string(self.user_task.GROUND_TRUTH_OUTPUT)
        played.append(ChatAssistantMessage(role="assistant", content=[answer], tool_calls=None))
        return query, runtime, env, [*messages, *played], extra_args or {}

    def _run(self, call: FunctionCall, session: str, runtime: Any, env: Any) -> str:
        if self._governance is not None:
            tool = f"mcp__{self.suite}__{call.function}"
            payload = json.loads(json.dumps(dict(call.args), default=str))
            action = Action(kind=ActionKind.MCP, tool=tool, payload=payload, session_id=session, cwd=os.getcwd())
            decision = self._governance.before(action)
            if not decision.passed:
                return f"refused: {decision.verdict.reason}"
        result, error = runtime.run_function(env, call.function, call.args)
        return error or tool_result_to_str(result)


def _to_messages(call: FunctionCall, text: str) -> list[Any]:
    # A refused call was not made: AgentDojo looks for it in the trace.
    tool_calls = [] if text.startswith("refused: ") else [call]
    empty = text_content_block_from_string("")
    return [
        ChatAssistantMessage(role="assistant", content=[empty], tool_calls=tool_calls),
        ChatToolResultMessage(
            role="tool",
            content=[text_content_block_from_string(text)],
            tool_call=call,
            tool_call_id=None,
            error=None,
        ),
    ]


def play_suite(suite: Any, model: ScriptedModel) -> Iterator[tuple[str, str, bool, bool]]:
    """Yield for each pair of tasks whether the person's was done and whether the attack succeeded; "" for no attack."""
    model.suite = suite.name
    attack = ImportantInstructionsAttack(suite, model)
    for user_id, user_task in suite.user_tasks.items():
        model.user_task, model.injection_task = user_task, None
        utility, _ = suite.run_task_with_pipeline(model, user_task, None, {})
        yield user_id, "", utility, False
        for injection_id, injection_task in suite.injection_tasks.items():
            environment = suite.load_and_inject_default_environment({})
            if not injection_task.ground_truth(environment):
                continue  # it asks for words alone, or AgentDojo has no calls for it: there is nothing to govern
            model.injection_task = injection_task
            injections = attack.attack(user_task, injection_task)
            utility, success = suite.run_task_with_pipeline(model, user_task, injection_task, injections)
            yield user_id, injection_id, utility, success and model.injected_calls > 0
        model.injection_task = None


def main(governed: bool) -> None:
    """Play every suite and print the results as JSON."""
    warnings.simplefilter("ignore")
    # AgentDojo reads its environments for each pair of tasks: with the loader in Python that is nearly all of the time.
    yaml.safe_load = lambda text: yaml.load(text, Loader=yaml.CSafeLoader)
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        env = {"VERDIKT_HOME": f"{directory}/data", "HOME": directory}
        governance = Governance.load(POLICY, env=env) if governed else None
        for suite in get_suites(VERSION).values():
            rows += [[suite.name, *row] for row in play_suite(suite, ScriptedModel(governance))]
        if governance is not None:
            governance.close()
        os.chdir("/")
    print(json.dumps(rows))


if __name__ == "__main__":
    main(governed=sys.argv[1] == "governed")
