"""The native client: its source, its build, and a Python script for where it cannot be built."""
