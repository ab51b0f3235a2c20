"""An answer cut into statements: sentences, rows of tables, headings and code.

The Markdown is read by the parser that also draws it, so that what is judged as a block is drawn as
one. Offsets are characters of the answer; a sentence may run over the lines of its paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from markdown_it import MarkdownIt

from assistant.core.texts import HAN, normalize
from assistant.language.lexical_overlap import words

Kind = Literal["sentence", "row", "heading", "code"]
Span = tuple[int, int]

CITATION = re.compile(r"(?<!\\)\[(\d+)\]")
"""A number in brackets, as the numbered answer cites evidence."""
_ESCAPED = re.compile(r"\\(?=[\\`*\[\]<_~&])")
_LEAD = re.compile(r"[ \t]*(?:(?:[-*+•]|\d{1,9}[.)])[ \t]+|>[ \t]?|#{1,6}[ \t]+)*(?:\[[ xX]\][ \t]+)?")
_CONTINUED = re.compile(r"\n[ \t]*(?:>[ \t]?)*")
_QUOTED = re.compile(r"“[^”\n]*”|\"[^\"\n]*\"|「[^」\n]*」|『[^』\n]*』|`[^`\n]*`")
_ABBREVIATED = re.compile(
    r"\b(?:Dr|Mr|Mrs|Ms|Prof|e\.g|i\.e|vs|approx)\.|\b(?:No|Nr|Fig|St|a\.m|p\.m|etc)\.(?=\s+[a-z\d])"
)
_STOP = re.compile(r"(?:[.!?]+[\"'”’)*_]*(?=\s)|[。！？]+[”’」』）*_]*)(?:\s*\[\d+\])*")
_PROSE_FENCES = ("", "text", "txt", "plain", "md", "markdown", "quote")
_NEWLINE = re.compile(r"\r\n?|\n")
_UNDERLINE = re.compile(r"\n[ \t>]*[=-]+\s*\Z")
_CELLS = re.compile(r"^[ \t]*(?:>[ \t]?)*\|?[ \t]*(.*?)[ \t]*\|?[ \t]*$")


@dataclass(frozen=True, slots=True)
class Statement:
    """``answer_md[start:end]``, with its citations."""

    start: int
    end: int
    kind: Kind


def split_statements(answer_md: str) -> Iterator[Statement]:
    """The statements of an answer, in order and without overlap."""
    starts = [0, *(found.end() for found in _NEWLINE.finditer(answer_md)), len(answer_md), len(answer_md)]
    in_head = False
    for token in _parser().parse(answer_md):
        if token.type in ("thead_open", "thead_close"):
            in_head = token.type == "thead_open"
        if token.map is None:
            continue
        start, end = starts[token.map[0]], min(starts[token.map[1]], len(answer_md))
        if token.type == "heading_open":
            yield from _whole(answer_md, start, end, "heading")
        elif token.type == "tr_open":
            yield from _row(answer_md, start, end, "heading" if in_head else "row")
        elif token.type == "paragraph_open":
            yield from _sentences(answer_md, start, end)
        elif token.type in ("fence", "code_block"):
            is_prose = token.type == "code_block" or token.info.strip().lower() in _PROSE_FENCES
            yield from _code(answer_md, start, end, token.markup, is_prose)


def plain(statement: str) -> str:
    """A statement without citations, escapes and emphasis."""
    return _ESCAPED.sub("", CITATION.sub("", statement)).replace("**", "").replace("~~", "")


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table"])
    # Links are defined nowhere: what looks like a definition is text of the answer.
    return parser.disable(["html_block", "reference", "inline", "text_join"])


def _whole(text: str, start: int, end: int, kind: Kind) -> Iterator[Statement]:
    lead = _LEAD.match(text, start, end)
    underline = _UNDERLINE.search(text[start:end]) if kind == "heading" else None
    end = start + underline.start() if underline else end
    for first, last in _trimmed(text, lead.end() if lead else start, end):
        yield Statement(first, last, kind)


def _row(text: str, start: int, end: int, kind: Kind) -> Iterator[Statement]:
    cells = _CELLS.match(text[start:end].rstrip("\r\n"))
    if cells and cells[1].strip():
        yield Statement(start + cells.start(1), start + cells.end(1), kind)


def _code(text: str, start: int, end: int, markup: str, is_prose: bool) -> Iterator[Statement]:
    """Code is one statement, without its fences; a frame around prose is cut like prose."""
    if markup:
        start = text.find("\n", start, end) + 1 or end
        last = max(start, text.rfind("\n", start, start + len(text[start:end].rstrip())) + 1)
        if text[last:end].strip(" \t>\r\n").startswith(markup[:3]):
            end = last
    if is_prose:
        yield from (Statement(said.start, said.end, "code") for said in _sentences(text, start, end))
    else:
        yield from _whole(text, start, end, "code")


def _sentences(text: str, start: int, end: int) -> Iterator[Statement]:
    """Sentences of one block; a stop inside quotation marks, code or an abbreviation ends none."""
    lead = _LEAD.match(text, start, end)
    at = lead.end() if lead else start
    masked = _masked(text[at:end])
    first = 0
    # Citations may stand behind the stop: "You wrote code. [1]"
    for last in (*(stop.end() for stop in _STOP.finditer(masked)), len(masked)):
        for begin, finish in _trimmed(masked, first, last):
            yield Statement(at + begin, at + finish, "sentence")
        first = last


def _masked(block: str) -> str:
    """As long as the block, on one line, with nothing in it that looks like a stop and is none."""
    flat = _CONTINUED.sub(lambda found: " " * len(found[0]), block)
    for hidden in (_QUOTED, _ABBREVIATED):
        flat = hidden.sub(lambda found: "x" * len(found[0]), flat)
    return flat


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    inside = text[start:end]
    if inside.strip():
        yield start + len(inside) - len(inside.lstrip()), end - (len(inside) - len(inside.rstrip()))


# ---- specifics
# What a sentence says that a proof must show word by word: names, addresses, files, quotations.
#
# Names are found by how they are written: a capital inside a sentence, a dot or an underscore inside a
# word, Latin letters in a Chinese sentence, a Chinese surname where a person is addressed. A name that
# is missed costs a check; a word taken for a name by mistake costs a supported sentence its tick. So
# the rules stay with what writing makes plain.

LONG_NAME = 5
"""Parts of a name in code that may run over two lines."""

_SPECIFICS_QUOTED = re.compile(
    r"“(?P<a>[^”\n]+)”|(?<!\w)\"(?P<b>[^\"\n]+)\"|「(?P<c>[^」\n]+)」|『(?P<d>[^』\n]+)』|`(?P<e>[^`\n]+)`|《(?P<f>[^》\n]+)》"
)
_URL = re.compile(
    r"(?:https?://|www\.)[^\s<>()\[\]“”\"'，。；、]+|[\w.~-]*(?:/[\w.-]+){2,}"
    r"|\b[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev|app|cn|example|test)\b(?:/[^\s<>()\[\]“”\"'，。；、]*)?",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"@?[A-Za-z\u00c0-\u024f][\w’'.@/+#&:-]*[A-Za-z0-9_+#\u00c0-\u024f]|[A-Z]")
_PARTS = re.compile(r"[\s\W_]+")
_INITIAL = re.compile(r"(?:^|[:：;；—–(（|>/]|[-*•]\s|\*\*)\s*[\"“‘(*_]*$")
_PERSONAL = re.compile(
    r"(?:['’]s\b|\s+(?:and\s+[A-Z]|has|had|was|is|also|then|just|sent|wrote|asked|said|told|replied|approved|called"
    r"|invited|assigned|shared|commented|agreed|wants?|wanted|offered|promised|requested|suggested|confirmed|mentioned"
    r"|signed|paid|set|put|made|took|gave|got|built|ran|went|came|met|left|found|bought|sold|kept|reviewed|thanked|posted|proposed|reported|will|would|[A-Z][a-z]+)\b)"
)
_ACTED = re.compile(r"\s+[a-z]{2,}ed\b")
# Any other word in -s may be a plural: "Larger steps occur".
_ACTS = re.compile(
    r"\s+(?:offers|sends|says|writes|asks|wants|needs|plans|reports|confirms|approves|rejects|replies|answers|proposes"
    r"|suggests|recommends|decides|thinks|expects|promises|agrees|complains|works|leads|owns|manages|handles|takes"
    r"|gives|gets|makes|runs|goes|comes|leaves|joins|meets|pays|buys|sells|delivers|provides|supports|requires"
    r"|requests|invites|thanks|helps|builds|opens|closes|starts|stops|brings|becomes|calls|charges|quotes|releases"
    r"|publishes|announces|hosts|uses|reads|does|moves|knows|shows|tells|watches|keeps|sees|wins|loses)\b"
)
_ABSTRACT = re.compile(r"(?:ing|tion|sion|ness|ment|ity)\Z")
_MEASURED = re.compile(r"\d\s*$")
_MEASURES_TEXT = """
ms s min h m km cm mm kg g mb kb gb tb v mv ma a w kw hz khz mhz ghz db pct px k
"""
_MEASURES = frozenset(_MEASURES_TEXT.split())
_VERSION = re.compile(r"^v(?=\d)", re.IGNORECASE)
_ORDINARY = frozenset(words("ordinary"))
_ORDINARY_IN_HAN = frozenset(["app", "ok", "id", "ui", "url", "wifi", "web", "pm", "am", "pr", "bug", "utc"])

# Without those that mostly begin other words, such as 方, 高, 周, 任 and 程.
_SURNAMES = (
    "王李张刘陈杨赵黄吴徐孙胡朱林郭罗梁宋郑谢韩唐冯董萧曹袁邓傅沈"
    "彭吕苏卢蒋蔡贾丁魏薛阎潘杜戴汪谭廖邹熊陆郝孔崔邱秦侯邵孟"
)
# What follows a name of two characters, so that it is not taken for the third.
_AFTER_NAME = (
    "讨论说问发的了和是在开写提回批确要认表会聊负安建通请给把将对打转邀参取修检审共交完一就也都已没不看用"
)
_ROLES = "先生|女士|小姐|经理|老师|总监|总|主任|博士|教授|医生|律师|同学|工程师"
_HAN_NAME = re.compile(
    rf"(?:^|[和与跟给向由找请让同问@、，。：:；\s])(?P<with>(?!董事)[{_SURNAMES}][\u4e00-\u9fff]{{1,2}})"
    rf"|(?P<role>[{_SURNAMES}][\u4e00-\u9fff]{{0,2}}?(?:{_ROLES}))|(?P<short>[小老阿][{_SURNAMES}](?![\u4e00-\u9fff]{{0,1}}[度型小]))"
)


def quotations(sentence: str) -> tuple[str, ...]:
    """What a sentence puts in quotation marks or in code marks."""
    return tuple(
        next(part for part in found.groups() if part) for found in _SPECIFICS_QUOTED.finditer(sentence)
    )


def without_quotations(sentence: str) -> str:
    return _SPECIFICS_QUOTED.sub(" … ", sentence)


def addresses(sentence: str) -> tuple[str, ...]:
    """URLs, hosts and paths."""
    return tuple(found[0].rstrip(".,;:!?") for found in _URL.finditer(sentence))


def without_addresses(sentence: str) -> str:
    return _URL.sub(" ", sentence)


def names(sentence: str) -> tuple[str, ...]:
    """Names of people, products, projects and files, as they are written."""
    found = [*_latin_names(sentence), *_han_names(sentence)]
    return tuple(dict.fromkeys(found))


def stands_in(name: str, text: str) -> bool:
    """Whether a name stands in a text (both as written): whole, or each of its words.

    Nothing shows where a Chinese name ends, so two characters that end in the text suffice.
    """
    form, wanted = normalize(text), normalize(name)
    if (
        _VERSION.match(wanted)
        and not _is_inside_word(form, bare := _VERSION.sub("", wanted))
        and bare in form
    ):
        return True
    if wanted in form and not _is_inside_word(form, wanted):
        return True
    if HAN.match(wanted):
        return len(wanted) == 3 and bool(re.search(rf"{wanted[:2]}(?![\u4e00-\u9fff])", form))
    words = set(_PARTS.split(form))
    parts = [part for part in _PARTS.split(wanted) if part]
    if len(parts) >= LONG_NAME and "_" in wanted:  # an editor breaks it, or cuts its end off
        return "".join(parts[: LONG_NAME - 1]) in "".join(_PARTS.split(form)) and words.issuperset(parts)
    return (
        bool(parts) and len(parts) > 1 and "".join(parts) in "".join(_PARTS.split(form))
    ) or words.issuperset(parts)


def _is_inside_word(form: str, wanted: str) -> bool:
    """Whether every place of a Latin word is inside a longer one: "Ana" is not in "analysis"."""
    if not wanted[0].isascii():
        return False
    return not re.search(rf"(?<![a-z0-9]){re.escape(wanted)}(?![a-z0-9])", form)


def _latin_names(sentence: str) -> Iterator[str]:
    in_han = bool(HAN.search(sentence))
    for found in _TOKEN.finditer(sentence):
        token = re.sub(r"['’]s$", "", found[0].rstrip(".:'’-/&"))
        if not token or token.lower() in _ORDINARY:
            continue
        if _MEASURED.search(sentence[: found.start()]) and token.lower() in _MEASURES:
            continue
        if in_han:
            if token.lower() not in _ORDINARY_IN_HAN and len(token) > 1:
                yield token
        elif _is_identifier(token) or (
            token[0].isupper()
            and (
                not _INITIAL.search(sentence[: found.start()])
                or _is_subject(token, sentence, found.start() + len(token))
            )
        ):
            yield token


def _is_subject(token: str, sentence: str, end: int) -> bool:
    """Whether the first word of a sentence does what only a named one does: "Anna sent", "Kelp offers"."""
    if _ABSTRACT.search(token):
        return False
    if _PERSONAL.match(sentence, end):
        return True
    # A plural takes no verb in -s, so "Siemens offers" is a name and "Tests passed" is not.
    return bool(_ACTS.match(sentence, end)) or (bool(_ACTED.match(sentence, end)) and token[-1] != "s")


def _is_identifier(token: str) -> bool:
    """``main.py``, ``snake_case``, ``camelCase``, ``@anna``, ``a@b.c``; not "and/or" or "follow-up"."""
    if "_" in token or "@" in token or re.search(r"[a-z][A-Z]", token):
        return True
    return bool(re.search(r"\w[.#:]\w|\w/\w*[.\d]", token)) or bool(
        re.search(r"[a-zA-Z]\d|\d[a-zA-Z]", token)
    )


def _han_names(sentence: str) -> Iterator[str]:
    for found in _HAN_NAME.finditer(sentence):
        if found["with"]:
            yield found["with"].rstrip(_AFTER_NAME) if found["with"][1] not in _AFTER_NAME else found["with"]
        else:
            yield found["role"] or found["short"]
