"""Classify HTTP requests to databases, brokers, clusters, clouds and forges by method, host, port and path."""

import re

from verdikt.effects import host
from verdikt.effects.installation_names import is_throwaway
from verdikt.model.lazy_regex import compile_lazily

_URL = compile_lazily(
    r"^(?:[a-z][a-z0-9+.-]*://)?(?:[^/@\s]*@)?(?P<host>\[[^\]]*\]|[^/:?#\s]*)"
    r"(?::(?P<port>\d+))?(?P<path>/[^?#]*)?(?P<query>\?[^#]*)?",
    re.IGNORECASE,
)

_SERVICE_BY_PORT: dict[str, str] = {
    # port → the service that listens there by default
    "9200": "search",
    "9201": "search",
    "7700": "search",
    "8108": "search",
    "8983": "search",
    "5984": "documents",
    "8529": "documents",
    "8086": "series",
    "9090": "series",
    "8428": "series",
    "6333": "documents",
    "19530": "documents",
    "8500": "keys",
    "2379": "keys",
    "8200": "secrets",
    "15672": "queue",
    "8083": "queue",
    "2375": "containers",
    "2376": "containers",
    "6443": "cluster",
    "8001": "cluster",
    "10250": "cluster",
}
_SERVICE_BY_HOST: tuple[tuple[str, str], ...] = (
    ("api.github.com", "forge"),
    ("gitlab.com", "forge"),
    ("api.bitbucket.org", "forge"),
    ("api.digitalocean.com", "cloud"),
    ("api.cloudflare.com", "cloud"),
    ("api.heroku.com", "cloud"),
    ("api.linode.com", "cloud"),
    ("api.hetzner.cloud", "cloud"),
    ("management.azure.com", "cloud"),
    ("googleapis.com", "cloud"),
    ("amazonaws.com", "cloud"),
    ("api.vercel.com", "cloud"),
    ("api.netlify.com", "cloud"),
    ("api.stripe.com", "cloud"),
    ("api.pagerduty.com", "cloud"),
    ("api.sendgrid.com", "cloud"),
    ("api.datadoghq.com", "cloud"),
    ("api.fastly.com", "cloud"),
    ("app.launchdarkly.com", "cloud"),
)
_DELETE_EFFECTS = {
    "search": "db.drop",
    "documents": "db.drop",
    "series": "db.drop",
    "keys": "db.delete.all",
    "secrets": "cred.destroy",
    "queue": "queue.delete",
    "containers": "container.volume.remove",
    "cluster": "k8s.delete.all",
    "forge": "repo.delete",
    "cloud": "cloud.delete",
}
_INDEXED_SERVICES = ("search", "documents", "series")
_SINGLE_ITEM_PATH = compile_lazily(
    r"/_doc/|/documents?/[^/]+$|/comments/|/labels/|/reactions|/points/|/containers/|/pods/|/issues/"
)
_CLUSTER_SETTINGS_PATH = compile_lazily(r"^/_cluster/settings|^/_security/|/_restore$|/_close$")
_GRAPHQL_PATHS = ("/graphql", "/graphql/", "/gql")
_DELETING_MUTATION = compile_lazily(
    r"\bmutation\b[^{]*\{\s*(?:\w+\s*:\s*)?(?:delete|remove|destroy|purge|drop)[A-Z_]\w*"
)
_BULK_DELETE = compile_lazily(r"_delete_by_query|/delete_series|<delete>.*\*:\*|/purge_cache", re.DOTALL)


def _find_service(name: str, port: str) -> str:
    """Return the kind of service behind a port or a host name, or an empty text."""
    return _SERVICE_BY_PORT.get(port, "") or next(
        (kind for end, kind in _SERVICE_BY_HOST if name == end or name.endswith("." + end)), ""
    )


def classify_request(method: str, url: str, body: str = "") -> tuple[str, bool] | None:
    """Return the effect of a request and whether it concerns one item only; None if the address says nothing."""
    match = _URL.match(url)
    if match is None:
        return None
    name, path = match["host"] or "", match["path"] or ""
    if path.endswith(_GRAPHQL_PATHS) and _DELETING_MUTATION.search(body) and not host.is_local_host(name):
        return "cloud.delete", True
    service = _find_service(name, match["port"] or "")
    is_local = host.is_local_host(name)
    if not service or (is_local and service in ("forge", "cloud")):
        return None
    if is_local and service in _INDEXED_SERVICES and is_throwaway(path[1:].partition("/")[0]):
        return None  # an index that was made for a test, on a server of this machine
    if method.upper() == "DELETE":
        return _DELETE_EFFECTS[service], _SINGLE_ITEM_PATH.search(path) is not None
    if method.upper() in ("POST", "PUT") and _BULK_DELETE.search(path + body):
        return ("db.delete.all" if service in ("search", "series") else "cloud.write"), False
    if service == "search" and method.upper() in ("POST", "PUT") and _CLUSTER_SETTINGS_PATH.search(path):
        return "db.admin", False
    if method.upper() == "POST" and name == "api.stripe.com":
        return "cloud.write", False  # every POST to Stripe concerns money
    return None
