"""An answer as Markdown or as plain text: what is copied is what is exported.

The marks survive: a sentence that was not proved carries its word in brackets behind it.
"""

from __future__ import annotations

import re
from zoneinfo import ZoneInfo

from assistant.turns.turn import EvidenceItem
from webapp.core import formatting
from webapp.exports.pack import Pack, Source
from webapp.views.views_turns import claim_spans, coverage_lines

STATE_WORDS = {
    "found": "✓ Quote found",
    "paraphrase": "≈ Paraphrase",
    "not_found": "△ Quote not found",
    "not_checked": "– Not checked",
    "deleted": "Image removed",
}
_SYMBOLS = {"unproven": "△", "unchecked": "–", "paraphrase": "≈", "measured": "Σ"}
_NUMBER = re.compile(r"\s?\[(\d{1,3})\]")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|])")
_MARKUP = re.compile(r"(\*\*|__|`|^#{1,6}\s+|^>\s?)", re.MULTILINE)


def markdown_document(pack: Pack, pictures: bool = False) -> str:
    """The answer with its evidence as Markdown; with `pictures`, those of the bundle stand in it."""
    turn, zone = pack.turn, ZoneInfo(pack.turn.timezone)
    # Raw HTML of a model's making must not come to life in whoever renders this.
    parts = [f"# {escape(turn.question)}", _TAG.sub(r"\<", marked_answer(pack))]
    if pack.sources:
        parts.append("## Evidence")
        parts += [_source(pack, source, zone, pictures) for source in pack.sources]
    parts += ["---", "\n".join(f"- {escape(fact)}" for fact in facts(pack))]
    link = f"{pack.origin}/chat/{turn.chat_id}#t{turn.turn_id}"
    parts.append(f"Answered by {escape(turn.model)} in [Recollect]({link}).")
    return "\n\n".join(parts) + "\n"


def facts(pack: Pack) -> list[str]:
    """What the question was about, what was looked at, and what could not be."""
    turn, zone = pack.turn, ZoneInfo(pack.turn.timezone)
    span = f"{when(turn.start_ms, zone)} to {when(turn.end_ms, zone)}"
    brought = [f"Attached: {each.name}, SHA-256 {each.sha256}" for each in turn.attachments]
    return [f"Asked about {span}, {turn.timezone}", *brought, *coverage_lines(turn, pack.made_ms)]


def text(pack: Pack) -> str:
    """The same as plain text, for where Markdown would show its signs."""
    turn, zone = pack.turn, ZoneInfo(pack.turn.timezone)
    lines = [turn.question, "", _MARKUP.sub("", marked_answer(pack))]
    if pack.sources:
        lines += ["", *(_line(pack, source, zone) for source in pack.sources)]
    return "\n".join([*lines, "", *facts(pack)]) + "\n"


def marked_answer(pack: Pack) -> str:
    """The answer's own Markdown with a word behind each sentence that was not proved."""
    answer = pack.turn.answer_md
    for span in sorted(claim_spans(pack.turn.claims, pack.withdrawn), key=lambda span: -span.end):
        answer = f"{answer[: span.end]} ({_SYMBOLS[span.css_class]} {span.word}){answer[span.end :]}"
    return _NUMBER.sub(lambda found: "" if int(found[1]) in pack.withdrawn else found[0], answer)


def citation(pack: Pack, item: EvidenceItem, zone: ZoneInfo) -> str:
    """``“retention set to 14 days” - Code, main.py, 2026-11-20 14:32:08 +08:00, frame 81234, <url>``"""
    quoted = f"“{item.quote}” - " if item.quote else ""
    at = when(item.captured_ms, zone)
    return f"{quoted}{place_of(item)}, {at}, frame {item.frame_id}, {link_of(pack, item)}"


def place_of(item: EvidenceItem) -> str:
    """App and window of a source."""
    return ", ".join(part for part in (item.app_name, item.window_name) if part) or "Unknown app"


def link_of(pack: Pack, item: EvidenceItem) -> str:
    """The address of the exact frame with the cited words marked."""
    cite = f"{pack.turn.chat_id}.{pack.turn.turn_id}.{item.n}"
    return f"{pack.origin}/frames/{item.frame_id}?cite={cite}"


def when(ms: int, zone: ZoneInfo) -> str:
    """``2026-11-20 14:32:08 +08:00``"""
    stamp = formatting.iso(ms - ms % 1000, zone)
    return f"{stamp[:10]} {stamp[11:19]} {stamp[19:]}"


def escape(text: str) -> str:
    """Text of the screen or of a person inside Markdown: one line, and no syntax of its own."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def state_words(source: Source) -> str:
    """The state of a source in words, with what became of its picture."""
    return (
        f"{STATE_WORDS.get(source.item.state, source.item.state)}{f'. {source.gone}' if source.gone else ''}"
    )


def _source(pack: Pack, source: Source, zone: ZoneInfo, pictures: bool) -> str:
    item = source.item
    if source.withheld:
        return f"**[{source.n}]** {when(item.captured_ms, zone)}. {source.withheld}"
    at = f"[{when(item.captured_ms, zone)}]({link_of(pack, item)})"
    wrong = " **You marked this source as wrong.**" if source.n in pack.withdrawn else ""
    lines = [f"**[{source.n}]** {escape(place_of(item))}, {at}. {state_words(source)}.{wrong}"]
    if item.quote:
        lines.append(f"> {escape(item.quote)}")
    if pictures and source.image:
        lines.append(f"![Frame {item.frame_id}]({source.image.name})")
    return "\n\n".join(lines)


def _line(pack: Pack, source: Source, zone: ZoneInfo) -> str:
    if source.withheld:
        return f"[{source.n}] {when(source.item.captured_ms, zone)}. {source.withheld}"
    return f"[{source.n}] {citation(pack, source.item, zone)} ({state_words(source)})"
