"""Write the hooks of the Claude Code plugin: `python -m tools.build_plugin`.

They are those that `verdikt init --scope project` writes: the same on every machine.
"""

import json
from pathlib import Path

from verdikt.hosts.registry import load_wiring
from verdikt.hosts.wiring.portable_registration import PortableRegistration

HOOKS_FILE = Path(__file__).parent.parent / ".claude-plugin" / "hooks.json"


def render_hooks() -> str:
    """Return the content of the file."""
    entries = load_wiring("claude").build_entries(PortableRegistration())
    return json.dumps({"hooks": {event: [entry] for event, entry in entries.items()}}, indent=2) + "\n"


if __name__ == "__main__":
    HOOKS_FILE.write_text(render_hooks())
