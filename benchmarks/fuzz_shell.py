"""Fuzz the shell analysis for a minute, seeded with the case files: it must never raise."""

import sys
import tempfile
from pathlib import Path

import yaml

SECONDS = 60
CASES = Path(__file__).parent.parent / "tests" / "cases"


def write_seeds(directory: Path) -> None:
    """Write one file for each text of the case files."""
    for path in sorted(CASES.glob("shell_*.yaml")):
        for number, case in enumerate(yaml.safe_load(path.read_text(encoding="utf-8"))):
            (directory / f"{path.stem}-{number}").write_bytes(case["run"].encode("utf-8", "replace"))


def main() -> None:
    """Run until the time is over or something raises."""
    # Not a dependency of the project, and it has to instrument the modules while they are imported.
    import atheris

    with atheris.instrument_imports(include=["verdikt.shell"]):
        from verdikt.shell.analysis import analyse

    def analyse_bytes(data: bytes) -> None:
        analyse(
            data.decode("utf-8", "surrogateescape"), home="/home/dev", cwd="/home/dev/project", read=lambda path: None
        )

    directory = tempfile.mkdtemp(prefix="fuzz_shell_")
    write_seeds(Path(directory))
    options = [f"-max_total_time={SECONDS}", "-max_len=4096", "-timeout=20", "-verbosity=0"]
    print(f"{SECONDS} seconds of random text", flush=True)
    atheris.Setup([sys.argv[0], directory, *options], analyse_bytes)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
