"""Fold the constants of a script: names, joined strings, loops over lists and decoders of constants.

There is no grammar: a name counts as bound from where a constant is assigned to it, until something else is.
"""

import re

from verdikt.effects.code import script_patterns
from verdikt.effects.code.decoder import apply_method, evaluate_decoder
from verdikt.effects.code.string_normalization import (
    find_constant_arguments,
    inline_table_values,
    normalize_strings,
    quote_string,
)
from verdikt.shell.command import UNKNOWN

_MAX_STRING = 20_000
_MAX_STEPS = 25_000
"""Maximum number of positions at which an expression is tried, so that the time is bounded."""
_MAX_SCRIPT = 40_000
"""Maximum length of the part whose constants are folded."""
_MAX_DEPTH = 12
_MAX_ITEMS = 64


def fold_constants(language: str, text: str) -> str:
    """Return the same script with a string in the place of every expression whose value is known."""
    if language == "node":
        text = _qualify_path_functions(text)
    script = _ConstantFolder(language, inline_table_values(text[:_MAX_SCRIPT]))
    folded = script.fold_script()
    arguments = find_constant_arguments(language, folded)
    # A second pass sees calls whose name the first one revealed, and parameters whose value it made constant.
    if script.has_renamed_call or arguments:
        folded = _ConstantFolder(language, folded, arguments).fold_script()
    return folded + text[_MAX_SCRIPT:]


def _qualify_path_functions(text: str) -> str:
    """Write `path.join(` for `join(` where the name was taken out of the module for paths."""
    for match in script_patterns.PATH_IMPORT.finditer(text[:_MAX_SCRIPT]):
        names = [name for name in re.findall(r"\w+", match[1]) if name in ("join", "resolve", "normalize")]
        for name in names:
            text = re.sub(rf"(?<![\w.$]){name}\(", f"path.{name}(", text)
    return text


class _ConstantFolder:
    """Folds one script, from its beginning to its end."""

    def __init__(self, language: str, text: str, initial_values: dict[str, str] | None = None) -> None:
        self._language = language
        self._joins_with_dot = language in script_patterns.DOT_JOIN_LANGUAGES
        text = normalize_strings(language, text)
        self._text = text
        self._values: dict[str, str] = dict(initial_values or {})
        self._lists: dict[str, list[str]] = {}
        self._extra_statements: list[str] = []
        self._steps_left = _MAX_STEPS
        self.has_renamed_call = False
        self._function_aliases: dict[str, str] = {
            match[2]: match[1] for match in script_patterns.REQUIRE_ALIAS.finditer(text)
        }

    def fold_script(self) -> str:
        """Return the script with its constants folded."""
        text, position, out = self._text, 0, []
        # `unlink for glob("x")`: the loop that binds `$_` stands after its use.
        if (
            self._joins_with_dot
            and (loop := script_patterns.POSTFIX_LOOP.search(text))
            and (items := self._parse_list(loop.end(), 0)[0])
        ):
            self._values["$_"] = _pick_riskiest(items)
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
            name = script_patterns.NAME.match(text, position)
            if name is None:
                other = script_patterns.OTHER_TEXT.match(text, position)
                end = other.end() if other else position + 1
                out.append(text[position:end])
                position = end
                continue
            piece, position = self._fold_name(name[0], name.end())
            out.append(piece)
        whole = script_patterns.COMPUTED_MEMBER.sub(r".\2", ";\n".join(["".join(out), *self._extra_statements]))
        return script_patterns.DYNAMIC_SEND.sub(r".\1(", whole)

    def _render_value(self, value: str, end: int) -> str:
        """Return a value as it stands in the script; one that is called is the name of a function."""
        if value.isidentifier() and self._text[end : end + 1] == "(":
            self.has_renamed_call = True
            return value
        return quote_string(value)

    def _skip_join(self, end: int) -> int:
        operator = script_patterns.JOIN_OPERATOR[self._joins_with_dot].match(self._text, end)
        return operator.end() if operator else end

    def _fold_name(self, name: str, end: int) -> tuple[str, int]:
        """Return the text for a name without a known value, and where it ends; record an assignment to it."""
        text = self._text
        if match := script_patterns.ASSIGNMENT.match(text, end):
            self._assign_name(name, match.end())
            return text[end - len(name) : match.end()], match.end()
        if (match := script_patterns.APPEND_ASSIGNMENT.match(text, end)) and name in self._values:
            value, _, goes_on = self._parse_expression(match.end())
            self._values[name] += UNKNOWN if value is None else value + (UNKNOWN if goes_on else "")
            return text[end - len(name) : match.end()], match.end()
        if name in self._lists and text[end : end + 1] not in ("[", "."):
            return ", ".join(map(quote_string, self._lists[name])), end
        if name in self._function_aliases and text[end : end + 1] in ("(", " "):
            return self._function_aliases[name], end
        member = (script_patterns.SIGIL_MEMBER if self._joins_with_dot else script_patterns.MEMBER).match(text, end)
        stop = member.end() if member else end
        return text[end - len(name) : stop], stop

    def _assign_name(self, name: str, start: int) -> None:
        value, _, goes_on = self._parse_expression(start)
        # From here on the name stands for something else, known or not.
        self._values.pop(name, None)
        self._lists.pop(name, None)
        if value is not None:
            self._values[name] = value + (UNKNOWN if goes_on else "")
        elif alias := script_patterns.FUNCTION_ALIAS.match(self._text, start):
            self._function_aliases[name] = alias[1]
        elif items := self._parse_list(start, 0)[0]:
            self._lists[name] = items

    # Loops: a name that stands for several values in turn.

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
        for pattern in script_patterns.LOOPS:
            if (loop := pattern.match(text, position)) and (items := self._parse_list(loop.end(), 0)[0]):
                self._values[loop["name"]] = _pick_riskiest(items)
                return
        if (
            self._joins_with_dot
            and (loop := script_patterns.TOPIC_LOOP.match(text, position))
            and (items := self._parse_list(loop.end(), 0)[0])
        ):
            self._values["$_"] = _pick_riskiest(items)
        elif (loop := script_patterns.FOREACH.match(text, position)) is not None:
            items, end = self._parse_list(loop.end(), 0)
            if items and (variable := script_patterns.FOREACH_VARIABLE.match(text, end)):
                self._values[variable["name"]] = _pick_riskiest(items)

    def _bind_each_call(self, position: int) -> None:
        """Bind the block parameter of `[…].each { |x| … }`; `[…].each(&:delete)` becomes a statement of its own."""
        text = self._text
        items, end = self._parse_list(position, 0)
        if not items:
            return
        if method := script_patterns.SYMBOL_TO_PROC.match(text, end):
            self._extra_statements.append(f"{method[1] or method[2]}({quote_string(_pick_riskiest(items))})")
        elif block := script_patterns.EACH_CALL.match(text, end) or script_patterns.BLOCK_PARAMETER.match(text, end):
            groups = block.groupdict()
            self._values[groups.get("arrow") or groups["block"]] = _pick_riskiest(items)

    def _parse_list(self, position: int, depth: int) -> tuple[list[str], int]:
        """Return the elements of a list of constants or a file pattern, and where it ends; empty for anything else."""
        text = self._text
        if match := script_patterns.WORD_LIST.match(text, position):
            return next((g for g in match.groups() if g is not None), "").split(), match.end()
        if match := script_patterns.GLOB_CALL.match(text, position):
            value, end, _ = self._parse_expression(match.end(), depth + 1)
            return ([value], end + 1) if value is not None else ([], position)
        if match := script_patterns.DIRECTORY_LISTING.match(text, position):
            value, end, _ = self._parse_expression(match.end(), depth + 1)
            if value is None:
                return [], position
            names = match[0].rstrip("( \t").endswith(script_patterns.BARE_NAME_LISTINGS)
            # Options may stand before the closing parenthesis, so it is searched for nearby.
            close = text.find(")", end)
            return [UNKNOWN if names else f"{value.rstrip('/')}/*"], close + 1 if 0 <= close < end + 80 else end
        if self._joins_with_dot and (match := script_patterns.ANGLE_GLOB.match(text, position)):
            return [self._interpolate_string(match[1], '"')], match.end()
        if (name := script_patterns.NAME.match(text, position)) and name[0] in self._lists:
            return self._lists[name[0]], name.end()
        if text[position : position + 1] in ("[", "(", "{"):
            return self._parse_elements(position + 1, depth)
        if text.startswith("array(", position):
            return self._parse_elements(position + 6, depth)
        return [], position

    def _parse_elements(self, position: int, depth: int) -> tuple[list[str], int]:
        items: list[str] = []
        while len(items) < _MAX_ITEMS:
            position = _skip_space(self._text, position)
            value, end, goes_on = self._parse_expression(position, depth + 1)
            if value is None:
                inner, end = self._parse_list(position, depth + 1) if depth < 3 else ([], position)
                if not inner:
                    return [], position
                items += inner
            else:
                items.append(value + (UNKNOWN if goes_on else ""))
            end = _skip_space(self._text, end)
            mark = self._text[end : end + 1]
            if mark != ",":
                return (items, end + 1) if mark in ("]", ")", "}") and mark else ([], end)
            position = end + 1
        return [], position

    # Expressions.

    def _parse_expression(self, position: int, depth: int = 0) -> tuple[str | None, int, bool]:
        """Return the string that begins here, where it ends, and whether something unknown is joined to it."""
        if depth > _MAX_DEPTH:
            return None, position, False
        value, end = self._parse_term(position, depth)
        if value is None:
            return None, position, False
        while len(value) < _MAX_STRING and (
            match := script_patterns.JOIN_OPERATOR[self._joins_with_dot].match(self._text, end)
        ):
            more, stop = self._parse_term(match.end(), depth + 1)
            if more is None:
                return value, end, match.end() < len(self._text)
            value, end = value + more, stop
        return value, end, False

    def _parse_term(self, position: int, depth: int) -> tuple[str | None, int]:
        text = self._text
        self._steps_left -= 1
        if depth > _MAX_DEPTH or position >= len(text) or self._steps_left < 0:
            return None, position
        value, end = self._parse_atom(position, depth)
        while value is not None and (result := apply_method(text, end, value)) is not None:
            value, end = result
        return value, end

    def _parse_atom(self, position: int, depth: int) -> tuple[str | None, int]:
        text = self._text
        before = text[position - 1 : position]
        if text[position] in "\"'`":
            return self._parse_string(position, before)
        is_member = before == "." and not self._joins_with_dot and text[position - 2 : position] != ".."
        if before.isalnum() or before in ("_", "$") or is_member:
            return None, position
        if (result := self._evaluate_call(position, depth)) is not None:
            return result
        name = script_patterns.NAME.match(text, position)
        if name and name[0] in self._values and not _is_assignment_target(text, name.end()):
            return self._values[name[0]], name.end()
        return self._parse_parentheses(position, depth) if text[position] == "(" else (None, position)

    def _parse_string(self, position: int, before: str) -> tuple[str | None, int]:
        quote = self._text[position]
        string = script_patterns.STRING.match(self._text, position)
        # After a letter, `'` is an apostrophe or a Lisp quote.
        if string is None or (before.isalnum() and quote == "'"):
            return None, position
        return self._interpolate_string(string[0][1:-1], quote), string.end()

    def _parse_parentheses(self, position: int, depth: int) -> tuple[str | None, int]:
        text = self._text
        value, end, goes_on = self._parse_expression(position + 1, depth + 1)
        closed = value is not None and not goes_on and text[end : end + 1] == ")"
        # At the top level the parentheses are those of a call, unless a method follows.
        if closed and (depth or apply_method(text, end + 1, value or "") is not None):
            return value, end + 1
        return None, position

    def _evaluate_call(self, position: int, depth: int) -> tuple[str, int] | None:
        """Return the known result of a call, and where it ends: a directory, a path, a pattern, a join, a decoder."""
        text = self._text
        if match := script_patterns.HOME_DIRECTORY.match(text, position):
            return "~", match.end()
        if match := script_patterns.CURRENT_DIRECTORY.match(text, position):
            return ".", match.end()
        if match := script_patterns.TEMPORARY_DIRECTORY.match(text, position):
            open_end = match[0].endswith("(")
            return "/tmp/made-by-script", _skip_argument(text, match.end()) + 1 if open_end else match.end()
        if match := script_patterns.PATH_JOIN.match(text, position):
            items, end = self._parse_arguments(match.end(), depth)
            if items and items[0] != UNKNOWN:
                # Ruby's `File.expand_path(path, base)` takes the base second.
                if "expand_path" in match[0] and len(items) > 1:
                    items = [items[1], items[0]]
                return _join_path(items), end
            return None
        if (listed := script_patterns.GLOB_CALL.match(text, position)) and (
            text[position - 1 : position] != "." or self._joins_with_dot
        ):
            value, end, _ = self._parse_expression(listed.end(), depth + 1)
            if value is not None and text[end : end + 1] in (")", "]"):
                return value, end + 1
        if (joined := self._evaluate_join(position, depth)) is not None:
            return joined
        return evaluate_decoder(text, position, lambda at: self._parse_arguments(at, depth))

    def _evaluate_join(self, position: int, depth: int) -> tuple[str, int] | None:
        """Return the result of joining a list: `table.concat(t, " ")`, `implode(" ", $t)`, `words.join(" ")`."""
        text = self._text
        if match := script_patterns.TABLE_CONCAT.match(text, position):
            items, end = self._parse_list(match.end(), depth + 1)
            comma = script_patterns.COMMA.match(text, end)
            by, end = self._parse_term(comma.end(), depth + 1) if items and comma else ("", end)
        elif match := script_patterns.IMPLODE_CALL.match(text, position):
            by, end = self._parse_term(match.end(), depth + 1)
            comma = script_patterns.COMMA.match(text, end)
            items, end = self._parse_list(comma.end(), depth + 1) if by is not None and comma else ([], end)
        elif (name := script_patterns.NAME.match(text, position)) and name[0] in self._lists:
            if (match := script_patterns.JOIN_METHOD.match(text, name.end())) is None:
                return None
            by, end = self._parse_term(match.end(), depth + 1)
            items = self._lists[name[0]]
        else:
            return None
        if not items or by is None or text[end : end + 1] != ")":
            return None
        return by.join(items), end + 1

    def _parse_arguments(self, position: int, depth: int) -> tuple[list[str], int]:
        """Return the arguments of a call, with `UNKNOWN` for what is not constant, and where they end."""
        text, arguments = self._text, list[str]()
        while len(arguments) < _MAX_ITEMS:
            position = _skip_space(text, position)
            if text[position : position + 1] == ")":
                return arguments, position + 1
            value, end, goes_on = self._parse_expression(position, depth + 1)
            if value is None and (number := script_patterns.NUMBER.match(text, position)):
                value, end = number[0], number.end()
            arguments.append(UNKNOWN if value is None else value + (UNKNOWN if goes_on else ""))
            if value is None or goes_on:
                self._steps_left -= 10  # skipping an argument costs about as much as ten attempts
                end = _skip_argument(text, end)
            else:
                end = _skip_space(text, end)
            mark = text[end : end + 1]
            if mark != ",":
                return (arguments, end + 1) if mark == ")" else ([], end)
            position = end + 1
        return [], position

    def _interpolate_string(self, body: str, quote: str) -> str:
        """Return the body of a string with known names put in, and escapes that hide letters decoded."""
        if "\\" in body and (quote != "'" or self._language == "node"):
            body = script_patterns.ESCAPE.sub(_decode_escape, body)
        if quote not in script_patterns.INTERPOLATING_QUOTES.get(
            self._language, '"'
        ) or not script_patterns.INTERPOLATION[quote].search(body):
            return body

        def substitute_name(match: "re.Match[str]") -> str:
            inner = next((g for g in match.groups() if g is not None), "").strip()
            if inner in self._values or f"${inner}" in self._values:
                return self._values.get(inner) or self._values.get(f"${inner}", "")
            return self._evaluate_inner(inner) or match[0]

        return script_patterns.INTERPOLATION[quote].sub(substitute_name, body)

    def _evaluate_inner(self, inner: str) -> str | None:
        """Return the value of an expression inside a string."""
        outer, self._text = self._text, inner
        value, end, _ = self._parse_expression(0, 1)
        self._text = outer
        return value if end == len(inner) else None


def _is_assignment_target(text: str, end: int) -> bool:
    """Return whether a name stands before an assignment, or is the name of a field."""
    match = script_patterns.ASSIGNMENT_TARGET.match(text, end)
    return match is not None and not (match[0] == "(" and text[end] == "(")


def _skip_space(text: str, position: int) -> int:
    space = script_patterns.SPACE.match(text, position)
    return space.end() if space else position


def _skip_argument(text: str, position: int) -> int:
    """Return where an argument that is not understood ends."""
    depth = 0
    for index in range(position, min(len(text), position + 400)):
        letter = text[index]
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            if not depth:
                return index
            depth -= 1
        elif letter == "," and not depth:
            return index
    return len(text)


def _join_path(parts: list[str]) -> str:
    """Return the parts of a path joined with single slashes."""
    whole = ""
    for part in parts:
        if part in ("..", "./", "."):
            whole = f"{whole}/{part}" if whole else part
        else:
            whole = f"{whole.rstrip('/')}/{part.lstrip('/')}" if whole else part
    return whole


# A loop variable has one value here, so the value that does most harm must be the one.
def _pick_riskiest(items: list[str]) -> str:
    """Return the item of a loop that lies outside the project, or else the first."""
    return next((item for item in items if item[:1] in ("/", "~") or item.startswith("..")), items[0])


def _decode_escape(match: "re.Match[str]") -> str:
    digits = next(g for g in match.groups() if g is not None)
    code = int(digits, 8 if match[5] else 16)
    letter = chr(code) if 0 < code < 0x110000 else ""
    return f"\\{letter}" if letter in ('"', "'", "`", "\\") else letter


def _is_unchanged(text: str, value: str) -> bool:
    return text[:1] in "\"'`" and text[1:-1] == value
