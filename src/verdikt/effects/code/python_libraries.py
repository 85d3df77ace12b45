"""Methods of Python's libraries that destroy or read something, told by their names."""

from __future__ import annotations

from collections.abc import Collection

from verdikt.effects.argv import word_set

FILE_READERS = word_set(
    "read read_file read_csv read_table read_json getline getlines input open add write load from_private_key_file from_file upload_file upload put_object "
    "storbinary sendfile send_file memmap fromfile loadtxt genfromtxt open_code connect put ZipFile GzipFile run_path read_configuration"
)
"""Functions that read the file they are given the name of, in whatever module."""

_DROP_METHODS = frozenset("drop_all drop_table drop_database drop_collection flushall flushdb".split())
_CLOUD_DELETE_METHODS = frozenset(
    "delete_bucket terminate_instances delete_table delete_db_instance delete_object delete_objects delete_stack".split()
)
_CLOUD_DELETE_PREFIXES = ("delete_", "terminate_", "purge_", "deregister_", "schedule_key_deletion")


def classify_method(name: str, owner: str, modules: Collection[str], *, throwaway: bool) -> str:
    """What a method of a library for databases or clouds destroys; empty for any other.

    `owner` is what stands before its name, `modules` is what was imported; `light` says that the database goes with the program.
    """
    if name in _DROP_METHODS:
        return "" if throwaway else "db.drop"
    cloud = "boto3" in modules
    if name.startswith("delete_") and any(module.startswith("kubernetes") for module in modules):
        return "k8s.delete.all" if "namespace" in name.split("_")[1:2] else "k8s.delete"
    if name == "prune" and "docker" in modules:
        return "container.volume.remove" if owner.endswith(".volumes") else "container.prune"
    if name in ("sendmail", "send_message") and "smtplib" in modules:
        return "message.send"
    if name in _CLOUD_DELETE_METHODS or (cloud and name.startswith(_CLOUD_DELETE_PREFIXES)):
        return "cloud.delete"
    if name == "delete" and ".all()" in (spoken := owner[-200:]) and ".objects" in spoken:
        return "cloud.delete" if cloud else "" if throwaway else "db.delete.all"
    return ""
