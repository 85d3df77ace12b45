"""What happened in a turn, as recorded facts: calls, net changes of files, tests, git."""
