"""The real client, the real settings, and a scripted model that calls for the canary."""

import subprocess
from pathlib import Path

from verdikt.hosts.host_decision import TEXT_MARK
from verdikt.hosts.live.canary import Canary
from verdikt.hosts.live.model_api import ModelTurn, ToolUse
from verdikt.hosts.live.sandbox_home import create_sandbox_home
from verdikt.hosts.live.scripted_model import ScriptedModel
from verdikt.hosts.registry import HOSTS, load_client_driver
from verdikt.hosts.wiring.installation import Installation
from verdikt.observe.program_path import find_user_program

BLOCKED = "blocked"


def run_live_canary(installation: Installation, host_name: str) -> str:
    """Return `blocked`, or what else happened, in words for a person. The client leaves nothing behind."""
    host, driver = HOSTS[host_name], load_client_driver(host_name)
    if driver is None:
        return "not tried: this client cannot be scripted"
    binary = find_user_program(host.program, installation.env, installation.project)
    if not binary:
        return f"not tried: `{host.program}` is not installed, or not in PATH"
    canary = Canary(data_directory=installation.data_directory)
    # A file of an earlier run would count as proof that the command ran.
    canary.remove_file()
    tool_use = ToolUse(driver.shell_tool, {driver.command_argument: canary.command, **driver.extra_arguments})
    turns = (ModelTurn("canary", (tool_use,)), ModelTurn("done"))
    with ScriptedModel(turns) as model, create_sandbox_home(installation, host, driver) as (home, env):
        try:
            run = driver.run(
                Path(binary),
                project=Path(installation.project),
                home=home,
                model=model,
                prompt="verdikt doctor",
                env=env,
            )
        except subprocess.TimeoutExpired:
            return "the client did not end"
        turn_count = sum(bool(request.get("tools")) for request in model.requests)
        # A client may refuse the command by itself, which would prove nothing about the hook.
        was_refused_by_verdikt = model.has_received(TEXT_MARK)
    if Path(canary.file).exists():
        canary.remove_file()
        return "RAN: the forbidden command was not stopped"
    if turn_count < 2:
        last_line = "".join((run.stderr.strip() or run.stdout.strip()).splitlines()[-1:])[:300]
        why = last_line or f"it ended with status {run.exit_code}"
        return f"the client did not reach the scripted model: {why}"
    return BLOCKED if was_refused_by_verdikt else "not run, but not because of verdikt: the client refused it by itself"
