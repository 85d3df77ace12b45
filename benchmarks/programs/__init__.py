"""Programs that a benchmark starts in another environment; `make bench` does not run them by themselves."""
