"""Markup is built from values: what comes from outside stays text."""

from verdikt.report.activity.markup import Markup, build_element, join_markup


def test_texts_and_attributes_are_escaped() -> None:
    """Neither a child nor an attribute can end its element."""
    element = build_element("a", "<b>&", href='"><script>', class_="x", aria_label="y")

    assert element == '<a href="&quot;&gt;&lt;script&gt;" class="x" aria-label="y">&lt;b&gt;&amp;</a>'


def test_markup_is_kept_and_a_text_that_looks_like_it_is_not() -> None:
    """The type tells, not the content."""
    inner = build_element("b", "x")

    assert build_element("p", inner, str(inner)) == "<p><b>x</b>&lt;b&gt;x&lt;/b&gt;</p>"
    assert type(join_markup("a", inner)) is Markup
    # An operation on markup gives a plain text, which is escaped again.
    assert build_element("p", inner + "<i>") == "<p>&lt;b&gt;x&lt;/b&gt;&lt;i&gt;</p>"
