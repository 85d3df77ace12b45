"""Adding exceptions to the text of a policy file, with its comments and its order left as they are."""

import json
import re
from collections.abc import Sequence

from verdikt.errors import PolicyError
from verdikt.graph.rule_exception import RuleException

_BLOCK_KEY = re.compile(r"^exceptions:[ \t]*(?:\[[ \t]*\][ \t]*)?(?:#.*)?$", re.MULTILINE)
_ANY_KEY = re.compile(r"^exceptions[ \t]*:", re.MULTILINE)
_FIRST_ITEM = re.compile(r"\n(?:[ \t]*(?:#.*)?\n)*(?P<indent>[ \t]*)- ")


def add_exceptions(text: str, exceptions: Sequence[RuleException]) -> str:
    """Return the policy file with exceptions added at the beginning of its list, or with a list of its own."""
    block = _BLOCK_KEY.search(text)
    if block is None and _ANY_KEY.search(text):
        # Rewriting a list in brackets could lose comments in it.
        raise PolicyError("`exceptions`: expected a list with one `- rule: …` a line, found one in brackets")
    if block is None:
        separator = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{separator}exceptions:\n{_render_items(exceptions, '  ')}"
    rest = text[block.end() :]
    first_item = _FIRST_ITEM.match(rest)
    items = _render_items(exceptions, first_item["indent"] if first_item else "  ")
    return f"{text[: block.start()]}exceptions:\n{items}" + rest.removeprefix("\n")


def _render_items(exceptions: Sequence[RuleException], indent: str) -> str:
    lines = []
    for exception in exceptions:
        # JSON texts are YAML texts, whatever characters a command holds.
        fields = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in exception.dump().items()]
        lines += [f"{indent}- {fields[0]}", *(f"{indent}  {field}" for field in fields[1:])]
    return "\n".join(lines) + "\n"
