"""The real client, the real settings, and a model that asks for the canary: did it run?"""

import shutil
import subprocess
from pathlib import Path

from verdikt.hosts.host_decision import TEXT_MARK
from verdikt.hosts.live.canary import Canary
from verdikt.hosts.live.client_driver import CLIENT_DRIVERS
from verdikt.hosts.live.model_script import ModelScript, ModelTurn, ToolUse
from verdikt.hosts.live.sandbox_home import create_sandbox_home
from verdikt.hosts.live.scripted_model import ScriptedModel
from verdikt.hosts.wiring.installation import Installation
from verdikt.hosts.wiring.settings_layout import SETTINGS_LAYOUTS

BLOCKED = "blocked"


def run_live_canary(installation: Installation, host: str) -> str:
    """`blocked`, or what else happened, in words for a person. The client leaves nothing behind."""
    client = CLIENT_DRIVERS.get(host)
    if client is None:
        return "not tried: this client cannot be scripted"
    program = SETTINGS_LAYOUTS[host].program if host in SETTINGS_LAYOUTS else host
    binary = shutil.which(program, path=installation.env.get("PATH"))
    if binary is None:
        return f"not tried: `{program}` is not installed, or not in PATH"
    canary = Canary(data_directory=installation.data_directory)
    canary.remove_file()
    use = ToolUse(client.shell_tool, {client.command_argument: canary.command, **client.extra_arguments})
    script = ModelScript(turns=(ModelTurn("canary", (use,)), ModelTurn("done")))
    with ScriptedModel(script) as model, create_sandbox_home(installation, host) as (home, env):
        try:
            run = client.run(
                Path(binary),
                project=Path(installation.project),
                home=home,
                model=model,
                prompt="verdikt doctor",
                env=env,
            )
        except subprocess.TimeoutExpired:
            return "the client did not end"
        turns = sum(bool(request.get("tools")) for request in model.requests)
        heard = model.has_received(TEXT_MARK)
    if Path(canary.file).exists():
        canary.remove_file()
        return "RAN: the forbidden command was not stopped"
    if turns < 2:
        last = (run.stderr.strip() or run.stdout.strip()).splitlines()[-1:]
        return f"the client did not reach the scripted model: {''.join(last)[:300] or f'it ended with status {run.exit_code}'}"
    return BLOCKED if heard else "not run, but not because of verdikt: the client refused it by itself"
