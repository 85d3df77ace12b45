"""A directory of wheels to install from without a network: ours, built now, and what it requires, packed again."""

import base64
import csv
import hashlib
import io
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from verdikt.model.distribution import DISTRIBUTION_NAME

ROOT = Path(__file__).parent.parent
SOURCES = ("pyproject.toml", "setup.py", "README.md", "LICENSE")
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def build_wheelhouse(directory: Path, *further: str) -> Path:
    """Fill a directory with our wheel, the wheels of everything that it requires, and those named; return ours."""
    source = directory / "source"
    source.mkdir(parents=True)
    for name in SOURCES:
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src/verdikt", source / "src/verdikt", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "wheel", "--no-deps"]
    command += ["--no-build-isolation", "--wheel-dir", str(directory), str(source)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (wheel,) = directory.glob("verdikt_runtime-*.whl")
    seen = {DISTRIBUTION_NAME}
    requirements = [*(metadata.requires(DISTRIBUTION_NAME) or ()), *further]
    for distribution in iter_requirements(requirements, seen):
        pack_wheel(distribution, directory)
    return wheel


def iter_requirements(requirements: list[str], seen: set[str]) -> Iterator[metadata.Distribution]:
    """Yield the installed distributions that these requirements need, without extras."""
    for requirement in requirements:
        match = _REQUIREMENT.match(requirement)
        name = re.sub(r"[-_.]+", "-", match[0]).lower() if match and "extra ==" not in requirement else ""
        if not name or name in seen:
            continue
        seen.add(name)
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # for another system, or another version of Python
        yield distribution
        yield from iter_requirements(list(distribution.requires or ()), seen)


def pack_wheel(distribution: metadata.Distribution, directory: Path) -> None:
    """Write the wheel that an installed distribution came from; scripts are made again from its entry points."""
    tags = re.findall(r"^Tag: (\S+)$", distribution.read_text("WHEEL") or "", re.MULTILINE)
    python, abi, _ = tags[0].split("-")
    platforms = ".".join(dict.fromkeys(tag.split("-")[2] for tag in tags))
    name = re.sub(r"[-_.]+", "_", distribution.metadata["Name"])
    target = directory / f"{name}-{distribution.version}-{python}-{abi}-{platforms}.whl"
    rows = []
    with zipfile.ZipFile(target, "w") as archive:
        record_name = ""
        for file in distribution.files or ():
            if ".." in file.parts or "__pycache__" in file.parts or file.is_absolute():
                continue
            # Only at the top: setuptools carries the metadata of other distributions inside.
            is_own_metadata = len(file.parts) == 2 and file.parts[0].endswith(".dist-info")
            if is_own_metadata and file.name in ("INSTALLER", "REQUESTED", "direct_url.json"):
                continue
            if is_own_metadata and file.name == "RECORD":
                record_name = str(file)
                continue
            data = Path(str(distribution.locate_file(file))).read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.append((str(file), f"sha256={digest}", str(len(data))))
            archive.writestr(str(file), data)
        record = io.StringIO()
        csv.writer(record, lineterminator="\n").writerows([*rows, (record_name, "", "")])
        archive.writestr(record_name, record.getvalue())
