"""Http hooks, wired by hand as `verdikt daemon hooks` prints them, on the client that has them."""

from collections.abc import Callable

from tests.clients.bench import Bench
from tests.clients.test_governed import ALLOWED, FORBIDDEN, POLICY, read_entries
from verdikt.hosts.live.model_api import ModelTurn
from verdikt.model.entry import EntryKind


def test_a_forbidden_command_with_http_hooks_does_not_run(create_bench: Callable[[str], Bench]) -> None:
    """When nothing listens at the address, no command runs: the hook has `onFailure`, which this version knows."""
    bench = create_bench("claude-2.1.325")
    (bench.project / "governance.yaml").write_text(POLICY)
    assert bench.run_verdikt("daemon", "start", "--http").returncode == 0
    settings = bench.project / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text(bench.run_verdikt("daemon", "hooks").stdout)
    token = {"VERDIKT_TOKEN": (bench.data / "run/http.token").read_text().strip()}
    turns = (ModelTurn("no", (bench.shell(FORBIDDEN),)), ModelTurn("yes", (bench.shell(ALLOWED),)))
    session = bench.play(*turns, ModelTurn("END"), ModelTurn("END"), env=token)

    assert not bench.has_file("forbidden"), session.run.stderr
    assert bench.has_file("allowed"), session.run.stderr
    assert session.has_received("this file is forbidden")
    assert len(read_entries(bench, EntryKind.DECISION)) == 2
    assert len(read_entries(bench, EntryKind.TOOL_CALL)) == 1

    bench.run_verdikt("daemon", "stop")
    (bench.project / "allowed").unlink()
    bench.play(ModelTurn("yes", (bench.shell(ALLOWED),)), ModelTurn("END"), ModelTurn("END"), env=token)
    assert not bench.has_file("allowed")
