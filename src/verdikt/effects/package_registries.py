"""Where packages usually come from: public registries, and the hosts under whose names modules are published."""

from verdikt.effects.arguments import word_set
from verdikt.effects.host import is_local_host, parse_host
from verdikt.effects.secret_issuers import LISTED_DOMAINS
from verdikt.model.lazy_regex import compile_lazily

_KNOWN_REGISTRIES = word_set(
    "pypi.org files.pythonhosted.org test.pypi.org upload.pypi.org download.pytorch.org pypi.nvidia.com "
    "pypi.ngc.nvidia.com data.pyg.org storage.googleapis.com wheels.vllm.ai pypi.tuna.tsinghua.edu.cn "
    "mirrors.aliyun.com pypi.mirrors.ustc.edu.cn mirrors.ustc.edu.cn mirror.baidu.com registry.npmjs.org "
    "registry.yarnpkg.com registry.npmmirror.com npm.pkg.github.com npm.jsr.io jsr.io rubygems.org crates.io "
    "static.crates.io index.crates.io proxy.golang.org sum.golang.org goproxy.cn goproxy.io packagist.org "
    "repo.packagist.org conda.anaconda.org repo.anaconda.com repo1.maven.org deb.debian.org archive.ubuntu.com"
)
_MODULE_HOST = compile_lazily(r"((?:[a-z0-9-]+\.)+(?:[a-z]{2,}|\d+))/")
_GO_HOSTS = word_set(
    "gopkg.in k8s.io sigs.k8s.io uber.org honnef.co mvdan.cc google.golang.org gotest.tools rsc.io modernc.org helm.sh "
    "istio.io codeberg.org sr.ht gioui.org etcd.io buf.build pulumi.com hashicorp.com cuelang.org dagger.io 9fans.net "
    "opentelemetry.io charm.sh ent.io entgo.io tailscale.com rakyll.org elastic.co knative.dev gorm.io goa.design "
    "filippo.io"
)
"""Hosts besides the forges under whose names modules of Go are published."""
INDEX_VARIABLES = word_set(
    "PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_FIND_LINKS UV_INDEX UV_DEFAULT_INDEX UV_INDEX_URL UV_EXTRA_INDEX_URL "
    "npm_config_registry NPM_CONFIG_REGISTRY YARN_REGISTRY YARN_NPM_REGISTRY_SERVER BUN_CONFIG_REGISTRY GOPROXY "
    "CARGO_REGISTRIES_CRATES_IO_INDEX CARGO_REGISTRY_DEFAULT BUNDLE_MIRROR__ALL"
)
"""Variables that name the place packages come from."""


def is_foreign_module(text: str) -> bool:
    """Return whether a module of Go lies at a host that is no usual home of modules: `x.example/tool@latest`."""
    match = _MODULE_HOST.match(text)
    return match is not None and not any(
        match[1] == name or match[1].endswith(f".{name}") for name in (*LISTED_DOMAINS, *_GO_HOSTS)
    )


def is_known_registry(address: str) -> bool:
    """Return whether an address is that of a public registry, or lies on this machine."""
    host = address.split("://", 1)[-1].split("/", 1)[0].rsplit("@", 1)[-1].partition(":")[0]
    return host in _KNOWN_REGISTRIES or is_local_host(parse_host(address))


def find_package_host(address: str) -> str:
    """Return the host of a package's address: of `name@http://host/x`, `git+https://host/x` and `host/x`."""
    return parse_host(address[max(0, address.find("http")) :]) if "://" in address else address.partition("/")[0]
