"""Model Markdown as safe HTML: the only maker of `Markup` in the program.

Model output and screen text are guests from outside. markdown-it makes HTML with raw HTML and
pictures switched off; nh3 then keeps an allow-list of tags and refuses every address that is not
a page of ours or https. Citations and claims are marked before rendering with characters of
Unicode's private use area, which take part in no Markdown syntax, and become elements after it,
still in front of nh3.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

_TAGS = {
    "p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "ul", "ol", "li",
    "h3", "h4", "h5", "table", "thead", "tbody", "tr", "th", "td", "a", "span",
}  # fmt: skip
_CLASSES = {
    "a": {"cite"},
    "span": {"claim", "unproven", "unchecked", "paraphrase", "measured", "state"},
}
_OWN_PATHS = ("/frames/", "/timeline", "/search", "/chat/", "#e")  # "#e": the evidence of an export

# Private use area: start of claim, end of claim, start and end of a citation. Each mark shows a full stop
# to its neighbours: beside a letter, "**Settings.**" would not be bold (CommonMark, 6.2).
_OPEN, _CLOSE, _CITE, _CITED = "\ue000", ".\ue001", ".\ue002", "\ue003."
_MARKS = re.compile("[\ue000-\ue00f]")
_MARK = re.compile(rf"{_OPEN}(?P<open>\d+)\.|\{_CLOSE}|\{_CITE}(?P<cite>\d+)\ue003\.")
_BLOCK_PREFIX = re.compile(r"\s{0,3}(?:[-*+]\s+|\d{1,9}[.)]\s+|#{1,6}\s+|>\s?)*")
_CITATION = re.compile(r"\[(\d{1,3})\](?!\()")
_SPACED_CITATION = re.compile(r"[ \t]?\[(\d{1,3})\](?!\()")


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the Markdown that gets a class and, after it, a word."""

    start: int
    end: int
    css_class: str  # unproven, unchecked, paraphrase or measured
    word: str = ""


def render(
    markdown: str,
    citations: dict[int, str] | None = None,
    spans: Iterable[Span] = (),
    withdrawn: Collection[int] = (),
) -> Markup:
    """Safe HTML of a Markdown text.

    `citations` gives the address behind each ``[n]``; a number without one stays plain text, and one
    of `withdrawn` goes.
    `spans` are stretches of `markdown` (character offsets) to be marked.
    """
    clean = _MARKS.sub("\ufffd", markdown)
    kept = [span for span in spans if 0 <= span.start < span.end <= len(clean)]
    marked = _mark_citations(_mark_spans(clean, kept), citations or {}, withdrawn)
    html = _markdown().render(marked)
    return Markup(_sanitise(_elements(html, citations or {}, kept)))


def highlight(text: str, spans: Iterable[tuple[int, int]]) -> Markup:
    """Plain text with ``<mark>`` around some stretches; everything else is escaped."""
    pieces: list[Markup] = []
    at = 0
    for start, end in sorted(spans):
        start, end = max(start, at), min(end, len(text))
        if start >= end:
            continue
        pieces += [escape(text[at:start]), Markup("<mark>{}</mark>").format(text[start:end])]
        at = end
    pieces.append(escape(text[at:]))
    return Markup("").join(pieces)


def _markdown() -> MarkdownIt:
    # Headings of an answer stand below the turn's own (h2), so they begin at h3.
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    parser.disable(["image", "html_block", "html_inline"])
    parser.core.ruler.push("recollect", lambda state: _tune(state.tokens))
    return parser


def _tune(tokens: list[Token]) -> None:
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(5, int(token.tag[1]) + 2)}"
        if token.children:
            token.children = list(_with_hosts(token.children))


def _with_hosts(children: list[Token]) -> Iterable[Token]:
    """Links that lead out show where: the host stands in the text after them."""
    leads_to = ""
    for child in children:
        if child.type == "link_open":
            address = str(child.attrs.get("href", ""))
            leads_to = urlsplit(address).netloc if address.startswith("https://") else ""
        yield child
        if child.type == "link_close" and leads_to:
            yield Token("text", "", 0, content=f" ({leads_to})")


def _mark_spans(text: str, spans: list[Span]) -> str:
    """Put marks around the spans; where a span opens a block, behind the block's own syntax."""
    inserts: list[tuple[int, int, str]] = []
    for number, span in enumerate(spans):
        line = text.rfind("\n", 0, span.start) + 1
        prefix = _BLOCK_PREFIX.match(text, line)
        start = max(span.start, prefix.end() if prefix else line)
        if start < span.end and "\n\n" not in text[start : span.end]:
            inserts += [(start, 1, f"{_OPEN}{number}."), (span.end, 0, _CLOSE)]
    for at, _, mark in sorted(inserts, reverse=True):
        text = text[:at] + mark + text[at:]
    return text


def _mark_citations(text: str, citations: dict[int, str], withdrawn: Collection[int]) -> str:
    def replace(match: re.Match[str]) -> str:
        return f"{_CITE}{match[1]}{_CITED}" if int(match[1]) in citations else match[0]

    left = _SPACED_CITATION.sub(lambda match: "" if int(match[1]) in withdrawn else match[0], text)
    return _CITATION.sub(replace, left)


def _elements(html: str, citations: dict[int, str], spans: list[Span]) -> str:
    """Marks as elements. Badly nested ones are put right by nh3's parser."""
    opened: list[Span] = []

    def replace(match: re.Match[str]) -> str:
        if match["cite"]:
            number = int(match["cite"])
            return f'<a class="cite" href="{escape(citations[number])}">{number}</a>'
        if match["open"]:
            opened.append(spans[int(match["open"])])
            return f'<span class="claim {escape(opened[-1].css_class)}">'
        word = opened.pop().word
        return "</span>" + (f'<span class="state">{escape(word)}</span>' if word else "")

    return _MARK.sub(replace, html)


def _sanitise(html: str) -> str:
    return nh3.clean(
        html,
        tags=_TAGS,
        attributes={"a": {"href"}, "ol": {"start"}},
        allowed_classes=_CLASSES,
        attribute_filter=_keep_attribute,
        url_schemes={"https"},
        link_rel="noreferrer noopener",
    )


def _keep_attribute(tag: str, name: str, value: str) -> str | None:
    if name != "href" or value.startswith("https://"):
        return value
    return value if value.startswith(_OWN_PATHS) else None
