"""Model Markdown renders harmlessly, with its citations and claims."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.tables import for_each
from webapp.core.markdown import Mark, Marks, highlight, pieces, render

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
    "\ue0000.fake mark.\ue001 \ue0049\ue003. .\ue0057\ue003",
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
    assert not re.search("[\ue000-\ue00f]", html)
    for href in re.findall(r'href="([^"]*)"', html):
        assert href.startswith(("/frames/", "/timeline", "/search", "/chat/", "https://"))


@for_each("text", HOSTILE)
def test_hostile_text_renders_harmlessly(text: str) -> None:
    marks = Marks([Mark(0, len(text), "on-frame", "/frames/1")], citations={1: "/frames/1?cite=1.1.1"})
    assert_harmless(str(render(text, marks)))
    assert "<mark>" in highlight(text, [(0, 3)])
    assert re.sub(r"</?mark>", "", str(highlight(text, [(0, 3)]))).count("<") == 0


@given(st.text(max_size=200), st.integers(0, 60), st.integers(1, 60))
def test_any_text_renders_harmlessly(text: str, start: int, length: int) -> None:
    stop = start + length
    drawn = [Mark(start, stop, "off-frame"), Mark(start, stop, "state warn", text="<b>")]
    marks = Marks(drawn, {1: "/frames/1"}, breaks=(start, stop))
    assert_harmless(str(render(text, marks)))
    assert sorted(end for _, end in pieces(text, marks) if end is not None) == [0, 1]


def test_a_cited_number_opens_its_frame_and_later_leads_to_its_quote() -> None:
    marks = Marks(citations={1: "/frames/81234?cite=17.4.1"}, again={1: "/chat/17#t4e1"})
    html = str(render("Set to 14 days [1], still [1], maybe [7], `arr[1]`.", marks))
    number = 'rel="noreferrer noopener"><span class="hush">Source </span>1</a>'
    assert f'<a class="cite" href="/frames/81234?cite=17.4.1" {number}' in html
    assert f'<a class="cite" href="/chat/17#t4e1" {number}' in html
    assert "maybe [7]" in html and "<code>arr[1]</code>" in html


@for_each(
    ("text", "expected"),
    [
        ("You did. The reason was **disk** pressure.", "<p>You did. <span"),
        ("- The reason was disk pressure.", "<li><span"),
        ("## The reason was disk pressure.", "<h3><span"),
        ("3. The reason was disk pressure.", "<li><span"),
    ],
)
def test_a_stretch_is_marked_inside_its_block(text: str, expected: str) -> None:
    start = text.find("The") if text.startswith("You") else 0
    html = str(render(text, Marks([Mark(start, len(text), "no-source")])))
    assert f'{expected} class="no-source">The reason' in html


def test_bold_words_with_a_stop_stay_bold_beside_marks() -> None:
    text = "**Settings.** You **wrote.**[1]"
    marks = Marks([Mark(0, 13, "off-frame"), Mark(14, 31, "off-frame")], citations={1: "/frames/1"})
    html = render(text, marks)
    assert "<strong>Settings.</strong></span>" in html and "<strong>wrote.</strong><a" in html
    assert "*" not in html


def test_an_address_stays_whole() -> None:
    text = "see [it](https://a.example/14) and <https://a.example/14>"
    marks = Marks([Mark(at, at + 2, "off-frame") for at in (text.index("14"), text.rindex("14"))])
    assert str(render(text, marks)).count('href="https://a.example/14"') == 2


@for_each(
    ("text", "before", "after"),
    [
        ("One **two.** Three.", "<p>One <strong>two.</strong></p>", "<p> Three.</p>"),
        ("**One two.** three.", "<p><strong>One two.</strong></p>", "<p> three.</p>"),
        ("- one two.\n- three", "<ul>\n<li>one two.", "</li>\n<li>three</li>\n</ul>"),
        ("# One\n## two.\n\nthree", "<h3>One</h3>\n<h4>two.</h4>", "\n<p>three</p>"),
        ("|one two.|\n|-|\n|three|", "</table>", ""),
    ],
)
def test_a_text_is_cut_at_a_break_and_stays_well_formed(text: str, before: str, after: str) -> None:
    cut = text.index("two.") + (6 if "two.**" in text else 5 if "two.|" in text else 4)
    first, second = pieces(text, Marks(breaks=(cut,)))
    assert first[1] == 0 and second[1] is None
    assert first[0].rstrip().endswith(before) and second[0].rstrip() == after.rstrip()


def test_a_link_that_leads_out_shows_its_host() -> None:
    html = str(render("see [the docs](https://sqlite.org/fts5.html)"))
    assert 'rel="noreferrer noopener">the docs</a> (sqlite.org)' in html


def test_highlighting_escapes_what_it_marks() -> None:
    assert str(highlight("a <b> c", [(2, 5)])) == "a <mark>&lt;b&gt;</mark> c"


def test_a_withdrawn_citation_goes_with_its_space() -> None:
    marks = Marks(citations={3: "/frames/3"}, withdrawn=frozenset({1, 2}))
    html = str(render("It was so [1], and so [2] [3].", marks))
    assert html.startswith('<p>It was so, and so <a class="cite" href="/frames/3"')
