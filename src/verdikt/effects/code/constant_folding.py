"""A script with its constants put in: what names, joined strings, loops over lists and decoders of constants come to.

No grammar: a name counts as bound from where something constant is given to it, until something else is.
"""

import re

from verdikt.effects.code import script_patterns
from verdikt.effects.code.constant_arguments import find_constant_arguments, inline_table_values
from verdikt.effects.code.decoder import apply_method, evaluate_decoder
from verdikt.effects.code.string_normalization import normalize_strings, quote_string
from verdikt.shell.command import UNKNOWN

_MAX_STRING = 20_000
_MAX_STEPS = 25_000
"""How many beginnings of strings are tried in one script."""
_MAX_SCRIPT = 40_000
"""How much of a script is read for constants."""
_MAX_DEPTH = 12


def fold_constants(language: str, text: str) -> str:
    """The same script, with a string wherever one can be told."""
    script = _ConstantFolder(language, inline_table_values(text[:_MAX_SCRIPT]))
    folded = script.fold_script()
    given = find_constant_arguments(language, folded)
    if script.has_renamed_call or given:
        folded = _ConstantFolder(language, folded, given).fold_script()
    return folded + text[_MAX_SCRIPT:]


class _ConstantFolder:
    """One script, read from its beginning to its end."""

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
            found[2]: found[1] for found in script_patterns.REQUIRE_ALIAS.finditer(text)
        }

    def fold_script(self) -> str:
        text, position, out = self._text, 0, []
        if (
            self._joins_with_dot
            and (found := script_patterns.POSTFIX_LOOP.search(text))
            and (items := self._parse_list(found.end(), 0)[0])
        ):
            self._values["$_"] = _pick_riskiest(items)
        while position < len(text):
            self._bind_loop_variable(position)
            value, end, goes_on = self._parse_expression(position)
            if value is not None:
                as_it_was = text[position:end]
                out.append(as_it_was if _is_unchanged(as_it_was, value) else self._render_value(value, end))
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
        """A value in the place of its expression; one that is called is the name of a function."""
        if value.isidentifier() and self._text[end : end + 1] == "(":
            self.has_renamed_call = True
            return value
        return quote_string(value)

    def _skip_join(self, end: int) -> int:
        found = script_patterns.JOIN_OPERATOR[self._joins_with_dot].match(self._text, end)
        return found.end() if found else end

    def _fold_name(self, name: str, end: int) -> tuple[str, int]:
        """A name that stands for nothing known: it may be given something here."""
        text = self._text
        if found := script_patterns.ASSIGNMENT.match(text, end):
            self._assign_name(name, found.end())
            return text[end - len(name) : found.end()], found.end()
        if (found := script_patterns.APPEND_ASSIGNMENT.match(text, end)) and name in self._values:
            value, _, goes_on = self._parse_expression(found.end())
            self._values[name] += UNKNOWN if value is None else value + (UNKNOWN if goes_on else "")
            return text[end - len(name) : found.end()], found.end()
        if name in self._lists and text[end : end + 1] not in ("[", "."):
            return ", ".join(map(quote_string, self._lists[name])), end
        if name in self._function_aliases and text[end : end + 1] in ("(", " "):
            return self._function_aliases[name], end
        member = (script_patterns.SIGIL_MEMBER if self._joins_with_dot else script_patterns.MEMBER).match(text, end)
        stop = member.end() if member else end
        return text[end - len(name) : stop], stop

    def _assign_name(self, name: str, start: int) -> None:
        value, _, goes_on = self._parse_expression(start)
        self._values.pop(name, None)
        self._lists.pop(name, None)
        if value is not None:
            self._values[name] = value + (UNKNOWN if goes_on else "")
        elif alias := script_patterns.FUNCTION_ALIAS.match(self._text, start):
            self._function_aliases[name] = alias[1]
        elif items := self._parse_list(start, 0)[0]:
            self._lists[name] = items

    # Loops: a name that stands for each of some things in turn.

    def _bind_loop_variable(self, position: int) -> None:
        text = self._text
        if text.startswith("for", position):
            for pattern in script_patterns.LOOPS:
                if (found := pattern.match(text, position)) and (items := self._parse_list(found.end(), 0)[0]):
                    self._values[found["name"]] = _pick_riskiest(items)
                    return
            if (
                self._joins_with_dot
                and (found := script_patterns.TOPIC_LOOP.match(text, position))
                and (items := self._parse_list(found.end(), 0)[0])
            ):
                self._values["$_"] = _pick_riskiest(items)
                return
            if (found := script_patterns.FOREACH.match(text, position)) is not None:
                items, end = self._parse_list(found.end(), 0)
                if items and (named := script_patterns.FOREACH_VARIABLE.match(text, end)):
                    self._values[named["name"]] = _pick_riskiest(items)
        elif text[position] in "[%(DFPg" or text[position].isalpha():
            if position and (text[position - 1].isalnum() or text[position - 1] in "_."):
                return
            items, end = self._parse_list(position, 0)
            if not items:
                return
            if found := script_patterns.SYMBOL_TO_PROC.match(text, end):
                self._extra_statements.append(f"{found[1] or found[2]}({quote_string(_pick_riskiest(items))})")
            elif found := script_patterns.EACH_CALL.match(text, end) or script_patterns.BLOCK_PARAMETER.match(
                text, end
            ):
                groups = found.groupdict()
                self._values[groups.get("arrow") or groups["block"]] = _pick_riskiest(items)

    def _parse_list(self, position: int, depth: int) -> tuple[list[str], int]:
        """The elements of a list of constants, or what a pattern finds; none for anything else."""
        text = self._text
        if found := script_patterns.WORD_LIST.match(text, position):
            return next((g for g in found.groups() if g is not None), "").split(), found.end()
        if found := script_patterns.GLOB_CALL.match(text, position):
            value, end, _ = self._parse_expression(found.end(), depth + 1)
            return ([value], end + 1) if value is not None else ([], position)
        if found := script_patterns.DIRECTORY_LISTING.match(text, position):
            value, end, _ = self._parse_expression(found.end(), depth + 1)
            if value is None:
                return [], position
            names = found[0].rstrip("( \t").endswith(script_patterns.BARE_NAME_LISTINGS)
            close = text.find(")", end)
            return [UNKNOWN if names else f"{value.rstrip('/')}/*"], close + 1 if 0 <= close < end + 80 else end
        if self._joins_with_dot and (found := script_patterns.ANGLE_GLOB.match(text, position)):
            return [self._interpolate_string(found[1], '"')], found.end()
        if (name := script_patterns.NAME.match(text, position)) and name[0] in self._lists:
            return self._lists[name[0]], name.end()
        if text[position : position + 1] in ("[", "(", "{"):
            return self._parse_elements(position + 1, depth)
        if text.startswith("array(", position):
            return self._parse_elements(position + 6, depth)
        return [], position

    def _parse_elements(self, position: int, depth: int) -> tuple[list[str], int]:
        found: list[str] = []
        while len(found) < 64:
            position = _skip_space(self._text, position)
            value, end, goes_on = self._parse_expression(position, depth + 1)
            if value is None:
                inner, end = self._parse_list(position, depth + 1) if depth < 3 else ([], position)
                if not inner:
                    return [], position
                found += inner
            else:
                found.append(value + (UNKNOWN if goes_on else ""))
            end = _skip_space(self._text, end)
            mark = self._text[end : end + 1]
            if mark != ",":
                return (found, end + 1) if mark in ("]", ")", "}") and mark else ([], end)
            position = end + 1
        return [], position

    # Expressions.

    def _parse_expression(self, position: int, depth: int = 0) -> tuple[str | None, int, bool]:
        """The string that begins here, where it ends, and whether something unknown is joined to it."""
        if depth > _MAX_DEPTH:
            return None, position, False
        value, end = self._parse_term(position, depth)
        if value is None:
            return None, position, False
        while len(value) < _MAX_STRING and (
            found := script_patterns.JOIN_OPERATOR[self._joins_with_dot].match(self._text, end)
        ):
            more, stop = self._parse_term(found.end(), depth + 1)
            if more is None:
                return value, end, found.end() < len(self._text)
            value, end = value + more, stop
        return value, end, False

    def _parse_term(self, position: int, depth: int) -> tuple[str | None, int]:
        text = self._text
        self._steps_left -= 1
        if depth > _MAX_DEPTH or position >= len(text) or self._steps_left < 0:
            return None, position
        value, end = self._parse_atom(position, depth)
        while value is not None and (found := apply_method(text, end, value)) is not None:
            value, end = found
        return value, end

    def _parse_atom(self, position: int, depth: int) -> tuple[str | None, int]:
        text = self._text
        before = text[position - 1 : position]
        if text[position] in "\"'`":
            if (found := script_patterns.STRING.match(text, position)) is None or (
                before.isalnum() and text[position] == "'"
            ):
                return None, position
            return self._interpolate_string(found[0][1:-1], text[position]), found.end()
        member = before == "." and not self._joins_with_dot and text[position - 2 : position] != ".."
        if before.isalnum() or before in ("_", "$") or member:
            return None, position
        if (made := self._evaluate_call(position, depth)) is not None:
            return made
        name = script_patterns.NAME.match(text, position)
        if name and name[0] in self._values and not _is_assignment_target(text, name.end()):
            return self._values[name[0]], name.end()
        if text[position] == "(":
            value, end, goes_on = self._parse_expression(position + 1, depth + 1)
            closed = value is not None and not goes_on and text[end : end + 1] == ")"
            if closed and (depth or apply_method(text, end + 1, value or "") is not None):
                return value, end + 1
        return None, position

    def _evaluate_call(self, position: int, depth: int) -> tuple[str, int] | None:
        """What a call comes to whose result is known: a home, a path, a pattern, a list put together, a decoder's text."""
        text = self._text
        if found := script_patterns.HOME_DIRECTORY.match(text, position):
            return "~", found.end()
        if found := script_patterns.CURRENT_DIRECTORY.match(text, position):
            return ".", found.end()
        if found := script_patterns.TEMPORARY_DIRECTORY.match(text, position):
            open_end = found[0].endswith("(")
            return "/tmp/made-by-script", _skip_argument(text, found.end()) + 1 if open_end else found.end()
        if found := script_patterns.PATH_JOIN.match(text, position):
            items, end = self._parse_arguments(found.end(), depth)
            if items and items[0] != UNKNOWN:
                if "expand_path" in found[0] and len(items) > 1:
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
        """A list put together: `table.concat(t, " ")`, `implode(" ", $t)`, `words.join(" ")`."""
        text = self._text
        if found := script_patterns.TABLE_CONCAT.match(text, position):
            items, end = self._parse_list(found.end(), depth + 1)
            comma = script_patterns.COMMA.match(text, end)
            by, end = self._parse_term(comma.end(), depth + 1) if items and comma else ("", end)
        elif found := script_patterns.IMPLODE_CALL.match(text, position):
            by, end = self._parse_term(found.end(), depth + 1)
            comma = script_patterns.COMMA.match(text, end)
            items, end = self._parse_list(comma.end(), depth + 1) if by is not None and comma else ([], end)
        elif (name := script_patterns.NAME.match(text, position)) and name[0] in self._lists:
            if (found := script_patterns.JOIN_METHOD.match(text, name.end())) is None:
                return None
            by, end = self._parse_term(found.end(), depth + 1)
            items = self._lists[name[0]]
        else:
            return None
        if not items or by is None or text[end : end + 1] != ")":
            return None
        return by.join(items), end + 1

    def _parse_arguments(self, position: int, depth: int) -> tuple[list[str], int]:
        """What stands between the parentheses of a call, with `UNKNOWN` for what is not constant."""
        text, found = self._text, list[str]()
        while len(found) < 64:
            position = _skip_space(text, position)
            if text[position : position + 1] == ")":
                return found, position + 1
            value, end, goes_on = self._parse_expression(position, depth + 1)
            if value is None and (number := script_patterns.NUMBER.match(text, position)):
                value, end = number[0], number.end()
            found.append(UNKNOWN if value is None else value + (UNKNOWN if goes_on else ""))
            if value is None or goes_on:
                self._steps_left -= 10
                end = _skip_argument(text, end)
            else:
                end = _skip_space(text, end)
            mark = text[end : end + 1]
            if mark != ",":
                return (found, end + 1) if mark == ")" else ([], end)
            position = end + 1
        return [], position

    def _interpolate_string(self, body: str, quote: str) -> str:
        """What stands between quotes, with known names put in and escapes undone that hide letters."""
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
        """The value of an expression that stands in a string."""
        outer, self._text = self._text, inner
        value, end, _ = self._parse_expression(0, 1)
        self._text = outer
        return value if end == len(inner) else None


def _is_assignment_target(text: str, end: int) -> bool:
    """Whether a name stands where something is given to it, or names a field."""
    found = script_patterns.ASSIGNMENT_TARGET.match(text, end)
    return found is not None and not (found[0] == "(" and text[end] == "(")


def _skip_space(text: str, position: int) -> int:
    found = script_patterns.SPACE.match(text, position)
    return found.end() if found else position


def _skip_argument(text: str, position: int) -> int:
    """Where an argument that nobody understands ends."""
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
    """Parts of a path put together; an absolute one begins anew, as it does for whoever resolves it."""
    whole = ""
    for part in parts:
        if part in ("..", "./", "."):
            whole = f"{whole}/{part}" if whole else part
        else:
            whole = f"{whole.rstrip('/')}/{part.lstrip('/')}" if whole else part
    return whole


def _pick_riskiest(items: list[str]) -> str:
    """Of what a loop goes through, what lies farthest from here."""
    return next((item for item in items if item[:1] in ("/", "~") or item.startswith("..")), items[0])


def _decode_escape(match: "re.Match[str]") -> str:
    digits = next(g for g in match.groups() if g is not None)
    code = int(digits, 8 if match[5] else 16)
    letter = chr(code) if 0 < code < 0x110000 else ""
    return f"\\{letter}" if letter in ('"', "'", "`", "\\") else letter


def _is_unchanged(text: str, value: str) -> bool:
    return text[:1] in "\"'`" and text[1:-1] == value
