"""`python -I -m verdikt.adapters.claude_hooks read|write|bash`: the hook of Claude Code, wired by hand."""

import sys

from verdikt.hosts.hook import main

if __name__ == "__main__":
    main(["claude", *sys.argv[1:]])
