"""Registries: where packages come from, and what every package manager says of them."""

import re
from collections.abc import Iterator

from verdikt.effects.arguments import word_set
from verdikt.effects.host import is_local_address as is_here
from verdikt.effects.invocation import Invocation
from verdikt.effects.program_record import EffectSpec, Program
from verdikt.model.effect import Effect, Target
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

_KNOWN_REGISTRIES = word_set(
    "pypi.org files.pythonhosted.org test.pypi.org upload.pypi.org download.pytorch.org pypi.nvidia.com "
    "pypi.ngc.nvidia.com data.pyg.org storage.googleapis.com wheels.vllm.ai pypi.tuna.tsinghua.edu.cn "
    "mirrors.aliyun.com pypi.mirrors.ustc.edu.cn mirrors.ustc.edu.cn mirror.baidu.com registry.npmjs.org "
    "registry.yarnpkg.com registry.npmmirror.com npm.pkg.github.com npm.jsr.io jsr.io rubygems.org crates.io "
    "static.crates.io index.crates.io proxy.golang.org sum.golang.org goproxy.cn goproxy.io packagist.org "
    "repo.packagist.org conda.anaconda.org repo.anaconda.com repo1.maven.org deb.debian.org archive.ubuntu.com"
)
_SOURCE_ADDRESS = compile_lazily(
    r"^(?:(?:git|hg|svn|bzr)\+|(?:https?|ftp|git|ssh)://|git@|(?:github|gitlab|bitbucket|gist|git):)"
)
_OWNER_REPO = compile_lazily(r"^[A-Za-z0-9][\w.-]*/[\w.-]+(?:#.+)?$")
_SOURCE_SETTINGS = (
    "index-url",
    "extra-index-url",
    "find-links",
    "trusted-host",
    "registry",
    "index_url",
    "index-server",
    "npmregistryserver",
)
PACKAGE = "package"


def is_foreign_package(text: str, *, allow_repositories: bool = False) -> bool:
    """Whether a package comes from an address instead of a registry; with `repositories`, `owner/name` is one too."""
    spec = text.split(" @ ", 1)[-1].strip()
    spec = spec.split("@", 1)[1] if re.match(r"^[\w.\[\]-]+@(?:git\+|https?:)", spec) else spec
    if _SOURCE_ADDRESS.match(spec):
        return not is_known_registry(spec)
    return allow_repositories and bool(_OWNER_REPO.match(spec)) and not spec.endswith((".tgz", ".tar.gz", "/"))


def is_known_registry(address: str) -> bool:
    """Whether an address is that of a registry which everybody knows, or lies on this machine."""
    host = address.split("://", 1)[-1].split("/", 1)[0].rsplit("@", 1)[-1].partition(":")[0]
    return host in _KNOWN_REGISTRIES or is_here(address)


_INDEX_VARIABLES = word_set(
    "PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_FIND_LINKS UV_INDEX UV_DEFAULT_INDEX UV_INDEX_URL UV_EXTRA_INDEX_URL "
    "npm_config_registry NPM_CONFIG_REGISTRY YARN_REGISTRY YARN_NPM_REGISTRY_SERVER BUN_CONFIG_REGISTRY GOPROXY "
    "CARGO_REGISTRIES_CRATES_IO_INDEX CARGO_REGISTRY_DEFAULT BUNDLE_MIRROR__ALL"
)
"""Variables that name the place packages come from."""


def classify_install(
    call: Invocation, packages: list[Word], what: str = "pkg.install", *, allow_repositories: bool = False
) -> Iterator[Effect]:
    """Classify an installation by where each package comes from."""
    args = call.args
    address = args.get_value(
        "-i --index-url --extra-index-url --find-links --index --registry --source -s --default-index --repository "
        "--repo-url"
    )
    address = address or next((value for name, value in call.list_assignments() if name in _INDEX_VARIABLES), None)
    strange = [word for word in packages if is_foreign_package(word.text, allow_repositories=allow_repositories)]
    strange += [
        word
        for word in args.get_values(
            "-r --requirement -c --constraint --from --with --spec -p --package --git -e --editable"
        )
        if is_foreign_package(word.text)
    ]
    if args.has_flag("--git"):
        strange += args.get_values("--git")
    if address is not None and "://" in address.text and not is_known_registry(address.text):
        strange.append(address)
    strange += [word for word in args.get_values("--trusted-host") if not is_known_registry(word.text)]
    if strange:
        yield call.make_effect("pkg.foreign", tuple(Target(word.display_text, PACKAGE) for word in strange))
    else:
        yield call.make_effect(what, tuple(Target(word.display_text, PACKAGE) for word in packages))


def classify_setting(call: Invocation, key: str, value: str) -> Effect:
    """Classify a package manager's setting: only package sources and credentials matter."""
    key, _, inline = key.partition("=")
    value = value or inline
    if key in ("script-shell", "shell", "git", "init-module", "node-options", "onload-script"):
        return call.make_effect(
            "pkg.source", (Target(f"{key}={value}", "other"),), note="another program runs the scripts"
        )
    if any(secret in key.lower() for secret in ("token", "password", "_auth", "credential")):
        return call.make_effect("cred.write", (Target(key, "other"),))
    unsafe = key.lower() in ("strict-ssl", "http.sslverify", "ssl_verify") and value.lower() in ("false", "0", "no")
    if unsafe or (key.lower().endswith(_SOURCE_SETTINGS) and not is_known_registry(value)):
        return call.make_effect("pkg.source", (Target(value or key, "host"),))
    return call.make_effect("pkg.setting", (Target(key, "other"),))


def classify_add(call: Invocation) -> Iterator[Effect]:
    yield from classify_install(call, call.args.operands)


PUBLISH = EffectSpec("pkg.publish", "*", PACKAGE, without_target=True)
UNPUBLISH = EffectSpec("pkg.unpublish", "*", PACKAGE, without_target=True)
ADMIN = EffectSpec("pkg.admin", "*", PACKAGE, without_target=True)
READ = EffectSpec("pkg.read")
BUILD = EffectSpec("code.build")
REMOVE = EffectSpec("pkg.remove", "*", PACKAGE, without_target=True)
LOGIN = EffectSpec("cred.write", note="stores a credential for the registry")
ADD = Program(classify=classify_add)
