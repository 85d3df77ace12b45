"""Parse the constant expressions of a script: strings, joins, lists, calls whose result the text determines.

There is no grammar: an expression is tried at a position, and gives up where it is not understood.
"""

import re
from collections.abc import Mapping
from posixpath import dirname

from verdikt.effects.code import script_syntax
from verdikt.effects.code.decoder import apply_method, evaluate_decoder
from verdikt.effects.code.string_normalization import normalize_strings
from verdikt.shell.command import UNKNOWN

_MAX_STRING = 20_000
_MAX_STEPS = 25_000
"""Maximum number of positions at which an expression is tried, so that the time is bounded."""
_MAX_DEPTH = 12
_MAX_ITEMS = 64
_LOOP_LENGTH = 300
"""How much of the text after a listing is taken for the body of its loop."""


class ScriptExpressions:
    """Evaluates expressions of one script by the values that its names have so far."""

    def __init__(self, language: str, text: str, initial_values: Mapping[str, str]) -> None:
        self._language = language
        self._joins_with_dot = language in script_syntax.DOT_JOIN_LANGUAGES
        self._text = normalize_strings(language, text)
        self._values: dict[str, str] = dict(initial_values)
        self._lists: dict[str, list[str]] = {}
        self._classes: frozenset[str] = frozenset()
        """Classes that the script declares."""
        self._steps_left = _MAX_STEPS

    def _parse_expression(self, position: int, depth: int = 0) -> tuple[str | None, int, bool]:
        """Return the string that begins here, where it ends, and whether something unknown is joined to it."""
        if depth > _MAX_DEPTH:
            return None, position, False
        value, end = self._parse_term(position, depth)
        if value is None:
            return None, position, False
        while len(value) < _MAX_STRING and (
            match := script_syntax.JOIN_OPERATOR[self._joins_with_dot].match(self._text, end)
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
        name = script_syntax.NAME.match(text, position)
        if name and (field := self._find_field(name[0], name.end())) is not None:
            return field
        if name and name[0] in self._values and not _is_assignment_target(text, name.end()):
            return self._values[name[0]], name.end()
        return self._parse_parentheses(position, depth) if text[position] == "(" else (None, position)

    def _find_field(self, owner: str, end: int) -> tuple[str, int] | None:
        """Return the value of a field of an object or a class, and where it ends; None for anything else."""
        field = script_syntax.FIELD.match(self._text, end)
        if field is None or _is_assignment_target(self._text, field.end()):
            return None
        value = self._values.get(f"{owner}.{field[1]}")
        if value is None and (owner in script_syntax.OWN_OBJECT or owner in self._classes):
            # Set in another method, or where the class is declared.
            names = (f"this.{field[1]}", f"self.{field[1]}", f"$this.{field[1]}", field[1], f"${field[1]}")
            value = next((self._values[name] for name in names if name in self._values), None)
        return None if value is None else (value, field.end())

    def _parse_fields(self, position: int) -> list[tuple[str, str]]:
        """Return the fields of a record that begins here, as far as they are constants."""
        fields: list[tuple[str, str]] = []
        while len(fields) < _MAX_ITEMS and (key := script_syntax.RECORD_KEY.match(self._text, position)):
            value, end, goes_on = self._parse_expression(key.end(), 1)
            if value is None or goes_on:
                end = _skip_argument(self._text, key.end())
            else:
                fields.append((key[1], value))
            position = end
        return fields

    def _parse_string(self, position: int, before: str) -> tuple[str | None, int]:
        quote = self._text[position]
        string = script_syntax.STRING.match(self._text, position)
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
        if match := script_syntax.HOME_DIRECTORY.match(text, position):
            return "~", match.end()
        if match := script_syntax.CURRENT_DIRECTORY.match(text, position):
            return ".", match.end()
        if match := script_syntax.TEMPORARY_DIRECTORY.match(text, position):
            open_end = match[0].endswith("(")
            return "/tmp/made-by-script", _skip_argument(text, match.end()) + 1 if open_end else match.end()
        if match := script_syntax.PATH_JOIN.match(text, position):
            items, end = self._parse_arguments(match.end(), depth)
            if items and items[0] != UNKNOWN:
                # `File.expand_path(path, base)` of Ruby and `Path.expand(path, base)` of Elixir take the base second.
                if script_syntax.BASE_LAST.search(match[0]) and len(items) > 1:
                    items = [items[1], items[0]]
                return _join_path(items), end
            return None
        if match := script_syntax.PATH_PARENT.match(text, position):
            items, end = self._parse_arguments(match.end(), depth)
            return (_find_parent(*items[:2]), end) if items and UNKNOWN not in "".join(items) else None
        if (listed := script_syntax.GLOB_CALL.match(text, position)) and (
            text[position - 1 : position] != "." or self._joins_with_dot
        ):
            value, end, _ = self._parse_expression(listed.end(), depth + 1)
            if value is not None and text[end : end + 1] in (")", "]"):
                return value, end + 1
        if self._language == "julia" and script_syntax.DIRECTORY_LISTING.match(text, position):
            items, end = self._parse_list(position, depth)
            if items and UNKNOWN not in items[0]:
                return items[0], end
        if (joined := self._evaluate_join(position, depth)) is not None:
            return joined
        return evaluate_decoder(text, position, lambda at: self._parse_arguments(at, depth))

    def _evaluate_join(self, position: int, depth: int) -> tuple[str, int] | None:
        """Return the result of joining a list: `table.concat(t, " ")`, `implode(" ", $t)`, `words.join(" ")`."""
        text = self._text
        if match := script_syntax.TABLE_CONCAT.match(text, position):
            items, end = self._parse_list(match.end(), depth + 1)
            comma = script_syntax.COMMA.match(text, end)
            by, end = self._parse_term(comma.end(), depth + 1) if items and comma else ("", end)
        elif match := script_syntax.IMPLODE_CALL.match(text, position):
            by, end = self._parse_term(match.end(), depth + 1)
            comma = script_syntax.COMMA.match(text, end)
            items, end = self._parse_list(comma.end(), depth + 1) if by is not None and comma else ([], end)
        elif (name := script_syntax.NAME.match(text, position)) and name[0] in self._lists:
            if (match := script_syntax.JOIN_METHOD.match(text, name.end())) is None:
                return None
            by, end = self._parse_term(match.end(), depth + 1)
            items = self._lists[name[0]]
        elif words := script_syntax.WORD_LIST.match(text, position):
            items, end = self._parse_list(position, depth)
            if bare := script_syntax.BARE_JOIN.match(text, words.end()):
                return "".join(items), bare.end()
            if (match := script_syntax.JOIN_METHOD.match(text, end)) is None:
                return None
            by, end = self._parse_term(match.end(), depth + 1)
        elif text[position] == "[" and not self._joins_with_dot:
            items, end = self._parse_elements(position + 1, depth)
            if items and self._language == "ruby" and (bare := script_syntax.BARE_JOIN.match(text, end)):
                return "".join(items), bare.end()
            if (match := script_syntax.JOIN_METHOD.match(text, end) if items else None) is None:
                return None
            by, end = self._parse_term(match.end(), depth + 1)
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
            if value is None and (number := script_syntax.NUMBER.match(text, position)):
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
            body = script_syntax.ESCAPE.sub(_decode_escape, body)
        if quote not in script_syntax.INTERPOLATING_QUOTES.get(self._language, '"') or not script_syntax.INTERPOLATION[
            quote
        ].search(body):
            return body

        def substitute_name(match: "re.Match[str]") -> str:
            inner = next((g for g in match.groups() if g is not None), "").strip()
            # Where names have no sigil, that of the string is none of the name: `"$home/x"` of Kotlin.
            bare = inner if self._joins_with_dot else inner.removeprefix("$")
            for name in (inner, f"${inner}", bare):
                if name in self._values:
                    return self._values[name]
            return self._evaluate_inner(inner) or match[0]

        return script_syntax.INTERPOLATION[quote].sub(substitute_name, body)

    def _evaluate_inner(self, inner: str) -> str | None:
        """Return the value of an expression inside a string."""
        outer, self._text = self._text, inner
        value, end, _ = self._parse_expression(0, 1)
        self._text = outer
        return value if end == len(inner) else None

    # Lists.

    def _parse_list(self, position: int, depth: int) -> tuple[list[str], int]:
        """Return the elements of a list of constants or a file pattern, and where it ends; empty for anything else."""
        text = self._text
        if match := script_syntax.WORD_LIST.match(text, position):
            return next((g for g in match.groups() if g is not None), "").split(), match.end()
        if match := script_syntax.GLOB_CALL.match(text, position):
            value, end, _ = self._parse_expression(match.end(), depth + 1)
            return ([value], end + 1) if value is not None else ([], position)
        if match := script_syntax.DIRECTORY_LISTING.match(text, position):
            value, end, _ = self._parse_expression(match.end(), depth + 1)
            if value is None:
                return [], position
            names = match[0].rstrip("( \t").endswith(script_syntax.BARE_NAME_LISTINGS)
            # Options may stand before the closing parenthesis, so it is searched for nearby.
            close = text.find(")", end)
            stop = close + 1 if 0 <= close < end + 80 else end
            if names:
                return [UNKNOWN if self._is_selective(stop) else "*"], stop
            return [f"{value.rstrip('/')}/*"], stop
        if self._joins_with_dot and (match := script_syntax.ANGLE_GLOB.match(text, position)):
            return [self._interpolate_string(match[1], '"')], match.end()
        if (name := script_syntax.NAME.match(text, position)) and name[0] in self._lists:
            return self._lists[name[0]], name.end()
        if text[position : position + 1] in ("[", "(", "{"):
            return self._parse_elements(position + 1, depth)
        if match := script_syntax.LIST_CALL.match(text, position):
            return self._parse_elements(match.end(), depth)
        return [], position

    def _parse_mapped_list(self, position: int) -> tuple[list[str], int]:
        """Return what a constant list is mapped to, and where the map ends; empty for anything else."""
        text = self._text
        if self._joins_with_dot and (prefix := script_syntax.PREFIX_MAP.match(text, position)):
            body_end = _skip_argument(text, prefix.end())
            items, end = self._parse_list(_skip_space(text, body_end + 1), 1)
            return self._map_items(items, "$_", prefix.end())[0], end
        items, end = self._parse_list(position, 0)
        call = script_syntax.MAP_CALL.match(text, end) if items else None
        if call is None:
            return [], position
        mapped, end = self._map_items(items, call["arrow"] or call["block"], call.end())
        return mapped, _skip_space(text, end) + 1

    def _map_items(self, items: list[str], parameter: str, body: int) -> tuple[list[str], int]:
        """Return the value of an expression for each item that its parameter stands for, and where it ends."""
        outer, mapped, end = self._values.get(parameter), list[str](), body
        for item in items:
            self._values[parameter] = item
            value, end, goes_on = self._parse_expression(body, 1)
            if value is None or goes_on:
                mapped = []
                break
            mapped.append(value)
        self._values.pop(parameter, None)
        if outer is not None:
            self._values[parameter] = outer
        return mapped, end

    def _is_selective(self, position: int) -> bool:
        """Return whether a loop over a listing that ends here leaves out more than a name or two."""
        body = script_syntax.EXCLUSION.sub("", self._text[position : position + _LOOP_LENGTH])
        return script_syntax.SELECTION.search(body) is not None

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


def _is_assignment_target(text: str, end: int) -> bool:
    """Return whether a name stands before an assignment, or is the name of a field."""
    match = script_syntax.ASSIGNMENT_TARGET.match(text, end)
    return match is not None and not (match[0] == "(" and text[end] == "(")


def _skip_space(text: str, position: int) -> int:
    space = script_syntax.SPACE.match(text, position)
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


def _find_parent(path: str, levels: str = "1") -> str:
    """Return the directory above a path, or the one that lies so many levels above it: `dirname(__DIR__, 2)`."""
    for _ in range(min(int(levels), _MAX_DEPTH) if levels.isdigit() else 1):
        path = dirname(path.rstrip("/")) or "."
    return path


def _join_path(parts: list[str]) -> str:
    """Return the parts of a path joined with single slashes."""
    whole = ""
    for part in parts:
        if part in ("..", "./", "."):
            whole = f"{whole}/{part}" if whole else part
        else:
            whole = f"{whole.rstrip('/')}/{part.lstrip('/')}" if whole else part
    return whole


def _decode_escape(match: "re.Match[str]") -> str:
    digits = next(g for g in match.groups() if g is not None)
    code = int(digits, 8 if match[5] else 16)
    letter = chr(code) if 0 < code < 0x110000 else ""
    return f"\\{letter}" if letter in ('"', "'", "`", "\\") else letter
