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
    "a": {"cite", "on-frame", "tag", "info"},
    "span": {"off-frame", "no-source", "tag", "warn", "info", "plain", "hush"},
}
# "#e": the evidence of an export
_OWN_PATHS = ("/frames/", "/timeline", "/search", "/chat/", "/activity?", "#e")

# Private use area: begin and end of a stretch, a note, a citation, a break. Each shows a full stop to its
# neighbours: beside a letter, "**Settings.**" would not be bold (CommonMark, 6.2).
_MARKS = re.compile("[\ue000-\ue00f]")
_MARK = re.compile(
    "\ue000(?P<begin>\\d+)\\.|\\.\ue001|\\.\ue002(?P<note>\\d+)\ue003|\\.\ue004(?P<cite>\\d+)\ue003\\."
    "|\\.\ue005(?P<gap>\\d+)\ue003"
    "|<(?P<end>/?)(?P<tag>[a-z0-9]+)[^>]*>"
)
_BLOCK_PREFIX = re.compile(r"\s{0,3}(?:[-*+]\s+|\d{1,9}[.)]\s+|#{1,6}\s+|>\s?)*")
_ADDRESS = re.compile(r"\]\([^)\s]*|<[a-z][a-z0-9+.-]*:[^>\s]*>", re.IGNORECASE)
_CITATION = re.compile(r"[ \t]?\[(\d{1,3})\](?!\()")
_EMPTY = re.compile(r"<p>\s*</p>\n?")
_BREAK = re.compile("\ue005(\\d+)\ue003")
_WHOLE = {"table", "pre", "h3", "h4", "h5"}
"""Blocks that stay in one piece: a break in one comes behind it."""
_INLINE = {"strong", "em", "s", "a", "code"}


@dataclass(frozen=True, slots=True)
class Stretch:
    """``markdown[start:end]`` becomes an element of a class; with an address, a link."""

    start: int
    end: int
    css_class: str
    address: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """Words that are put in behind ``markdown[:at]``; with an address, a link."""

    at: int
    css_class: str
    text: str
    address: str = ""


@dataclass(frozen=True, slots=True)
class Marks:
    """What is drawn into a text; all offsets are into its Markdown.

    `citations` gives the address behind each ``[n]``, `again` the one behind every later ``[n]`` of the
    same number; a number without an address stays plain text, and one of `withdrawn` goes.
    `breaks` are places where the text is cut, in ascending order.
    """

    stretches: Sequence[Stretch] = ()
    notes: Sequence[Note] = ()
    citations: Mapping[int, str] = field(default_factory=dict)
    again: Mapping[int, str] = field(default_factory=dict)
    withdrawn: frozenset[int] = frozenset()
    breaks: Sequence[int] = ()


NO_MARKS = Marks()


def render(markdown: str, marks: Marks = NO_MARKS) -> Markup:
    """Safe HTML of a Markdown text."""
    return Markup("").join(html for html, _ in pieces(markdown, marks))


def pieces(markdown: str, marks: Marks) -> list[tuple[Markup, int | None]]:
    """Safe HTML, cut at the breaks: (HTML, index of the break behind it; None at the end).

    A piece may leave elements open that the next one closes. Where a block cannot be cut, the break
    comes behind it; every break comes.
    """
    clean = _MARKS.sub("\ufffd", markdown)
    html = _Drawing(marks).draw(_markdown().render(_with_marks(clean, marks)))
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


def _with_marks(text: str, marks: Marks) -> str:
    """The Markdown with every mark put in where it may stand."""
    inserts = sorted([*_around(text, marks), *_at_points(text, marks), *_cited(text, marks)])
    parts: list[str] = []
    at = 0
    for start, _, end, mark in inserts:
        if start >= at:
            parts += [text[at:start], mark]
            at = end
    return "".join(parts) + text[at:]


_Insert = tuple[int, int, int, str]
"""(start, order among those at the same place, end of what it takes the place of, mark)"""


def _around(text: str, marks: Marks) -> Iterator[_Insert]:
    """Begins and ends; where a stretch opens a block, behind the block's own syntax."""
    shown = _ADDRESS.sub(lambda match: "\0" * len(match[0]), text)
    for number, stretch in enumerate(marks.stretches):
        line = text.rfind("\n", 0, stretch.start) + 1
        prefix = _BLOCK_PREFIX.match(text, line)
        start, end = max(stretch.start, prefix.end() if prefix else line), min(stretch.end, len(text))
        if start < end and "\n\n" not in shown[start:end] and "\0" not in shown[start:end]:
            yield start, 4, start, f"\ue000{number}."
            yield end, 1, end, ".\ue001"


def _at_points(text: str, marks: Marks) -> Iterator[_Insert]:
    for number, note in enumerate(marks.notes):
        at = _in_cell(text, note.at)
        yield at, 2, at, f".\ue002{number}\ue003"
    for number, place in enumerate(marks.breaks):
        at = _in_cell(text, place)
        yield at, 3, at, f".\ue005{number}\ue003"


def _in_cell(text: str, at: int) -> int:
    """What stands behind the last cell of a row is no part of the table."""
    at = min(at, len(text))
    while at and text[at - 1] in "| \t":
        at -= 1
    return at


def _cited(text: str, marks: Marks) -> Iterator[_Insert]:
    for match in _CITATION.finditer(text):
        n, bracket = int(match[1]), text.index("[", match.start())
        if n in marks.withdrawn:
            yield match.start(), 0, match.end(), ""
        elif n in marks.citations:
            yield bracket, 5, match.end(), f".\ue004{n}\ue003."


class _Drawing:
    """Marks as elements. Badly nested ones are put right by nh3's parser."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._begun: list[Stretch] = []
        self._open: list[str] = []  # start tags of the paragraph that is open, itself included
        self._whole = ""  # the block that stays in one piece
        self._waiting: list[int] = []
        self._cited: set[int] = set()
        self._is_code = 0

    def draw(self, html: str) -> str:
        drawn = _MARK.sub(self._replace, html)
        missed = [*self._waiting, *self._lost(drawn)]
        return drawn + "".join(map(_break, missed))

    def _lost(self, drawn: str) -> Iterator[int]:
        """Breaks that Markdown has swallowed, behind the last cell of a row, say."""
        seen = {int(number) for number in _BREAK.findall(drawn)} | {*self._waiting}
        return (number for number in range(len(self._marks.breaks)) if number not in seen)

    def _replace(self, match: re.Match[str]) -> str:
        if match["tag"]:
            return self._tag(match[0], match["tag"], bool(match["end"]))
        if match["gap"]:
            return self._gap(int(match["gap"]))
        if match["note"]:
            note = self._marks.notes[int(match["note"])]
            return f" {_element(note.css_class, note.address)}{escape(note.text)}</{_tag_of(note.address)}>"
        if match["cite"]:
            return self._citation(int(match["cite"]))
        if match["begin"]:
            self._begun.append(self._marks.stretches[int(match["begin"])])
            return self._keep(_element(self._begun[-1].css_class, self._begun[-1].address))
        return self._drop(_tag_of(self._begun.pop().address)) if self._begun else ""

    def _tag(self, whole: str, name: str, is_end: bool) -> str:
        self._is_code += (name in ("code", "pre")) * (-1 if is_end else 1)
        if name in _WHOLE:
            self._whole = "" if is_end else name
            waiting, self._waiting = (self._waiting, []) if is_end else ([], self._waiting)
            return whole + "".join(map(_break, waiting))
        if name == "p":
            self._open = [] if is_end else [whole]
            return whole
        if name in _INLINE:
            return self._drop(name) if is_end else self._keep(whole)
        return whole

    def _keep(self, start_tag: str) -> str:
        if self._open:
            self._open.append(start_tag)
        return start_tag

    def _drop(self, name: str) -> str:
        for at in range(len(self._open) - 1, 0, -1):
            if _name(self._open[at]) == name:
                del self._open[at]
                break
        return f"</{name}>"

    def _gap(self, number: int) -> str:
        if self._whole:
            self._waiting.append(number)
            return ""
        ends = "".join(f"</{_name(start_tag)}>" for start_tag in reversed(self._open))
        return f"{ends}{_break(number)}{''.join(self._open)}"

    def _citation(self, n: int) -> str:
        if self._is_code:
            return f"[{n}]"
        marks, is_first = self._marks, n not in self._cited
        self._cited.add(n)
        address = marks.citations[n] if is_first else marks.again.get(n, marks.citations[n])
        return f'<a class="cite" href="{escape(address)}"><span class="hush">Source </span>{n}</a>'


def _break(number: int) -> str:
    return f"\ue005{number}\ue003"


def _element(css_class: str, address: str) -> str:
    href = f' href="{escape(address)}"' if address else ""
    return f'<{_tag_of(address)} class="{escape(css_class)}"{href}>'


def _tag_of(address: str) -> str:
    return "a" if address else "span"


def _name(start_tag: str) -> str:
    return start_tag[1:-1].partition(" ")[0]


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
