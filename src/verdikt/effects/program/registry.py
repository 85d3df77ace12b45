"""Registries: where packages come from, and what every package manager says of them."""

import re
from collections.abc import Iterator

from verdikt.effects.argument import words
from verdikt.effects.call import Call
from verdikt.effects.program.storage import is_here
from verdikt.effects.program.table import Does, Program
from verdikt.model.effect import Effect, Target
from verdikt.model.regex import regex
from verdikt.shell.command import Word

_REGISTRIES = words(
    "pypi.org files.pythonhosted.org test.pypi.org upload.pypi.org download.pytorch.org pypi.nvidia.com pypi.ngc.nvidia.com data.pyg.org storage.googleapis.com wheels.vllm.ai "
    "pypi.tuna.tsinghua.edu.cn mirrors.aliyun.com pypi.mirrors.ustc.edu.cn mirrors.ustc.edu.cn mirror.baidu.com "
    "registry.npmjs.org registry.yarnpkg.com registry.npmmirror.com npm.pkg.github.com npm.jsr.io jsr.io rubygems.org crates.io static.crates.io index.crates.io "
    "proxy.golang.org sum.golang.org goproxy.cn goproxy.io packagist.org repo.packagist.org conda.anaconda.org repo.anaconda.com repo1.maven.org deb.debian.org archive.ubuntu.com"
)
_SOURCE = regex(r"^(?:(?:git|hg|svn|bzr)\+|(?:https?|ftp|git|ssh)://|git@|(?:github|gitlab|bitbucket|gist|git):)")
_OWNER_REPO = regex(r"^[A-Za-z0-9][\w.-]*/[\w.-]+(?:#.+)?$")
_SOURCES = (
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


def foreign(text: str, *, repositories: bool = False) -> bool:
    """Whether a package comes from an address instead of a registry; with `repositories`, `owner/name` is one too."""
    spec = text.split(" @ ", 1)[-1].strip()
    spec = spec.split("@", 1)[1] if re.match(r"^[\w.\[\]-]+@(?:git\+|https?:)", spec) else spec
    if _SOURCE.match(spec):
        return not usual(spec)
    return repositories and bool(_OWNER_REPO.match(spec)) and not spec.endswith((".tgz", ".tar.gz", "/"))


def usual(address: str) -> bool:
    """Whether an address is that of a registry which everybody knows, or lies on this machine."""
    host = address.split("://", 1)[-1].split("/", 1)[0].rsplit("@", 1)[-1].partition(":")[0]
    return host in _REGISTRIES or is_here(address)


def install(
    call: Call, packages: list[Word], what: str = "pkg.install", *, repositories: bool = False
) -> Iterator[Effect]:
    """An installation, judged by where each package comes from."""
    args = call.args
    address = args.value(
        "-i --index-url --extra-index-url --find-links --index --registry --source -s --default-index --repository --repo-url"
    )
    strange = [word for word in packages if foreign(word.text, repositories=repositories)]
    strange += [
        word
        for word in args.all("-r --requirement -c --constraint --from --with --spec -p --package --git -e --editable")
        if foreign(word.text)
    ]
    if args.has("--git"):
        strange += args.all("--git")
    if address is not None and "://" in address.text and not usual(address.text):
        strange.append(address)
    strange += [word for word in args.all("--trusted-host") if not usual(word.text)]
    if strange:
        yield call.effect("pkg.foreign", tuple(Target(word.shown, PACKAGE) for word in strange))
    else:
        yield call.effect(what, tuple(Target(word.shown, PACKAGE) for word in packages))


def setting(call: Call, key: str, value: str) -> Effect:
    """A package manager's setting: where packages come from and who one is matter, the rest does not."""
    key, _, inline = key.partition("=")
    value = value or inline
    if key in ("script-shell", "shell", "git", "init-module", "node-options", "onload-script"):
        return call.effect("pkg.source", (Target(f"{key}={value}", "other"),), note="another program runs the scripts")
    if any(secret in key.lower() for secret in ("token", "password", "_auth", "credential")):
        return call.effect("cred.write", (Target(key, "other"),))
    unsafe = key.lower() in ("strict-ssl", "http.sslverify", "ssl_verify") and value.lower() in ("false", "0", "no")
    if unsafe or (key.lower().endswith(_SOURCES) and not usual(value)):
        return call.effect("pkg.source", (Target(value or key, "host"),))
    return call.effect("pkg.setting", (Target(key, "other"),))


def _added(call: Call) -> Iterator[Effect]:
    yield from install(call, call.args.operands)


PUBLISH = Does("pkg.publish", "*", PACKAGE, bare=True)
UNPUBLISH = Does("pkg.unpublish", "*", PACKAGE, bare=True)
ADMIN = Does("pkg.admin", "*", PACKAGE, bare=True)
READ = Does("pkg.read")
BUILD = Does("code.build")
REMOVE = Does("pkg.remove", "*", PACKAGE, bare=True)
LOGIN = Does("cred.write", note="stores a credential for the registry")
ADD = Program(call=_added)
