"""A real MCP server with one shell tool, over stdio: `python -m tests.sdks.drivers.mcp_server DIRECTORY`."""

import sys

try:
    from mcp.server import MCPServer
except ImportError:  # mcp 1.x, which CrewAI needs
    from mcp.server.fastmcp import FastMCP as MCPServer

from tests.sdks.drivers.protocol import Scenario


def main(directory: str) -> None:
    """Serve until stdin ends; the tool only writes down that it ran."""
    scenario = Scenario(directory, steps=[])
    server = MCPServer("remote")

    @server.tool()
    def sh(command: str) -> str:
        """Run a command."""
        return scenario.run_command(command)

    server.run("stdio")


if __name__ == "__main__":
    main(sys.argv[1])
