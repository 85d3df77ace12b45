"""Replicas and PostgreSQL killed under load: nothing is lost, nothing is stored twice."""

import threading

from tests.postgres import run_postgres
from tests.team_load import Load, Replica, enrol_machines, find_differences, race_batches
from tests.unit.web.browser import ensure_vendor_files


def test_kills_of_replicas_and_of_the_database_lose_and_double_nothing() -> None:
    """Every line is stored once, byte for byte, whatever was killed while it was sent, and however often it came."""
    ensure_vendor_files()
    with run_postgres() as server:
        database = server.create_database()
        machines = enrol_machines(database, count=24, entries=300)
        replicas = [Replica(database) for _ in range(2)]
        for replica in replicas:
            replica.start()
        racing = enrol_machines(database, count=20, entries=60)
        posts = race_batches(replicas, racing, batch_lines=3)
        load = Load(replicas, machines, batch_lines=6)
        sending = threading.Thread(target=load.run, args=(6,))
        sending.start()
        kills = 0
        try:
            while sending.is_alive() and kills < 8:
                sending.join(1.0)
                if kills in (2, 5):
                    server.kill()
                    server.start()
                else:
                    replica = replicas[kills % 2]
                    replica.kill()
                    replica.start()
                kills += 1
            sending.join()
        finally:
            for replica in replicas:
                replica.kill()
        differences = find_differences(database, machines + racing)

    assert differences == []
    assert posts == 1200, "the same batch to two replicas at once"
    assert kills >= 6, "the load ended before the database was killed twice"
    assert load.failures > 0
