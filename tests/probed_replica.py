"""A replica that says at its end how long its event loop was held at most: `python -m tests.probed_replica --db …`."""

import asyncio
import json
import signal
import sys
import time

from verdikt.cli.serve import command


def main() -> None:
    """Serve as `verdikt serve` does, with every callback of the loop timed; print the longest one as JSON."""
    longest_seconds = longest_cpu_seconds = 0.0
    run = asyncio.Handle._run

    def run_timed(handle: asyncio.Handle) -> None:
        nonlocal longest_seconds, longest_cpu_seconds
        started_at, cpu_before = time.perf_counter(), time.thread_time()
        run(handle)
        longest_seconds = max(longest_seconds, time.perf_counter() - started_at)
        longest_cpu_seconds = max(longest_cpu_seconds, time.thread_time() - cpu_before)

    # Each callback and each step of a coroutine passes here, so none that blocks is missed.
    asyncio.Handle._run = run_timed  # type: ignore[method-assign]
    # The server ends in good order and then sends itself the signal again.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        command.main(sys.argv[1:], standalone_mode=False)
    finally:
        figures = {"longest_seconds": longest_seconds, "longest_cpu_seconds": longest_cpu_seconds}
        print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
