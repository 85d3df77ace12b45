"""Environments that a script shows whole, or goes through for what is called like a secret."""

from collections.abc import Iterator

from verdikt.effects.invocation import Invocation
from verdikt.effects.program.network import SECRET_NAME
from verdikt.model.effect import Effect
from verdikt.model.lazy_regex import compile_lazily

_ENVIRONMENT_DUMP = {
    "node": compile_lazily(
        r"\b(?:console\.\w+|print|write|stringify|entries|values)\([^)]*\bprocess\.env(?!\s*[.\[\w])|\b(?:Deno\.env\.toObject\(\)|(?:entries|values|stringify|log)\(\s*Bun\.env\s*\))"
    ),
    "ruby": compile_lazily(
        r"\b(?:p|pp|puts|print)\s*\(?\s*ENV(?:\.to_h|\.to_a|\.inspect|\.to_hash)?\s*(?:[;)\n}]|$)|\bENV\.(?:each|each_pair|map|values|select|filter|sort)\b"
    ),
    "perl": compile_lazily(r"\b(?:print|say|Dumper)\b[^;]*[%@\\]\s*%?ENV\b"),
    "php": compile_lazily(
        r"\b(?:print_r|var_dump|var_export|echo|json_encode)\s*\(?\s*(?:getenv\(\s*\)|\$_ENV\s*\)|\$_SERVER\s*\))|\bforeach\s*\(\s*(?:getenv\(\s*\)|\$_ENV\b|\$_SERVER\b)"
    ),
    "awk": compile_lazily(r"\bfor\s*\(\s*(\w+)\s+in\s+ENVIRON\s*\)[^}]*\bprintf?\b[^}]*\bENVIRON\[\1\]"),
    "elixir": compile_lazily(r"\bSystem\.get_env\(\s*\)"),
    "julia": compile_lazily(r"\b(?:println|print|show|display|for\s+\w+\s+in)\s*\(?\s*ENV\s*[);\n]"),
    "r": compile_lazily(r"\bSys\.getenv\(\s*\)"),
    "lua": compile_lazily(r"\bpopen\(\s*['\"](?:env|printenv)['\"]"),
}
_FILTER_CALL = compile_lazily(r"\.\s*(?:filter|select|grep|reject)\s*[({](.{0,120})")


def classify_environment_dump(language: str, text: str, call: Invocation) -> Iterator[Effect]:
    """Every variable of the environment, unless what follows picks some that are called like no secret."""
    pattern = _ENVIRONMENT_DUMP.get(language)
    found = pattern.search(text) if pattern is not None else None
    if found is None:
        return

    picked = _FILTER_CALL.search(text[found.start() : found.start() + 300])
    if picked is None:
        yield call.make_effect("env.read.all")
    elif SECRET_NAME.search(picked[1].upper()):
        yield call.make_effect("env.read.secret")
