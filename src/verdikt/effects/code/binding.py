"""A script with its constants put in: what names, joined strings, loops over lists and decoders of constants come to.

No grammar: a name counts as bound from where something constant is given to it, until something else is.
"""

import re

from verdikt.effects.code import notation
from verdikt.effects.code.decoder import decoded, method
from verdikt.effects.code.dialect import plain, quoted
from verdikt.effects.code.handed import handed, keyed
from verdikt.shell.command import UNKNOWN

_LONGEST = 20_000
_STEPS = 25_000
"""How many beginnings of strings are tried in one script."""
_FARTHEST = 40_000
"""How much of a script is read for constants."""
_DEEPEST = 12


def bind(language: str, text: str) -> str:
    """The same script, with a string wherever one can be told."""
    script = _Script(language, keyed(text[:_FARTHEST]))
    folded = script.folded()
    given = handed(language, folded)
    if script.renamed or given:
        folded = _Script(language, folded, given).folded()
    return folded + text[_FARTHEST:]


class _Script:
    """One script, read from its beginning to its end."""

    def __init__(self, language: str, text: str, given: dict[str, str] | None = None) -> None:
        self._language = language
        self._dotted = language in notation.DOTTED
        text = plain(language, text)
        self._text = text
        self._values: dict[str, str] = dict(given or {})
        self._lists: dict[str, list[str]] = {}
        self._more: list[str] = []
        self._left = _STEPS
        self.renamed = False
        self._calls: dict[str, str] = {found[2]: found[1] for found in notation.RENAMED.finditer(text)}

    def folded(self) -> str:
        text, position, out = self._text, 0, []
        if self._dotted and (found := notation.POSTFIX.search(text)) and (items := self._items(found.end(), 0)[0]):
            self._values["$_"] = _worst(items)
        while position < len(text):
            self._loop(position)
            value, end, goes_on = self._expression(position)
            if value is not None:
                as_it_was = text[position:end]
                out.append(as_it_was if _is_plain(as_it_was, value) else self._put(value, end))
                if goes_on:
                    out.append(text[end : (end := self._join(end))])
                position = end
                continue
            name = notation.NAME.match(text, position)
            if name is None:
                other = notation.PLAIN.match(text, position)
                end = other.end() if other else position + 1
                out.append(text[position:end])
                position = end
                continue
            piece, position = self._named(name[0], name.end())
            out.append(piece)
        whole = notation.COMPUTED.sub(r".\2", ";\n".join(["".join(out), *self._more]))
        return notation.SENT.sub(r".\1(", whole)

    def _put(self, value: str, end: int) -> str:
        """A value in the place of its expression; one that is called is the name of a function."""
        if value.isidentifier() and self._text[end : end + 1] == "(":
            self.renamed = True
            return value
        return quoted(value)

    def _join(self, end: int) -> int:
        found = notation.JOIN[self._dotted].match(self._text, end)
        return found.end() if found else end

    def _named(self, name: str, end: int) -> tuple[str, int]:
        """A name that stands for nothing known: it may be given something here."""
        text = self._text
        if found := notation.ASSIGNED.match(text, end):
            self._give(name, found.end())
            return text[end - len(name) : found.end()], found.end()
        if (found := notation.GROWN.match(text, end)) and name in self._values:
            value, _, goes_on = self._expression(found.end())
            self._values[name] += UNKNOWN if value is None else value + (UNKNOWN if goes_on else "")
            return text[end - len(name) : found.end()], found.end()
        if name in self._lists and text[end : end + 1] not in ("[", "."):
            return ", ".join(map(quoted, self._lists[name])), end
        if name in self._calls and text[end : end + 1] in ("(", " "):
            return self._calls[name], end
        member = (notation.MEMBER_OF_SIGILS if self._dotted else notation.MEMBER).match(text, end)
        stop = member.end() if member else end
        return text[end - len(name) : stop], stop

    def _give(self, name: str, start: int) -> None:
        value, _, goes_on = self._expression(start)
        self._values.pop(name, None)
        self._lists.pop(name, None)
        if value is not None:
            self._values[name] = value + (UNKNOWN if goes_on else "")
        elif alias := notation.ALIAS.match(self._text, start):
            self._calls[name] = alias[1]
        elif items := self._items(start, 0)[0]:
            self._lists[name] = items

    # Loops: a name that stands for each of some things in turn.

    def _loop(self, position: int) -> None:
        text = self._text
        if text.startswith("for", position):
            for pattern in notation.LOOPS:
                if (found := pattern.match(text, position)) and (items := self._items(found.end(), 0)[0]):
                    self._values[found["name"]] = _worst(items)
                    return
            if (
                self._dotted
                and (found := notation.TOPICAL.match(text, position))
                and (items := self._items(found.end(), 0)[0])
            ):
                self._values["$_"] = _worst(items)
                return
            if (found := notation.FOREACH.match(text, position)) is not None:
                items, end = self._items(found.end(), 0)
                if items and (named := notation.AS.match(text, end)):
                    self._values[named["name"]] = _worst(items)
        elif text[position] in "[%(DFPg" or text[position].isalpha():
            if position and (text[position - 1].isalnum() or text[position - 1] in "_."):
                return
            items, end = self._items(position, 0)
            if not items:
                return
            if found := notation.SYMBOL.match(text, end):
                self._more.append(f"{found[1] or found[2]}({quoted(_worst(items))})")
            elif found := notation.EACH.match(text, end) or notation.BLOCK.match(text, end):
                groups = found.groupdict()
                self._values[groups.get("arrow") or groups["block"]] = _worst(items)

    def _items(self, position: int, depth: int) -> tuple[list[str], int]:
        """The elements of a list of constants, or what a pattern finds; none for anything else."""
        text = self._text
        if found := notation.WORDS.match(text, position):
            return next((g for g in found.groups() if g is not None), "").split(), found.end()
        if found := notation.LISTED.match(text, position):
            value, end, _ = self._expression(found.end(), depth + 1)
            return ([value], end + 1) if value is not None else ([], position)
        if found := notation.INSIDE.match(text, position):
            value, end, _ = self._expression(found.end(), depth + 1)
            if value is None:
                return [], position
            names = found[0].rstrip("( \t").endswith(notation.NAMES_ALONE)
            close = text.find(")", end)
            return [UNKNOWN if names else f"{value.rstrip('/')}/*"], close + 1 if 0 <= close < end + 80 else end
        if self._dotted and (found := notation.ANGLE.match(text, position)):
            return [self._inside(found[1], '"')], found.end()
        if (name := notation.NAME.match(text, position)) and name[0] in self._lists:
            return self._lists[name[0]], name.end()
        if text[position : position + 1] in ("[", "(", "{"):
            return self._elements(position + 1, depth)
        if text.startswith("array(", position):
            return self._elements(position + 6, depth)
        return [], position

    def _elements(self, position: int, depth: int) -> tuple[list[str], int]:
        found: list[str] = []
        while len(found) < 64:
            position = _skip(self._text, position)
            value, end, goes_on = self._expression(position, depth + 1)
            if value is None:
                inner, end = self._items(position, depth + 1) if depth < 3 else ([], position)
                if not inner:
                    return [], position
                found += inner
            else:
                found.append(value + (UNKNOWN if goes_on else ""))
            end = _skip(self._text, end)
            mark = self._text[end : end + 1]
            if mark != ",":
                return (found, end + 1) if mark in ("]", ")", "}") and mark else ([], end)
            position = end + 1
        return [], position

    # Expressions.

    def _expression(self, position: int, depth: int = 0) -> tuple[str | None, int, bool]:
        """The string that begins here, where it ends, and whether something unknown is joined to it."""
        if depth > _DEEPEST:
            return None, position, False
        value, end = self._term(position, depth)
        if value is None:
            return None, position, False
        while len(value) < _LONGEST and (found := notation.JOIN[self._dotted].match(self._text, end)):
            more, stop = self._term(found.end(), depth + 1)
            if more is None:
                return value, end, found.end() < len(self._text)
            value, end = value + more, stop
        return value, end, False

    def _term(self, position: int, depth: int) -> tuple[str | None, int]:
        text = self._text
        self._left -= 1
        if depth > _DEEPEST or position >= len(text) or self._left < 0:
            return None, position
        value, end = self._atom(position, depth)
        while value is not None and (found := method(text, end, value)) is not None:
            value, end = found
        return value, end

    def _atom(self, position: int, depth: int) -> tuple[str | None, int]:
        text = self._text
        before = text[position - 1 : position]
        if text[position] in "\"'`":
            if (found := notation.STRING.match(text, position)) is None or (before.isalnum() and text[position] == "'"):
                return None, position
            return self._inside(found[0][1:-1], text[position]), found.end()
        member = before == "." and not self._dotted and text[position - 2 : position] != ".."
        if before.isalnum() or before in ("_", "$") or member:
            return None, position
        if (made := self._made(position, depth)) is not None:
            return made
        name = notation.NAME.match(text, position)
        if name and name[0] in self._values and not _is_place(text, name.end()):
            return self._values[name[0]], name.end()
        if text[position] == "(":
            value, end, goes_on = self._expression(position + 1, depth + 1)
            closed = value is not None and not goes_on and text[end : end + 1] == ")"
            if closed and (depth or method(text, end + 1, value or "") is not None):
                return value, end + 1
        return None, position

    def _made(self, position: int, depth: int) -> tuple[str, int] | None:
        """What a call comes to whose result is known: a home, a path, a pattern, a list put together, a decoder's text."""
        text = self._text
        if found := notation.HOME.match(text, position):
            return "~", found.end()
        if found := notation.HERE.match(text, position):
            return ".", found.end()
        if found := notation.PASSING.match(text, position):
            open_end = found[0].endswith("(")
            return "/tmp/made-by-script", _beyond(text, found.end()) + 1 if open_end else found.end()
        if found := notation.JOINING.match(text, position):
            items, end = self._arguments(found.end(), depth)
            if items and items[0] != UNKNOWN:
                if "expand_path" in found[0] and len(items) > 1:
                    items = [items[1], items[0]]
                return _path(items), end
            return None
        if (listed := notation.LISTED.match(text, position)) and (text[position - 1 : position] != "." or self._dotted):
            value, end, _ = self._expression(listed.end(), depth + 1)
            if value is not None and text[end : end + 1] in (")", "]"):
                return value, end + 1
        if (joined := self._joined(position, depth)) is not None:
            return joined
        return decoded(text, position, lambda at: self._arguments(at, depth))

    def _joined(self, position: int, depth: int) -> tuple[str, int] | None:
        """A list put together: `table.concat(t, " ")`, `implode(" ", $t)`, `words.join(" ")`."""
        text = self._text
        if found := notation.CONCAT.match(text, position):
            items, end = self._items(found.end(), depth + 1)
            comma = notation.COMMA.match(text, end)
            by, end = self._term(comma.end(), depth + 1) if items and comma else ("", end)
        elif found := notation.IMPLODE.match(text, position):
            by, end = self._term(found.end(), depth + 1)
            comma = notation.COMMA.match(text, end)
            items, end = self._items(comma.end(), depth + 1) if by is not None and comma else ([], end)
        elif (name := notation.NAME.match(text, position)) and name[0] in self._lists:
            if (found := notation.JOINS.match(text, name.end())) is None:
                return None
            by, end = self._term(found.end(), depth + 1)
            items = self._lists[name[0]]
        else:
            return None
        if not items or by is None or text[end : end + 1] != ")":
            return None
        return by.join(items), end + 1

    def _arguments(self, position: int, depth: int) -> tuple[list[str], int]:
        """What stands between the parentheses of a call, with `UNKNOWN` for what is not constant."""
        text, found = self._text, list[str]()
        while len(found) < 64:
            position = _skip(text, position)
            if text[position : position + 1] == ")":
                return found, position + 1
            value, end, goes_on = self._expression(position, depth + 1)
            if value is None and (number := notation.NUMBER.match(text, position)):
                value, end = number[0], number.end()
            found.append(UNKNOWN if value is None else value + (UNKNOWN if goes_on else ""))
            if value is None or goes_on:
                self._left -= 10
                end = _beyond(text, end)
            else:
                end = _skip(text, end)
            mark = text[end : end + 1]
            if mark != ",":
                return (found, end + 1) if mark == ")" else ([], end)
            position = end + 1
        return [], position

    def _inside(self, body: str, quote: str) -> str:
        """What stands between quotes, with known names put in and escapes undone that hide letters."""
        if "\\" in body and (quote != "'" or self._language == "node"):
            body = notation.ESCAPE.sub(_letter, body)
        if quote not in notation.INTERPOLATED.get(self._language, '"') or not notation.INNER[quote].search(body):
            return body

        def one(found: "re.Match[str]") -> str:
            inner = next((g for g in found.groups() if g is not None), "").strip()
            if inner in self._values or f"${inner}" in self._values:
                return self._values.get(inner) or self._values.get(f"${inner}", "")
            return self._within(inner) or found[0]

        return notation.INNER[quote].sub(one, body)

    def _within(self, inner: str) -> str | None:
        """The value of an expression that stands in a string."""
        outer, self._text = self._text, inner
        value, end, _ = self._expression(0, 1)
        self._text = outer
        return value if end == len(inner) else None


def _is_place(text: str, end: int) -> bool:
    """Whether a name stands where something is given to it, or names a field."""
    found = notation.ASSIGNS_HERE.match(text, end)
    return found is not None and not (found[0] == "(" and text[end] == "(")


def _skip(text: str, position: int) -> int:
    found = notation.SPACE.match(text, position)
    return found.end() if found else position


def _beyond(text: str, position: int) -> int:
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


def _path(parts: list[str]) -> str:
    """Parts of a path put together; an absolute one begins anew, as it does for whoever resolves it."""
    whole = ""
    for part in parts:
        if part in ("..", "./", "."):
            whole = f"{whole}/{part}" if whole else part
        else:
            whole = f"{whole.rstrip('/')}/{part.lstrip('/')}" if whole else part
    return whole


def _worst(items: list[str]) -> str:
    """Of what a loop goes through, what lies farthest from here."""
    return next((item for item in items if item[:1] in ("/", "~") or item.startswith("..")), items[0])


def _letter(found: "re.Match[str]") -> str:
    digits = next(g for g in found.groups() if g is not None)
    code = int(digits, 8 if found[5] else 16)
    letter = chr(code) if 0 < code < 0x110000 else ""
    return f"\\{letter}" if letter in ('"', "'", "`", "\\") else letter


def _is_plain(text: str, value: str) -> bool:
    return text[:1] in "\"'`" and text[1:-1] == value
