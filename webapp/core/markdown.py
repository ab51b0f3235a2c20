"""Model Markdown as safe HTML: the only maker of `Markup` in the program.

Model output and screen text are guests from outside. markdown-it makes HTML with raw HTML and
pictures switched off; nh3 then keeps an allow-list of tags and refuses every address that is not
a page of ours or https. What is marked is put in before rendering as characters of Unicode's private
use area, which take part in no Markdown syntax, and becomes elements after it, still in front of nh3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from store.core.translation import gettext as _

_TAGS = {
    "p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "ul", "ol", "li",
    "h3", "h4", "h5", "table", "thead", "tbody", "tr", "th", "td", "a", "span",
}  # fmt: skip
_CLASSES = {
    "a": {"cite", "on-frame", "state", "info"},
    "span": {"off-frame", "no-source", "state", "warn", "info", "plain", "hush"},
}
# "#e": the evidence of an export
_OWN_PATHS = ("/frames/", "/timeline", "/search", "/chat/", "/activity?", "/sources/", "/memory/", "#e")

# Private use area: a mark, with its number, and a break. Each shows a full stop to its neighbours: beside a
# letter, "**Settings.**" would not be bold (CommonMark, 6.2).
_PRIVATE = re.compile("[\ue000-\ue00f]")
_MARK = re.compile("\\.?\ue000(\\d+)\ue001\\.?")
_BREAK = re.compile("\ue002(\\d+)\ue003")
_BREAK_OR_TAG = re.compile(f"(?P<gap>{_BREAK.pattern})|<(?P<end>/?)(?P<tag>[a-z0-9]+)[^>]*>")
_CODE = re.compile(r"<code.*?</code>", re.DOTALL)
_BLOCK_PREFIX = re.compile(r"\s{0,3}(?:[-*+]\s+|\d{1,9}[.)]\s+|#{1,6}\s+|>\s?)*")
_ADDRESS = re.compile(r"\]\([^)\s]*|<[a-z][a-z0-9+.-]*:[^>\s]*>", re.IGNORECASE)
_CITATION = re.compile(r"[ \t]?((?<![\\A-Za-z0-9_])\[(\d{1,3})\](?!\())")
_STOPS = ".,;:!?…、。，；：！？)）”’»」』"
_EMPTY = re.compile(r"<p>\s*</p>\n?")
_WHOLE = {"strong", "em", "s", "a", "span", "code", "table", "pre", "h3", "h4", "h5"}
"""Elements that stay in one piece: a break in one comes behind it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """``markdown[start:end]`` becomes an element of a class, or `text` becomes one that is put in behind it.
    With an address it is a link.
    """

    start: int
    end: int
    css_class: str
    address: str = ""
    text: str = ""

    @property
    def opened(self) -> str:
        if self.address:
            return f'<a class="{escape(self.css_class)}" href="{escape(self.address)}">'
        return f'<span class="{escape(self.css_class)}">'

    @property
    def closed(self) -> str:
        return "</a>" if self.address else "</span>"


@dataclass(frozen=True, slots=True)
class Marks:
    """What is drawn into a text; all offsets are into its Markdown.

    `citations` gives the address behind each ``[n]``, `again` the one behind every later ``[n]`` of the
    same number; a number without an address stays plain text, and one of `withdrawn` goes.
    `breaks` are places where the text is cut, in ascending order.
    """

    marks: Sequence[Mark] = ()
    citations: Mapping[int, str] = field(default_factory=dict)
    again: Mapping[int, str] = field(default_factory=dict)
    withdrawn: frozenset[int] = frozenset()
    breaks: Sequence[int] = ()


NO_MARKS = Marks()


def render(markdown: str, marks: Marks = NO_MARKS) -> Markup:
    """Safe HTML of a Markdown text."""
    return Markup("").join(html for html, __ in pieces(markdown, marks))


def pieces(markdown: str, marks: Marks) -> list[tuple[Markup, int | None]]:
    """Safe HTML, cut at the breaks: (HTML, index of the break behind it; None at the end).

    A piece may leave elements open that the next one closes. Where an element cannot be cut, the break
    comes behind it; every break comes.
    """
    clean = _PRIVATE.sub("\ufffd", markdown)
    inserts = sorted([*_marked(clean, marks.marks), *_cited(clean, marks), *_broken(clean, marks.breaks)])
    html = _cut(_drawn(_markdown().render(_put(clean, inserts)), inserts), len(marks.breaks))
    parts = _BREAK.split(_EMPTY.sub("", _sanitise(html)))
    ends = [*(int(number) for number in parts[1::2]), None]
    return [(Markup(part), end) for part, end in zip(parts[::2], ends, strict=True)]


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
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    parser.disable(["image", "html_block", "html_inline"])
    parser.core.ruler.push("recollect", lambda state: _tune(state.tokens))
    return parser


def _tune(tokens: list[Token]) -> None:
    # Headings of an answer stand below the turn's own (h2), so the highest is h3.
    highest = min((token.tag for token in tokens if token.type == "heading_open"), default="h1")
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(5, 3 + int(token.tag[1]) - int(highest[1]))}"
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


class _Insert(NamedTuple):
    """What stands for ``text[start:end]``, in code `plain`; `order` is among those at one place."""

    start: int
    order: int
    end: int
    html: str
    plain: str = ""


def _marked(text: str, marks: Iterable[Mark]) -> Iterator[_Insert]:
    """Begins and ends; where a mark opens a block, behind the block's own syntax. None within an address."""
    shown = _ADDRESS.sub(lambda match: "\0" * len(match[0]), text)
    for mark in marks:
        end = _in_cell(text, mark.end)
        if mark.text:
            yield _Insert(end, 1, end, f" {mark.opened}{escape(mark.text)}{mark.closed}")
            continue
        line = text.rfind("\n", 0, mark.start) + 1
        prefix = _BLOCK_PREFIX.match(text, line)
        start = max(mark.start, prefix.end() if prefix else line)
        if start < end and "\n\n" not in shown[start:end] and "\0" not in shown[start:end]:
            yield _Insert(start, 3, start, mark.opened)
            yield _Insert(end, 0, end, mark.closed)


def _cited(text: str, marks: Marks) -> Iterator[_Insert]:
    cited: set[int] = set()
    for match in _CITATION.finditer(text):
        n = int(match[2])
        if n in marks.withdrawn:
            yield _Insert(match.start(), 4, match.end(), "")
        elif n in marks.citations:
            address = marks.again.get(n, marks.citations[n]) if n in cited else marks.citations[n]
            cited.add(n)
            label = f'<span class="hush">{_("Source")} </span>'
            number = f'<a class="cite" href="{escape(address)}">{label}{n}</a>'
            yield _Insert(match.start(1), 4, match.end(), number, match[1])


def _broken(text: str, breaks: Iterable[int]) -> Iterator[_Insert]:
    for number, place in enumerate(breaks):
        at = _in_cell(text, place)
        while text[at : at + 1] and text[at] in _STOPS:
            at += 1
        yield _Insert(at, 2, at, f"\ue002{number}\ue003")


def _in_cell(text: str, at: int) -> int:
    """What stands behind the last cell of a row is no part of the table."""
    at = min(at, len(text))
    while at and text[at - 1] in "| \t":
        at -= 1
    return at


def _put(text: str, inserts: Iterable[_Insert]) -> str:
    """The Markdown with the number of each mark where it stands."""
    parts: list[str] = []
    at = 0
    for number, insert in enumerate(inserts):
        if insert.start >= at:
            parts += [text[at : insert.start], f".\ue000{number}\ue001." if insert.html else ""]
            at = insert.end
    return "".join(parts) + text[at:]


def _drawn(html: str, inserts: Sequence[_Insert]) -> str:
    """Marks as elements, but for those in code. Bad nesting is put right by nh3's parser."""
    plain = _CODE.sub(lambda code: _MARK.sub(lambda mark: inserts[int(mark[1])].plain, code[0]), html)
    return _MARK.sub(lambda mark: inserts[int(mark[1])].html, plain)


def _cut(html: str, breaks: int) -> str:
    """Each break with its paragraph ended before it and begun anew behind it; last those that got lost."""
    depth, is_paragraph = 0, False
    waiting: list[str] = []

    def replace(match: re.Match[str]) -> str:
        nonlocal depth, is_paragraph
        if match["gap"]:
            waiting.append(match[0])
        elif match["tag"] == "p":
            is_paragraph = not match["end"]
        elif match["tag"] in _WHOLE:
            depth += -1 if match["end"] else 1
        kept = "" if match["gap"] else match[0]
        if depth or not waiting:
            return kept
        gaps = "".join(waiting)
        waiting.clear()
        return f"{kept}</p>{gaps}<p>" if is_paragraph else kept + gaps

    cut = _BREAK_OR_TAG.sub(replace, html)
    seen = {int(number) for number in _BREAK.findall(cut)}
    return cut + "".join(f"\ue002{number}\ue003" for number in range(breaks) if number not in seen)


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
