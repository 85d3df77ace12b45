"""Paths that PowerShell makes with .NET: `[Environment]::GetFolderPath('MyDocuments')` is `~/Documents`."""

import re

from verdikt.model.lazy_regex import compile_lazily

_FOLDERS = {
    **dict.fromkeys(("mydocuments", "personal"), "~/Documents"),
    **dict.fromkeys(("desktop", "desktopdirectory"), "~/Desktop"),
    "mypictures": "~/Pictures",
    "mymusic": "~/Music",
    "myvideos": "~/Videos",
    "userprofile": "~",
    "applicationdata": "~/AppData/Roaming",
    "localapplicationdata": "~/AppData/Local",
    "commonapplicationdata": "C:/ProgramData",
    "windows": "C:/Windows",
    "system": "C:/Windows/System32",
    "programfiles": "C:/Program Files",
}
"""Special folders, as the profile of a person has them."""
_FOLDER_CALL = compile_lazily(
    r"(?i)\[(?:system\.)?environment\]::getfolderpath\(\s*(?:['\"]|\[(?:system\.)?environment[.+]specialfolder\]::)"
    r"(\w+)['\"]?\s*\)"
)
_VARIABLE_CALL = compile_lazily(r"(?i)\[(?:system\.)?environment\]::getenvironmentvariable\(\s*['\"](\w+)['\"][^)]*\)")
_HOME = compile_lazily(r"(?i)\$\{?home\}?(?=\s*[,+)])")
_BRACKETED = compile_lazily(r"(?<=\s)\(\s*('[^']*')\s*\)")
_PART = r"['\"]?((?:~|\$env:\w+|[A-Za-z]:)?[^\s,'\"()]*)['\"]?"
_JOIN = compile_lazily(
    rf"(?i)\[(?:system\.)?io\.path\]::combine\(\s*{_PART}\s*,\s*{_PART}\s*\)|\(\s*join-path\s+(?:-path\s+)?{_PART}\s+"
    rf"(?:-childpath\s+)?{_PART}\s*\)"
)
_SUM = compile_lazily(r"'([^']*)'\s*\+\s*['\"]([^'\"]*)['\"]")
_ASSIGNMENT = compile_lazily(r"\$(\w+)\s*=\s*('[^'\n]*')\s*(?=[;\n]|$)")
_MAX_STEPS = 20


def fold_paths(text: str) -> str:
    """Return the text with the paths that .NET calls make as strings in single quotes, also where a variable is one."""
    if "::" not in text and "=" not in text and "join-path" not in text.lower():
        return text
    text = _FOLDER_CALL.sub(lambda match: f"'{_FOLDERS.get(match[1].lower(), match[0])}'", text)
    text = _VARIABLE_CALL.sub(lambda match: f"'$env:{match[1]}'", text)
    text = _HOME.sub("'~'", text)
    for _ in range(_MAX_STEPS):
        folded = _SUM.sub(r"'\1\2'", _JOIN.sub(_join_parts, text))
        if folded == text:
            break
        text = folded
    text = _BRACKETED.sub(r"\1", text)
    values = {match[1].lower(): match[2] for match in _ASSIGNMENT.finditer(text)}
    for name, value in values.items():
        text = re.sub(rf"(?i)\${re.escape(name)}\b(?!\s*=|[\\/.:\[])", value.replace("\\", r"\\"), text)
    return text


def _join_parts(match: re.Match[str]) -> str:
    first, second = (part for part in match.groups() if part is not None)
    return f"'{first.rstrip('/')}/{second}'"
