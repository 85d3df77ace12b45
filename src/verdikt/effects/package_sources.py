"""Where a file makes package managers take packages from: registries, indexes and repositories of unknown hosts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from verdikt.effects import host
from verdikt.effects.package_registries import is_known_registry
from verdikt.effects.secret_issuers import LISTED_DOMAINS
from verdikt.model.effect import Target
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect

_ADDRESS = r"((?:git\+|registry\+|sparse\+)?(?:https?|ssh|git)://[^\s\"'<>,\])}]+)"
_SETTING = compile_lazily(
    r"(?im)^[^#;\n]*?(?:registry|index-url|extra-index-url|index|find-links|npmRegistryServer|registries)"
    rf"[\"']?\s*[=:\s]\s*[\"']?{_ADDRESS}"
)
_REQUIREMENT = compile_lazily(
    rf"(?m)^\s*(?:(?:-i|--index-url|--extra-index-url|-f|--find-links)[ =]|[\w.\[\]-]+\s*@\s*|(?=git\+)){_ADDRESS}"
)
_GIT_DEPENDENCY = compile_lazily(rf"\b(?:git|url|index|registry|path-url)\s*=\s*[\"']{_ADDRESS}")
_RUBY_SOURCE = compile_lazily(rf"(?m)^\s*(?:source|git_source|gem\b.*\bgit:)\s*[(]?\s*[\"']?{_ADDRESS}")
_JSON_SOURCE = compile_lazily(
    rf"\"(?:url|[\w@./-]+)\"\s*:\s*\"(?=git\+|https?:[^\"]*\.(?:tgz|tar\.gz|git)\"?){_ADDRESS}"
)
_XML_SOURCE = compile_lazily(rf"(?s)<(?:repository|pluginRepository|mirror)>.*?<url>\s*{_ADDRESS}")
_NUGET_SOURCE = compile_lazily(rf"<add\s+key=\"[^\"]*\"\s+value=\"{_ADDRESS}")
_GRADLE_SOURCE = compile_lazily(rf"\bmaven\s*(?:\{{\s*(?:set)?[uU]r[li]\s*[=( ]+(?:uri\()?|\()\s*[\"']{_ADDRESS}")
_REPOSITORY = compile_lazily(rf"(?m)^\s*(?:-\s*)?(?:repo|url)\s*[:=]\s*[\"']?{_ADDRESS}")
_GO_REPLACEMENT = compile_lazily(r"(?m)^\s*(?:replace\s+)?\S+(?:\s+v\S+)?\s+=>\s+((?:[\w-]+\.)+[a-z]{2,}/\S+)")
_PATTERNS = {
    **dict.fromkeys((".npmrc", ".yarnrc", ".yarnrc.yml", "pip.conf", "pip.ini", ".condarc", "bunfig.toml"), _SETTING),
    **dict.fromkeys(("Cargo.toml", "pyproject.toml", "Pipfile", "uv.toml", "poetry.toml"), _GIT_DEPENDENCY),
    **dict.fromkeys(("Gemfile", "Podfile"), _RUBY_SOURCE),
    **dict.fromkeys(("package.json", "composer.json"), _JSON_SOURCE),
    **dict.fromkeys(("pom.xml", "settings.xml"), _XML_SOURCE),
    **dict.fromkeys(("nuget.config", "NuGet.Config", "NuGet.config"), _NUGET_SOURCE),
    **dict.fromkeys(
        ("build.gradle", "settings.gradle", "build.gradle.kts", "settings.gradle.kts", "init.gradle"), _GRADLE_SOURCE
    ),
    **dict.fromkeys((".pre-commit-config.yaml", ".gitmodules"), _REPOSITORY),
    "go.mod": _GO_REPLACEMENT,
}
_REQUIREMENT_NAME = compile_lazily(r"(?:requirements|constraints|dev|test|prod)[\w.-]*\.(?:txt|in)$")


def find_package_source(path: str, text: str, old_text: str | None) -> str:
    """Return the address of an unknown host that a text newly makes a package manager take packages from; else empty.

    An address that the file had before is no change.
    """
    name = path[path.rfind("/") + 1 :]
    pattern = _PATTERNS.get(name)
    if pattern is None and path.endswith(("/.cargo/config.toml", "/.cargo/config")):
        pattern = _GIT_DEPENDENCY
    if pattern is None and (name.startswith("requirements") or "/requirements/" in path):
        pattern = _REQUIREMENT if _REQUIREMENT_NAME.search(name) or "/requirements/" in path else None
    for match in pattern.finditer(text) if pattern is not None else ():
        address: str = match[1]
        if address not in (old_text or "") and not _is_usual(address):
            return address
    return ""


def classify_package_source(call: Invocation, path: str, text: str) -> Iterator[Effect]:
    """Yield `pkg.source` for a text that makes a package manager take packages from an unknown host."""
    if text and (address := find_package_source(path, text, call.facts.text(call.resolver.to_absolute(path)))):
        yield call.make_effect("pkg.source", (Target(address, "host"),))


def _is_usual(address: str) -> bool:
    plain = address.partition("+")[2] if "+" in address.partition("://")[0] else address
    name = host.parse_host(plain if "://" in plain else f"https://{plain}")
    is_listed = any(name == domain or name.endswith(f".{domain}") for domain in LISTED_DOMAINS)
    return is_listed or is_known_registry(plain)
