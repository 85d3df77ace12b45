"""Translation of fish text into that of a POSIX shell, which the parser reads: `for x in a; …; end`, `set x (cmd)`."""

import re

from verdikt.model.lazy_regex import compile_lazily

_TOKEN = compile_lazily(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\\.|\$\(|[()]|&&|\|\||&>|[<>]&?|[;\n&|]|[ \t]+|\#[^\n]*"""
    r"""|[^\s'"\\$();&|<>]+|.""",
    re.DOTALL,
)
_ENDS = frozenset((";", "\n"))
_OPERATORS = frozenset(("&", "|", "&&", "||"))
_CLOSERS = {"for": "done", "while": "done", "if": "fi", "begin": "}", "function": "}", "switch": "esac"}
_AFTER_HEADER = {"for": "do", "while": "do", "if": "then"}
_LOADERS = ("source", ".")
_EXPORTS = frozenset(("-x", "--export", "-gx", "-xg", "-Ux", "-xU", "-lx", "-xl"))


def translate_fish(text: str) -> str:
    """Return the same commands for a POSIX shell; the text itself if its blocks do not match."""
    translated = _Translator(text).translate()
    return text if translated is None else translated


class _Translator:
    """One pass over the tokens of a text; words are looked at only where a command begins."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = _TOKEN.findall(text)
        self._at = 0
        self._output: list[str] = []
        self._open: list[str] = []  # the closing words of open blocks, and `)` for substitutions
        self._header_word = ""  # what the end of the header of a block adds: `do`, `then`

    def translate(self) -> str | None:
        """Return the translation; None if a block is not closed, or nothing is open to be closed."""
        is_start = True
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if token in _ENDS:
                self._output.append(token)
                if self._header_word:
                    self._output.append(f" {self._header_word} ")
                    self._header_word = ""
                is_start = True
            elif token in _OPERATORS:
                self._output.append(token)
                is_start = True
            elif token in ("(", "$("):
                self._output.append("$(")
                self._open.append(")")
                is_start = True
            elif token == ")" or (is_start and token == "end"):
                if not self._open or (self._open[-1] == ")") is not (token == ")"):
                    return None
                self._output.append(self._open.pop())
                is_start = False
            elif token.isspace():
                self._output.append(token)
            else:
                is_start = self._add_first_word(token) if is_start else self._add_word(token)
        return "".join(self._output) if not self._open else None

    def _add_word(self, token: str) -> bool:
        self._output.append(token)
        return False

    def _add_first_word(self, token: str) -> bool:
        """Add the first word of a command; return whether another first word follows."""
        if token in ("and", "or"):
            return True
        if token == "not":
            return self._add_word("!") or True
        if token == "else":
            is_chained = self._peek_word() == "if"
            self._header_word = "then" if is_chained else ""
            self._output.append("elif " if is_chained else "else ")
            self._skip(*(["if"] if is_chained else _ENDS))
            return True
        if token == "case" and self._open and self._open[-1].endswith("esac"):
            self._add_case()
            return True
        if token == "set":
            return self._add_assignment()
        if token in _CLOSERS:
            return self._open_block(token)
        if token in _LOADERS and (not (word := self._peek_word()) or word in _ENDS or word in (")", *_OPERATORS)):
            # Without a file it runs its input: `tool init fish | source`.
            token = f"{token} /dev/stdin"
        return self._add_word(token)

    def _open_block(self, word: str) -> bool:
        self._open.append(_CLOSERS[word])
        self._header_word = _AFTER_HEADER.get(word, "")
        if word == "begin":
            self._output.append("{ ")
            self._skip(*_ENDS)
        elif word == "function":
            name, *_ = [*self._take_words(), ""]
            self._output.append(f"{name}() {{ ")
        elif word == "switch":
            self._output.append(f"case {' '.join(self._take_words())} in\n")
        else:
            self._output.append(word)
        return word != "for"

    def _add_case(self) -> None:
        # Of the choices of a `switch` the first one has none before it to end.
        separator = "" if self._open[-1] == "esac" else ";; "
        self._open[-1] = ";; esac"
        self._output.append(f"{separator}{'|'.join(self._take_words())}) ")

    def _add_assignment(self) -> bool:
        """Add `set x a b` as `x=a ; : b`, so that commands in every value are found."""
        options: list[str] = []
        while (word := self._peek_word()).startswith("-"):
            self._skip(word)
            options.append(word)
        name = self._peek_word()
        has_value = not {"-e", "--erase", "-q", "--query"} & set(options)
        if not name.isidentifier() or not has_value:
            return self._add_word(":")
        self._skip(name)
        while self._at < len(self._tokens) and self._tokens[self._at].isspace() and self._tokens[self._at] != "\n":
            self._at += 1
        self._output.append(f"{'export ' if _EXPORTS & set(options) else ''}{name}=")
        self._take_value()
        self._output.append(" ; : ")
        return False

    def _take_value(self) -> None:
        """Copy the first value, whose substitutions are translated like any text."""
        depth, start = 0, self._at
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            depth += (token in ("(", "$(")) - (token == ")")
            if depth <= 0 and (token.isspace() or token in _ENDS or token in _OPERATORS or depth < 0):
                break
            self._at += 1
        value = "".join(self._tokens[start : self._at])
        translated = _Translator(f"echo {value}").translate() if "(" in value else f"echo {value}"
        self._output.append((translated or f"echo {value}")[len("echo ") :])

    def _peek_word(self) -> str:
        """Return the next token that is no blank."""
        for token in self._tokens[self._at : self._at + 2]:
            if not token.isspace() or token == "\n":
                return token
        return ""

    def _skip(self, *words: str) -> None:
        """Skip the next token that is no blank if it is one of these."""
        if self._peek_word() in words:
            while self._tokens[self._at] not in words:
                self._at += 1
            self._at += 1

    def _take_words(self) -> list[str]:
        """Return the words up to the end of the line, and go behind it."""
        tokens: list[str] = []
        while self._at < len(self._tokens) and self._tokens[self._at] not in _ENDS:
            tokens.append(self._tokens[self._at])
            self._at += 1
        self._at += 1
        return "".join(tokens).split()
