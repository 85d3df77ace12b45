"""The real client, the real settings, and a model that asks for the canary: did it run?"""

import shutil
import subprocess
from pathlib import Path

from verdikt.adapters.live.canary import Canary
from verdikt.adapters.live.client import CLIENTS
from verdikt.adapters.live.guest import guest
from verdikt.adapters.live.model import ScriptedModel
from verdikt.adapters.live.screenplay import Say, Screenplay, ToolUse
from verdikt.adapters.ruling import MARK
from verdikt.adapters.wiring.install import Installation
from verdikt.adapters.wiring.place import PLACES

BLOCKED = "blocked"


def rehearse(here: Installation, host: str) -> str:
    """`blocked`, or what else happened, in words for a person. The client leaves nothing behind."""
    client = CLIENTS.get(host)
    if client is None:
        return "not tried: this client cannot be scripted"
    program = PLACES[host].program if host in PLACES else host
    binary = shutil.which(program, path=here.env.get("PATH"))
    if binary is None:
        return f"not tried: `{program}` is not installed, or not in PATH"
    canary = Canary(data=here.data)
    canary.remove()
    use = ToolUse(client.shell, {client.argument: canary.command, **client.more})
    script = Screenplay(turns=(Say("canary", (use,)), Say("done")))
    with ScriptedModel(script) as model, guest(here, host) as (home, env):
        try:
            run = client.run(
                Path(binary), project=Path(here.project), home=home, model=model, prompt="verdikt doctor", env=env
            )
        except subprocess.TimeoutExpired:
            return "the client did not end"
        turns = sum(bool(request.get("tools")) for request in model.requests)
        heard = model.heard(MARK)
    if Path(canary.file).exists():
        canary.remove()
        return "RAN: the forbidden command was not stopped"
    if turns < 2:
        last = (run.stderr.strip() or run.stdout.strip()).splitlines()[-1:]
        return (
            f"the client did not reach the scripted model: {''.join(last)[:300] or f'it ended with status {run.code}'}"
        )
    return BLOCKED if heard else "not run, but not because of verdikt: the client refused it by itself"
