"""The name under which verdikt is published, and the line that installs it, for messages."""

DISTRIBUTION_NAME = "verdikt-runtime"
"""The name at the package index. The package that is imported, and the command, are called `verdikt`."""

INSTALL_COMMAND = f"uv tool install {DISTRIBUTION_NAME}"
"""Installs the command into an environment of its own, outside of every project."""
