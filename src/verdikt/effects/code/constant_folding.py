"""Fold the constants of a script: names, joined strings, loops over lists and decoders of constants.

There is no grammar: a name counts as bound from where a constant is assigned to it, until something else is.
"""

import re
from collections.abc import Mapping

from verdikt.effects.code import script_patterns, script_syntax
from verdikt.effects.code.script_expressions import ScriptExpressions
from verdikt.effects.code.string_normalization import find_constant_arguments, inline_table_values, quote_string
from verdikt.shell.command import UNKNOWN

_MAX_SCRIPT = 40_000
"""Maximum length of the part whose constants are folded."""
_MAX_TURNS = 8
"""How many values of a loop are tried, each in a copy of the script."""


def fold_constants(language: str, text: str, values: Mapping[str, str]) -> str:
    """Return the same script with a string in the place of every expression whose value is known.

    `values` are those of names that the script does not assign.

    Where a name stands for several values in turn, copies of the script follow, one for each further value.
    """
    if language == "node":
        text = _qualify_modules(text)
    head = script_syntax.LEAVING_OUT.sub("", inline_table_values(text[:_MAX_SCRIPT]))
    folded, turns = _fold_turn(language, head, 0, values)
    copies = [folded]
    for turn in range(1, min(turns, _MAX_TURNS)):
        if len(head) * (turn + 1) > _MAX_SCRIPT:
            break
        copies.append(_fold_turn(language, head, turn, values)[0])
    return ";\n".join(dict.fromkeys(copies)) + text[_MAX_SCRIPT:]


def read_constants(
    language: str, text: str, values: Mapping[str, str]
) -> tuple[Mapping[str, str], Mapping[str, list[str]]]:
    """Return the values of the names of a script at its end: strings, and lists of strings."""
    text = _qualify_modules(text) if language == "node" else text
    script = _ConstantFolder(language, text[:_MAX_SCRIPT], 0, values)
    script.fold_script()
    return script.bound_values


def _fold_turn(language: str, text: str, turn: int, values: Mapping[str, str]) -> tuple[str, int]:
    """Return the script as it is in one turn of its loops, and how many turns there are."""
    script = _ConstantFolder(language, text, turn, values)
    folded = script.fold_script()
    arguments = find_constant_arguments(language, folded)
    turns = max([script.turns, *map(len, arguments.values())])
    # A second pass sees calls whose name the first one revealed, and parameters whose value it made constant.
    if script.has_renamed_call or arguments:
        given = {name: _pick_value(texts, turn) for name, texts in arguments.items()}
        folded = _ConstantFolder(language, folded, turn, {**values, **given}).fold_script()
    return folded, turns


def _qualify_modules(text: str) -> str:
    """Write the modules of Node by their own names, and `path.join(` for `join(` that was taken out of one."""
    for match in script_syntax.MODULE_ALIAS.finditer(text[:_MAX_SCRIPT]):
        alias, module = (match[1] or match[3]), (match[2] or match[4]).partition("/")[0]
        if alias != module:
            text = re.sub(rf"(?<![\w.$]){re.escape(alias)}\.(?=\w)", f"{module}.", text)
    for match in script_patterns.PATH_IMPORT.finditer(text[:_MAX_SCRIPT]):
        names = [name for name in re.findall(r"\w+", match[1]) if name in ("join", "resolve", "normalize")]
        for name in names:
            text = re.sub(rf"(?<![\w.$]){name}\(", f"path.{name}(", text)
    return _name_module_place(text) if "import.meta" in text else text


def _name_module_place(text: str) -> str:
    """Return a module of JavaScript with `__dirname` and `__filename` in place of `import.meta`."""
    text = script_syntax.MODULE_ADDRESS.sub(r"path.join(__dirname, \1)", text)
    for address, name in script_syntax.MODULE_PLACES:
        text = text.replace(address, name)
    return text.replace("fileURLToPath(", "path.join(")


class _ConstantFolder(ScriptExpressions):
    """Folds one script, from its beginning to its end, as it is in one turn of its loops."""

    def __init__(self, language: str, text: str, turn: int, initial_values: Mapping[str, str]) -> None:
        super().__init__(language, text, initial_values)
        self._turn = turn
        self._extra_statements: list[str] = []
        self.turns = 1
        """The length of the longest list that a name stands for in turn."""
        self.has_renamed_call = False
        self._function_aliases: dict[str, str] = {
            alias[2]: alias[1]
            for match in script_syntax.REQUIRE_ALIAS.finditer(self._text)
            for alias in script_syntax.RENAMED_IMPORT.finditer(match[0])
        }
        self._classes = frozenset(script_syntax.CLASS.findall(self._text))

    @property
    def bound_values(self) -> tuple[Mapping[str, str], Mapping[str, list[str]]]:
        """The strings and the lists that names stand for."""
        return self._values, self._lists

    def fold_script(self) -> str:
        """Return the script with its constants folded."""
        text, position, out = self._text, 0, []
        # `unlink for glob("x")`: the loop that binds `$_` stands after its use.
        if (
            self._joins_with_dot
            and (loop := script_syntax.POSTFIX_LOOP.search(text))
            and (items := self._parse_list(loop.end(), 0)[0])
        ):
            self._values["$_"] = self._pick_item(items)
        while position < len(text):
            self._bind_loop_variable(position)
            value, end, goes_on = self._parse_expression(position)
            if value is not None:
                original = text[position:end]
                out.append(original if _is_unchanged(original, value) else self._render_value(value, end))
                if goes_on:
                    out.append(text[end : (end := self._skip_join(end))])
                position = end
                continue
            if text[position] in "[%m":
                items, end = self._parse_mapped_list(position)
                if items:
                    out.append(", ".join(map(quote_string, items)))
                    position = end
                    continue
            name = script_syntax.NAME.match(text, position)
            if name is None:
                other = script_syntax.OTHER_TEXT.match(text, position)
                end = other.end() if other else position + 1
                out.append(text[position:end])
                position = end
                continue
            piece, position = self._fold_name(name[0], name.end())
            out.append(piece)
        whole = script_syntax.COMPUTED_MEMBER.sub(r".\2", ";\n".join(["".join(out), *self._extra_statements]))
        return script_syntax.DYNAMIC_SEND.sub(r".\1(", whole)

    def _render_value(self, value: str, end: int) -> str:
        """Return a value as it stands in the script; one that is called is the name of a function."""
        if value.isidentifier() and self._text[end : end + 1] == "(":
            self.has_renamed_call = True
            return value
        return quote_string(value)

    def _skip_join(self, end: int) -> int:
        operator = script_syntax.JOIN_OPERATOR[self._joins_with_dot].match(self._text, end)
        return operator.end() if operator else end

    def _fold_name(self, name: str, end: int) -> tuple[str, int]:
        """Return the text for a name without a known value, and where it ends; record an assignment to it."""
        text = self._text
        field = script_syntax.FIELD.match(text, end)
        if match := script_syntax.ASSIGNMENT.match(text, field.end() if field else end):
            self._assign_name(f"{name}.{field[1]}" if field else name, match.end())
            return text[end - len(name) : match.end()], match.end()
        if (match := script_syntax.APPEND_ASSIGNMENT.match(text, end)) and name in self._values:
            value, _, goes_on = self._parse_expression(match.end())
            self._values[name] += UNKNOWN if value is None else value + (UNKNOWN if goes_on else "")
            return text[end - len(name) : match.end()], match.end()
        if name in self._lists and text[end : end + 1] not in ("[", "."):
            return ", ".join(map(quote_string, self._lists[name])), end
        if name in self._function_aliases and text[end : end + 1] in ("(", " "):
            return self._function_aliases[name], end
        member = (script_syntax.SIGIL_MEMBER if self._joins_with_dot else script_syntax.MEMBER).match(text, end)
        stop = member.end() if member else end
        return text[end - len(name) : stop], stop

    def _assign_name(self, name: str, start: int) -> None:
        value, _, goes_on = self._parse_expression(start)
        # From here on the name stands for something else, known or not.
        self._values.pop(name, None)
        self._lists.pop(name, None)
        if value is not None:
            self._values[name] = value + (UNKNOWN if goes_on else "")
        elif alias := script_syntax.FUNCTION_ALIAS.match(self._text, start):
            self._function_aliases[name] = alias[1]
        elif items := self._parse_list(start, 0)[0]:
            self._lists[name] = items
        elif choices := self._list_choices(start):
            self._values[name] = self._pick_item(choices)
        elif record := script_syntax.RECORD.match(self._text, start):
            for key, text in self._parse_fields(record.end()):
                self._values[f"{name}.{key}"] = text

    def _list_choices(self, start: int) -> list[str]:
        """Return the constants that a condition chooses from: `x ? "a" : "b"`, `x ?? "a"`, `x || "a"`."""
        if self._text[start : start + 1] in ("{", "[", "("):
            return []
        statement = script_syntax.STATEMENT.match(self._text, start)
        ends = [match.end() for match in script_syntax.CHOICE.finditer(statement[0])] if statement else []
        values = [self._parse_expression(start + end, 1)[0] for end in ends]
        return [value for value in values if value]

    # Loops: a name that stands for several values in turn.

    def _pick_item(self, items: list[str]) -> str:
        """Return the item that a name stands for in this turn."""
        self.turns = max(self.turns, len(set(items)))
        return _pick_value(items, self._turn)

    def _bind_loop_variable(self, position: int) -> None:
        """Bind the variable of a loop that begins here to the riskiest value it goes through."""
        text = self._text
        if text.startswith("for", position):
            self._bind_for_loop(position)
            return
        # Not inside a name, and not after a dot.
        inside = position > 0 and (text[position - 1].isalnum() or text[position - 1] in "_.")
        if not inside and (text[position] in "[%(DFPg" or text[position].isalpha()):
            self._bind_each_call(position)

    def _bind_for_loop(self, position: int) -> None:
        text = self._text
        for pattern in script_syntax.LOOPS:
            if (loop := pattern.match(text, position)) and (items := self._parse_list(loop.end(), 0)[0]):
                self._values[loop["name"]] = self._pick_item(items)
                return
        if (
            self._joins_with_dot
            and (loop := script_syntax.TOPIC_LOOP.match(text, position))
            and (items := self._parse_list(loop.end(), 0)[0])
        ):
            self._values["$_"] = self._pick_item(items)
        elif (loop := script_syntax.FOREACH.match(text, position)) is not None:
            items, end = self._parse_list(loop.end(), 0)
            if items and (variable := script_syntax.FOREACH_VARIABLE.match(text, end)):
                self._values[variable["name"]] = self._pick_item(items)

    def _bind_each_call(self, position: int) -> None:
        """Bind the block parameter of `[…].each { |x| … }`; `[…].each(&:delete)` becomes a statement of its own."""
        text = self._text
        items, end = self._parse_list(position, 0)
        if not items:
            return
        if method := script_syntax.SYMBOL_TO_PROC.match(text, end):
            self._extra_statements.append(f"{method[1] or method[2]}({quote_string(self._pick_item(items))})")
        elif block := script_syntax.EACH_CALL.match(text, end) or script_syntax.BLOCK_PARAMETER.match(text, end):
            groups = block.groupdict()
            self._values[groups.get("arrow") or groups["block"]] = self._pick_item(items)


def _pick_value(texts: list[str], turn: int) -> str:
    """Return the text of a turn: first the one that lies outside the project, if any does, then all in order."""
    risky = next((text for text in texts if text[:1] in ("/", "~") or text.startswith("..")), texts[0])
    return [risky, *(text for text in texts if text != risky)][turn if turn < len(set(texts)) else 0]


def _is_unchanged(text: str, value: str) -> bool:
    return text[:1] in "\"'`" and text[1:-1] == value
