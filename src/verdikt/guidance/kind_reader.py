"""Read the items of a section: a kind with its settings, or a class of the user's own."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from verdikt.graph.custom_class import IMPORT_PATH, read_custom_class
from verdikt.graph.failure import describe_error
from verdikt.graph.guard_settings import infer_settings
from verdikt.model.schema_type import Field, choice_type, mapping_schema, read_fields
from verdikt.model.yaml_document import to_plain
from verdikt.model.yaml_node import YamlNode

SHORTHAND_SETTINGS = {
    "files": "files",
    "command": "command",
    "evidence": "validator",
    "findings": "level",
    "static": "feedback",
}
"""Kind → the setting whose value may stand for all settings, as in `command: pytest -q`."""

USE, WITH = "use", "with"
"""Keys of an item of a user's own class: its import path, and its settings."""

LEVELS = ("LOW", "MEDIUM", "HIGH", "CRITICAL")


@dataclass(frozen=True)
class KindReader:
    """Reader for items of several kinds, each with its own settings.

    An item is a kind's name, or a mapping of one kind to its settings, with options beside it.
    """

    classes: Mapping[str, Any]
    options: Mapping[str, Field]
    label: str
    methods: tuple[str, ...]
    """The methods that a user's own class must have."""

    @cached_property
    def kind_settings(self) -> dict[str, dict[str, Field]]:
        """Return the settings of each kind."""
        settings = {kind: infer_settings(cls) or {} for kind, cls in self.classes.items()}
        # The class takes any text; a file must name a level that councils know.
        if "findings" in settings:
            settings["findings"] = {"level": Field(choice_type(LEVELS), "the level from which on a finding counts")}
        return settings

    def read_item(self, node: YamlNode) -> tuple[Any, dict[str, Any]] | None:
        """Return the item and its options, or None after recording what is wrong."""
        if isinstance(node.value, str) and node.value in self.classes:
            item = self._build_item(node.value, {}, node)
            return None if item is None else (item, {})
        names = ", ".join(self.classes)
        if not isinstance(node.value, Mapping):
            node.add_mismatch(f"a {self.label}, one of {names}")
            return None
        if USE in node.value:
            return self._read_custom_item(node)
        children = node.read_mapping([*self.classes, *self.options])
        kinds = [key for key in children if key in self.classes]
        if len(kinds) != 1:
            node.add_error(f"expected one {self.label} ({names}), found {', '.join(f'`{k}`' for k in kinds) or 'none'}")
            return None
        before = len(node.document.errors)
        inner = children[kinds[0]]
        values = self._read_values(kinds[0], inner)
        options = {
            k: v
            for k in children
            if k in self.options and (v := self.options[k].schema_type.read(children[k])) is not None
        }
        # Errors are recorded and reading goes on, so that one run reports all of them.
        if len(node.document.errors) > before:
            return None
        item = self._build_item(kinds[0], values, inner)
        return None if item is None else (item, options)

    def _read_custom_item(self, node: YamlNode) -> tuple[Any, dict[str, Any]] | None:
        """Return an object of a user's own class, named by its import path, and the options beside it."""
        before = len(node.document.errors)
        children = node.read_mapping([USE, WITH, *self.options])
        options = {
            key: value
            for key in children
            if key in self.options and (value := self.options[key].schema_type.read(children[key])) is not None
        }
        settings = to_plain(children[WITH].value) if WITH in children else {}
        if not isinstance(settings, dict):
            children[WITH].add_mismatch("a mapping of settings")
        custom_class = read_custom_class(
            children[USE],
            node.document.load_object,
            what=self.label,
            example="mypkg.policies:Freeze",
            methods=self.methods,
        )
        if custom_class is None or len(node.document.errors) > before:
            return None
        try:
            item = custom_class(**settings)
        except Exception as error:
            # A user's class may refuse its settings in any way.
            node.add_error(f"`{children[USE].value}` refuses its settings: {describe_error(error)}")
            return None
        return item, options

    def read_items(self, node: YamlNode, label: str) -> Iterator[tuple[YamlNode, Any, dict[str, Any]]]:
        """Yield node, item and options for each readable item of a list."""
        for item in list_items(node, label):
            read = self.read_item(item)
            if read is not None:
                yield item, *read

    def _read_values(self, kind: str, node: YamlNode) -> dict[str, Any]:
        if node.value is None:
            return {}
        short = SHORTHAND_SETTINGS.get(kind)
        if short and not isinstance(node.value, Mapping):
            value = self.kind_settings[kind][short].schema_type.read(node)
            return {} if value is None else {short: value}
        return read_fields(node, self.kind_settings[kind])

    def _build_item(self, kind: str, values: dict[str, Any], node: YamlNode) -> Any:
        missing = [key for key, setting in self.kind_settings[kind].items() if setting.required and key not in values]
        if missing:
            if not isinstance(node.value, Mapping):
                node.add_error(f"`{kind}`: expected the setting `{missing[0]}`, found none")
            return None
        return node.try_build(lambda: self.classes[kind](**values))

    @property
    def item_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of one item."""
        options = mapping_schema(self.options)["properties"]
        bare = [
            kind
            for kind, settings in self.kind_settings.items()
            if not any(field.required for field in settings.values())
        ]
        variants: list[dict[str, Any]] = [{"enum": bare}] if bare else []
        for kind, settings in self.kind_settings.items():
            inner: list[Mapping[str, Any]] = [mapping_schema(settings)]
            if kind in SHORTHAND_SETTINGS:
                inner.append(settings[SHORTHAND_SETTINGS[kind]].schema_type.json_schema)
            if kind in bare:
                inner.append({"type": "null"})
            properties = {kind: {"anyOf": inner}, **options}
            variants.append(
                {"type": "object", "required": [kind], "additionalProperties": False, "properties": properties}
            )
        custom = {USE: {"type": "string", "pattern": IMPORT_PATH.pattern}, WITH: {"type": "object"}, **options}
        variants.append({"type": "object", "required": [USE], "additionalProperties": False, "properties": custom})
        return {"anyOf": variants}


def list_items(node: YamlNode, label: str) -> list[YamlNode]:
    """Return the items of a list that has some; anything else is an error of the node."""
    items = node.read_items(what=f"a list of {label}")
    if node.value == []:
        node.add_mismatch(f"at least one of the {label}")
    return items
