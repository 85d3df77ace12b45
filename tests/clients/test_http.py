"""Hooks that ask by http, wired by hand as `verdikt daemon hooks` prints them, on the client that has them."""

from collections.abc import Callable

from tests.clients.bench import Bench
from tests.clients.test_governed import ALLOWED, FORBIDDEN, POLICY, entries
from verdikt.hosts.live.model_api import ModelTurn
from verdikt.model.entry import EntryKind


def test_a_forbidden_command_does_not_run_by_http_either(bench: Callable[[str], Bench]) -> None:
    """Nor does any when nobody listens: the hook says `onFailure`, which this version knows."""
    table = bench("claude-2.1.325")
    (table.project / "governance.yaml").write_text(POLICY)
    assert table.verdikt("daemon", "start", "--http").returncode == 0
    settings = table.project / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text(table.verdikt("daemon", "hooks").stdout)
    token = {"VERDIKT_TOKEN": (table.data / "run/http.token").read_text().strip()}
    turns = (ModelTurn("no", (table.shell(FORBIDDEN),)), ModelTurn("yes", (table.shell(ALLOWED),)))
    played = table.play(*turns, ModelTurn("END"), ModelTurn("END"), env=token)

    assert not table.ran("forbidden"), played.run.stderr
    assert table.ran("allowed"), played.run.stderr
    assert played.heard("this file is forbidden")
    assert len(entries(table, EntryKind.DECISION)) == 2
    assert len(entries(table, EntryKind.TOOL_CALL)) == 1

    table.verdikt("daemon", "stop")
    (table.project / "allowed").unlink()
    table.play(ModelTurn("yes", (table.shell(ALLOWED),)), ModelTurn("END"), ModelTurn("END"), env=token)
    assert not table.ran("allowed")
