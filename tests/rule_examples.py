"""Examples of what each rule stops, and of similar calls that pass, taken from the case files.

`python -m tests.rule_examples` writes them into the package, where `verdikt rule` shows them.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path
from typing import Any

from tests.unit.effects.test_cases import decide, load_cases, load_policy
from verdikt.graph.layer_reader import PROFILE_NAMES

FILE = Path(__file__).parent.parent / "src/verdikt/profiles/examples.json"
MAX_STOPPED, MAX_PASSED, MAX_LENGTH = 3, 2, 90


def list_rule_names() -> set[str]:
    """Return every rule of every shipped profile."""
    return {rule.name for profile in PROFILE_NAMES for rule in load_policy(profile).rules}


def build_examples() -> dict[str, dict[str, list[str]]]:
    """Return rule → commands that it stops, and the nearest commands in the same file that pass."""
    by_family: dict[str, list[tuple[dict[str, Any], str, str]]] = defaultdict(list)
    for family, case in load_cases():
        # Only plain commands: a reader must see from the text alone what it does.
        is_alone = not {"files", "cwd", "guarded", "manifest", "branch"} & case.keys() and "alias" not in str(
            case["name"]
        )
        if "run" in case and is_alone and is_short(case["run"]):
            verdict = decide(case)[1]
            by_family[family].append((case, verdict.kind.word, verdict.guard))
    all_cases = [case for cases in by_family.values() for case in cases]
    examples: dict[str, dict[str, list[str]]] = {}
    for rule in sorted(list_rule_names()):
        stopped = {
            case["run"]: (cases, position)
            for cases in by_family.values()
            for position, (case, word, guard) in enumerate(cases)
            if guard == rule and word in ("ask", "block")
        }
        if stopped:
            shown = choose_examples(stopped)
            passed = dict.fromkeys(twin for text in shown for twin in find_twins(*stopped[text]))
            # Of rules whose own file has none: the nearest one of all files.
            passed = passed or dict.fromkeys(twin for text in shown for twin in find_twins(all_cases, 0, text))
            examples[rule] = {"stops": shown, "passes": list(passed)[:MAX_PASSED]}
    return examples


def is_short(text: str) -> bool:
    """Return whether a command fits on one line of the catalogue."""
    return 0 < len(text.strip()) <= MAX_LENGTH and "\n" not in text


def choose_examples(stopped: Iterable[str]) -> list[str]:
    """Return the shortest command of each program that the cases have most often, then other short ones."""
    by_length = sorted(stopped, key=lambda text: (is_unusual(text), len(text), text))
    counts = Counter(text.split()[0] for text in by_length)
    shortest = {text.split()[0]: text for text in reversed(by_length)}
    typical = [shortest[program] for program, _ in counts.most_common() if not is_unusual(shortest[program])]
    return list(dict.fromkeys((*typical, *by_length)))[:MAX_STOPPED]


def is_unusual(text: str) -> bool:
    """Return whether a command is spelt as tests spell it and people do not: odd blanks or capitals, options last."""
    words = text.split()
    has_options_last = len(words) > 2 and words[-1].startswith("-")
    return " ".join(words) != text or has_options_last or not re.fullmatch(r"[a-z][\w.-]*|>", words[0])


def find_twins(cases: list[tuple[dict[str, Any], str, str]], position: int, text: str = "") -> list[str]:
    """Return the command that passes and has the most leading words in common with the stopped one, if any has."""
    words = (text or cases[position][0]["run"]).split()
    ranked = sorted(
        (-count_common_words(words, case["run"].split()), abs(index - position), case["run"])
        for index, (case, kind, _) in enumerate(cases)
        if kind == "pass"
    )
    return [text for common, _, text in ranked[:1] if common]


def count_common_words(first: list[str], second: list[str]) -> int:
    """Return how many words two commands have in common at their beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


if __name__ == "__main__":
    FILE.write_text(json.dumps(build_examples(), indent=1, ensure_ascii=False) + "\n")
