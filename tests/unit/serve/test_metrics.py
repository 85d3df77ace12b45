"""Counters for Prometheus."""

from verdikt.serve.metrics import COUNTERS, GAUGES, Metrics


def test_a_large_counter_keeps_every_digit() -> None:
    """A rate is the difference of two large numbers: a rounded one stands still, and then jumps."""
    metrics = Metrics()
    metrics.count("verdikt_entries_received_total", 12_345_678)
    metrics.count("verdikt_entries_received_total")
    metrics.count("verdikt_request_seconds_total", 1_234_567.25, route="/")

    lines = metrics.render({}).splitlines()

    assert "verdikt_entries_received_total 12345679" in lines
    assert 'verdikt_request_seconds_total{route="/"} 1234567.25' in lines


def test_each_metric_says_what_it_is() -> None:
    """Each has its help and its type, once, before its values."""
    metrics = Metrics()
    for name in COUNTERS:
        metrics.count(name, kind="a")
        metrics.count(name, kind='b "quoted"\n')

    lines = metrics.render(dict.fromkeys(GAUGES, 2)).splitlines()

    for name, text in (COUNTERS | GAUGES).items():
        help_at = lines.index(f"# HELP {name} {text}")
        assert lines[help_at + 1] == f"# TYPE {name} {'counter' if name in COUNTERS else 'gauge'}"
        assert lines[help_at + 2].startswith(name)
    assert r'verdikt_jobs_total{kind="b \"quoted\"\n"} 1' in lines
