"""The folder of cases, and its reader."""

from pathlib import Path
from typing import Any

import yaml

CASE_FILES = Path(__file__).parent / "cases"

# The reader in C takes a tenth of the time, in every worker; a PyYAML without it reads the same.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(path: Path) -> Any:
    """Return what a YAML file of the tests says."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)
