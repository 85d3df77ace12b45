"""spine-lite: manifests, postures and receipts."""

import json

from tests.seed_walk.user import User, walks

MANIFEST = {
    "tools": {
        "read_file": {"name": "read_file", "effects": ["read"]},
        "fetch_url": {"name": "fetch_url", "effects": ["network", "read"]},
        "git_force_push": {
            "name": "git_force_push",
            "effects": ["destructive", "network"],
            "permitted_postures": ["interactive"],
            "require_confirmation": True,
        },
    }
}


@walks("S3-01", "S3-02", "S3-03", "S3-04", "S3-07", "S3-10")
def try_a_call_through_the_hook(user: User) -> None:
    """Run the program of the document: payload in, receipt out, a status for each disposition."""
    user.write("tools.json", json.dumps(MANIFEST))
    program = ("verdikt.cli.spine_lite",)
    assert user.module(*program, "validate-manifest", "tools.json").stdout == "valid: tools.json\n"
    classified = json.loads(user.module(*program, "classify", "fetch_url", "-m", "tools.json").stdout)
    assert classified["most_restrictive"] == "network"
    hook = (*program, "hook", "--manifest", "tools.json")
    outcomes = {
        ("read_file", "interactive"): 0,
        ("fetch_url", "dry_run"): 1,
        ("git_force_push", "interactive"): 2,
        ("git_force_push", "autonomous"): 1,
        ("unknown", "interactive"): 65,
    }
    for (tool, posture), status in outcomes.items():
        payload = json.dumps({"tool": tool, "arguments": {"b": 2, "a": 1}})
        first, second = (user.module(*hook, "--posture", posture, text=payload) for _ in range(2))
        assert (first.returncode, first.stdout) == (status, second.stdout), first.stderr
        if status < 3:
            assert len(json.loads(first.stdout)) == 8
    error = user.module(*hook, text="[]")
    assert (error.returncode, json.loads(error.stdout)["error"]) == (64, "HookError")
    assert user.module(*program, "version").returncode == 0
    assert user.module(*hook, "--posture", "none", text="{}").returncode == 2


@walks("S3-05", "S3-06", "S3-08", "S3-09")
def try_the_parts(user: User) -> None:
    """Import the six effects and the parts of each phase; the pipeline imports no clock, network or disk."""
    user.python("""
import ast, importlib, pathlib
from verdikt.effects import EffectClass, PRECEDENCE, most_restrictive
from verdikt.effects.declared import ToolCall, classify_declared, judge
from verdikt.effects.manifest import parse_manifest
from verdikt.errors import HookError, ManifestError, PostureError, VerdiktError
from verdikt.model.posture import Posture, move
from verdikt.model.spine import SpineReceipt
assert len(EffectClass) == 6 and len(PRECEDENCE) == 6
assert str(most_restrictive([EffectClass.READ, EffectClass.SPAWN])) == "spawn"
assert all(issubclass(error, VerdiktError) for error in (HookError, ManifestError, PostureError))
banned = {"os", "time", "random", "socket", "urllib", "http", "subprocess", "datetime", "uuid"}
for name in ("verdikt.effects.declared", "verdikt.effects.manifest", "verdikt.model.posture", "verdikt.model.spine"):
    tree = ast.parse(pathlib.Path(importlib.import_module(name).__file__).read_text())
    names = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    assert not names & banned, name
""")
