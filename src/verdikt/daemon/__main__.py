"""Entry point of the warm process of one user: `python -I -m verdikt.daemon`."""

import os
import sys

from verdikt.daemon.lifecycle import run_daemon

if __name__ == "__main__":
    sys.exit(run_daemon(sys.argv[1:], dict(os.environ)))
