"""HTML and SVG from values: every text is escaped, unless it is markup that was built here."""

from html import escape


class Markup(str):
    """A text that is HTML already. Only this module makes one from a plain text."""

    __slots__ = ()


def build_element(name: str, /, *children: str, **attributes: str | float) -> Markup:
    """Return an element. Children that are no markup are escaped, and so is every attribute.

    A trailing underscore of an attribute's name is dropped (`class_`), and underscores inside become dashes.
    """
    pairs = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"' for key, value in attributes.items())
    if name in _VOID_ELEMENTS:
        return Markup(f"<{name}{pairs}>")
    return Markup(f"<{name}{pairs}>{join_markup(*children)}</{name}>")


_VOID_ELEMENTS = frozenset({"meta", "br"})


def join_markup(*children: str) -> Markup:
    """Return several texts or elements as one."""
    # By type and not by content: what comes from the log is a plain text, however much it looks like an element.
    return Markup("".join(child if type(child) is Markup else escape(child) for child in children))


def embed_stylesheet(text: str) -> Markup:
    """Return a style element. The text must be a constant of ours: it is not escaped."""
    return Markup(f"<style>{text}</style>")
