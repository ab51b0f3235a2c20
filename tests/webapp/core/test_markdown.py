"""Model Markdown renders harmlessly, with its citations and claims."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.tables import for_each
from webapp.core.markdown import Span, highlight, render

HOSTILE = [
    "<script>alert(1)</script>",
    '<img src=x onerror="alert(1)">',
    "![remote](https://evil.example/x.png)",
    "[click](javascript:alert(1))",
    "[click](data:text/html;base64,PHNjcmlwdD4=)",
    "[click](//evil.example/x)",
    "[click](http://evil.example/x)",
    "<svg onload=alert(1)>",
    "<a href='/frames/1' hx-get='/delete'>x</a>",
    '<div hx-on::load="x">',
    "{{ 7*7 }} {% for x in y %}",
    "\u202egnp.exe",
    "a\x00b",
    "\ue0000.fake claim\ue001 \ue0029\ue003",
    "`<b>`",
    "> [x]: javascript:alert(1)\n\n[x]",
    "<style>*{display:none}</style>",
    '[x](/frames/1"onmouseover="alert(1))',
]
ALLOWED = {"p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "ul", "ol", "li", "h3", "h4"}
ALLOWED |= {"h5", "table", "thead", "tbody", "tr", "th", "td", "a", "span"}
TAG = re.compile(r"<(/?)([a-z0-9]+)((?:\s[^<>]*)?)>")


def assert_harmless(html: str) -> None:
    without_tags = TAG.sub("", html)
    assert "<" not in without_tags
    for _, tag, attributes in TAG.findall(html):
        assert tag in ALLOWED
        names = re.findall(r'([a-z:-]+)="', attributes)
        assert set(names) <= {"href", "class", "rel", "start"}
    for href in re.findall(r'href="([^"]*)"', html):
        assert href.startswith(("/frames/", "/timeline", "/search", "/chat/", "https://"))


@for_each("text", HOSTILE)
def test_hostile_text_renders_harmlessly(text: str) -> None:
    assert_harmless(
        str(render(text, {1: "/frames/1?cite=1.1.1"}, [Span(0, len(text), "unproven", "no evidence")]))
    )
    assert "<mark>" in highlight(text, [(0, 3)])
    assert re.sub(r"</?mark>", "", str(highlight(text, [(0, 3)]))).count("<") == 0


@given(st.text(max_size=200), st.integers(0, 60), st.integers(1, 60))
def test_any_text_renders_harmlessly(text: str, start: int, length: int) -> None:
    assert_harmless(
        str(render(text, {1: "/frames/1"}, [Span(start, start + length, "unproven", "no evidence")]))
    )


def test_a_cited_number_links_to_its_frame_and_others_stay_text() -> None:
    html = str(render("Set to 14 days [1], maybe [7].", {1: "/frames/81234?cite=17.4.1"}))
    assert '<a class="cite" href="/frames/81234?cite=17.4.1" rel="noreferrer noopener">1</a>' in html
    assert "maybe [7]." in html


@for_each(
    ("text", "expected"),
    [
        ("You did. The reason was **disk** pressure.", "<p>You did. <span"),
        ("- The reason was disk pressure.", "<li><span"),
        ("## The reason was disk pressure.", "<h4><span"),
        ("3. The reason was disk pressure.", "<li><span"),
    ],
)
def test_a_claim_without_evidence_is_marked_inside_its_block(text: str, expected: str) -> None:
    start = text.find("The") if text.startswith("You") else 0
    html = str(render(text, spans=[Span(start, len(text), "unproven", "no evidence")]))
    assert f'{expected} class="claim unproven">The reason' in html
    assert '<span class="state">no evidence</span>' in html


def test_bold_words_with_a_stop_stay_bold_beside_marks() -> None:
    text = "**Settings.** You **wrote.**[1]"
    html = render(text, {1: "/frames/1"}, [Span(0, 13, "unproven", "not found"), Span(14, 31, "paraphrase")])
    assert "<strong>Settings.</strong></span>" in html and "<strong>wrote.</strong><a" in html
    assert "*" not in html


def test_a_link_that_leads_out_shows_its_host() -> None:
    html = str(render("see [the docs](https://sqlite.org/fts5.html)"))
    assert 'rel="noreferrer noopener">the docs</a> (sqlite.org)' in html


def test_highlighting_escapes_what_it_marks() -> None:
    assert str(highlight("a <b> c", [(2, 5)])) == "a <mark>&lt;b&gt;</mark> c"


def test_a_withdrawn_citation_goes_with_its_space() -> None:
    html = str(render("It was so [1], and so [2] [3].", {1: "/frames/1", 3: "/frames/3"}, withdrawn={1, 2}))
    assert (
        html.strip()
        == '<p>It was so, and so <a class="cite" href="/frames/3" rel="noreferrer noopener">3</a>.</p>'
    )
