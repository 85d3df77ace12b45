"""Which behaviour is proven on which client. Every cell is a test; docs/hosts/README.md shows the same table."""

CLIENTS = ("claude-2.1.325", "claude-2.1.197", "codex-0.166.0", "gemini-0.61.0", "copilot-1.0.102", "opencode-1.18.33")

BEHAVIOURS: dict[str, str] = {
    "forbidden": "a forbidden command does not run, the model sees reason and fix; an allowed one runs; parallel calls",
    "feedback": "feedback reaches the model; an early stop is refused until the file exists",
    "evidence": "“done” without evidence is sent back, with evidence it is let through",
    "tampering": "settings tampering does not switch governance off",
    "failure": "a hook that crashes, is killed, hangs or prints garbage does not let the tool run",
    "missing": "a missing interpreter or a wrapper that is missing or crashes does not let the tool run",
    "sub_agents": "sub-agents are governed, and the log names the agent of each call",
    "fifty": "fifty calls leave fifty decisions and fifty outcomes in a verified log",
    "doctor": "`verdikt doctor --live` sees the canary blocked, and leaves nothing behind",
}

BLOCKS, RUNS, WAITS = "blocks", "the tool runs", "waits until the wrapper is ended, and then runs the tool"
WHEN_STOPPED = {
    "claude-2.1.325": BLOCKS,
    "claude-2.1.197": RUNS,
    "codex-0.166.0": RUNS,
    "gemini-0.61.0": WAITS,
    "copilot-1.0.102": RUNS,
    "opencode-1.18.33": BLOCKS,
}
"""What a client does when a hook that was stopped (SIGSTOP) exceeds the client's own time limit."""

IN_PART: dict[tuple[str, str], str] = {
    (
        "feedback",
        "opencode",
    ): "a stop is refused where OpenCode stays (its terminal interface, `serve`); `opencode run` ends at once",
    ("evidence", "opencode"): "as for stops",
    ("missing", "copilot"): "the reason of a failed hook is not shown to the model",
    ("failure", "copilot"): "the reason of a failed hook is not shown to the model",
    ("sub_agents", "gemini"): "the client does not tell who calls",
}
"""(behaviour, host) → a limit of the host, although the behaviour holds."""


def list_clients(behaviour: str) -> tuple[str, ...]:
    """Return the clients on which a behaviour is tested: all of them."""
    assert behaviour in BEHAVIOURS
    return CLIENTS
