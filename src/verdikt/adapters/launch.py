"""The hook as a script: `python -I -S …/launch.py <host> [event]`. Runs from source at every call, so it says no more than this."""

import sys
from os.path import abspath

sys.path.append(abspath(__file__).rsplit("/", 3)[0])  # where this package lies; the working directory never is searched

from verdikt.adapters.entry import main

main()
