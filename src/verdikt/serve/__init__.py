"""The team service: its store, its HTTP interface and its command. Needs the extra `team`."""
