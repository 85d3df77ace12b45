"""Environments that a script shows whole, or goes through for what is called like a secret."""

from collections.abc import Iterator

from verdikt.effects.call import Call
from verdikt.model.effect import Effect
from verdikt.model.regex import regex

_WHOLE_ENV = {
    "node": regex(
        r"\b(?:console\.\w+|print|write|stringify|entries|values)\([^)]*\bprocess\.env(?!\s*[.\[\w])|\b(?:Deno\.env\.toObject\(\)|(?:entries|values|stringify|log)\(\s*Bun\.env\s*\))"
    ),
    "ruby": regex(
        r"\b(?:p|pp|puts|print)\s*\(?\s*ENV(?:\.to_h|\.to_a|\.inspect|\.to_hash)?\s*(?:[;)\n}]|$)|\bENV\.(?:each|each_pair|map|values|select|filter|sort)\b"
    ),
    "perl": regex(r"\b(?:print|say|Dumper)\b[^;]*[%@\\]\s*%?ENV\b"),
    "php": regex(
        r"\b(?:print_r|var_dump|var_export|echo|json_encode)\s*\(?\s*(?:getenv\(\s*\)|\$_ENV\s*\)|\$_SERVER\s*\))|\bforeach\s*\(\s*(?:getenv\(\s*\)|\$_ENV\b|\$_SERVER\b)"
    ),
    "awk": regex(r"\bfor\s*\(\s*(\w+)\s+in\s+ENVIRON\s*\)[^}]*\bprintf?\b[^}]*\bENVIRON\[\1\]"),
    "elixir": regex(r"\bSystem\.get_env\(\s*\)"),
    "julia": regex(r"\b(?:println|print|show|display|for\s+\w+\s+in)\s*\(?\s*ENV\s*[);\n]"),
    "r": regex(r"\bSys\.getenv\(\s*\)"),
    "lua": regex(r"\bpopen\(\s*['\"](?:env|printenv)['\"]"),
}
_PICKED = regex(r"\.\s*(?:filter|select|grep|reject)\s*[({](.{0,120})")


def shown(language: str, text: str, call: Call) -> Iterator[Effect]:
    """Every variable of the environment, unless what follows picks some that are called like no secret."""
    pattern = _WHOLE_ENV.get(language)
    found = pattern.search(text) if pattern is not None else None
    if found is None:
        return
    from verdikt.effects.program.network import SECRET_NAME

    picked = _PICKED.search(text[found.start() : found.start() + 300])
    if picked is None:
        yield call.effect("env.read.all")
    elif SECRET_NAME.search(picked[1].upper()):
        yield call.effect("env.read.secret")
