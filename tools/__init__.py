"""Scripts for people who work on verdikt; nothing here is installed."""
