"""What the commands of a call ran, and what their output reports: programs, checks, counts of tests."""
