"""Which machines an inventory of Ansible names: containers of this machine alone, or others."""

from __future__ import annotations

from verdikt.model.lazy_regex import compile_lazily

_CONNECTION = compile_lazily(r"ansible_connection[\"']?\s*[=:]\s*[\"']?([\w.]+)")
_CONTAINER_CONNECTIONS = frozenset(
    "docker podman buildah lxc lxd incus community.docker.docker community.docker.docker_api community.docker.nsenter "
    "containers.podman.podman containers.podman.buildah community.general.lxd community.general.incus".split()
)
_SECTION = compile_lazily(r"^\[([^\]]*)\]")
_MAX_LENGTH = 20_000


def names_only_containers(text: str) -> bool:
    """Return whether every host of an inventory, in either form, is reached as a container of this machine."""
    connections = _CONNECTION.findall(text)
    is_reached = bool(connections) and all(name in _CONTAINER_CONNECTIONS for name in connections)
    if not is_reached or len(text) > _MAX_LENGTH or "ansible_host" in text or "docker_host" in text.lower():
        return False
    if not any(_SECTION.match(line) or "=" in line for line in text.splitlines()):
        return True  # YAML, where the setting stands for a group or for each host
    return _has_connection_for_each(text)


def _has_connection_for_each(text: str) -> bool:
    """Return whether each line that names a host has a connection, or a section has it for all of them."""
    section = ""
    hosts: list[str] = []
    for line in map(str.strip, text.splitlines()):
        if not line or line[0] in "#;":
            continue
        if match := _SECTION.match(line):
            section = match[1]
        elif section == "all:vars" and "ansible_connection" in line:
            return True
        elif not section.endswith((":vars", ":children")):
            hosts.append(line)
    return bool(hosts) and all("ansible_connection" in line for line in hosts)
