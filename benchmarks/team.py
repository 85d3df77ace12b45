"""The team service under load, in one run on this machine: `python benchmarks/team.py [--machines N] [--entries N]`.

PostgreSQL, two replicas and the simulated machines share the cores. Every machine has a key and a chain of its own,
every request is signed, two in a hundred batches are deliberate repeats. Printed are the rate, the time from the first
attempt to the acknowledgement, and the service's CPU time per entry; at the end the database is compared with what was
sent.
"""

import argparse
import statistics
import sys

from tests.postgres import run_postgres
from tests.team_load import Load, Replica, enrol_machines, find_differences

MIN_ENTRIES_PER_SECOND = 4000
MAX_P99_SECONDS = 0.25
MAX_CPU_MICROSECONDS = 150


def main() -> int:
    """Run the load and print the verdict; the exit status is 1 when something was lost, doubled or changed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", type=int, default=2000)
    parser.add_argument("--entries", type=int, default=50)
    parser.add_argument("--workers", type=int, default=16)
    options = parser.parse_args()
    with run_postgres() as server:
        database = server.create_database()
        machines = enrol_machines(database, options.machines, options.entries)
        replicas = [Replica(database) for _ in range(2)]
        for replica in replicas:
            replica.start()
        cpu_before = sum(replica.read_cpu_seconds() for replica in replicas)
        load = Load(replicas, machines, batch_lines=25)
        seconds = load.run(options.workers)
        cpu_seconds = sum(replica.read_cpu_seconds() for replica in replicas) - cpu_before
        for replica in replicas:
            replica.stop()
        differences = find_differences(database, machines)
    total = options.machines * options.entries
    quantiles = statistics.quantiles(load.seconds, n=100)
    print(
        f"{total:,} entries of {options.machines:,} machines, {len(load.seconds):,} requests, {load.failures} repeated"
    )
    _print_bar("entries per second", total / seconds, MIN_ENTRIES_PER_SECOND, is_minimum=True)
    print(f"{'p50, ms':<28}{quantiles[49] * 1000:>10.1f}")
    _print_bar("p99, ms", quantiles[98] * 1000, MAX_P99_SECONDS * 1000)
    _print_bar("service CPU per entry, µs", cpu_seconds / total * 1e6, MAX_CPU_MICROSECONDS)
    print("stored once, byte for byte" if not differences else f"DIFFERENT: {'; '.join(differences[:5])}")
    return 1 if differences else 0


def _print_bar(name: str, value: float, bar: float, *, is_minimum: bool = False) -> None:
    holds = value >= bar if is_minimum else value <= bar
    print(f"{name:<28}{value:>10.1f}   bar {bar:g}: {'ok' if holds else 'MISSED'}")


if __name__ == "__main__":
    sys.exit(main())
