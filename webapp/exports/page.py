"""An answer as one HTML file: no script, nothing loaded from anywhere, both themes, fit for print.

Pictures stand in it as data addresses, so that the file is whole wherever it is moved; the boxes
around the quoted words are SVG over them, as on the pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from flask import render_template
from markupsafe import Markup

from assistant.turns.turn import TurnResult
from webapp.core import markdown
from webapp.exports.formats import facts, link_of, place_of, state_words, when
from webapp.exports.pack import Pack, Source
from webapp.views.views_turns import claim_spans


@dataclass(frozen=True, slots=True)
class SourceCard:
    """A source as it stands below the answer. `link` is empty where nothing is told of it."""

    source: Source
    place: str
    when: str
    link: str
    words: str
    is_wrong: bool


@dataclass(frozen=True, slots=True)
class AnswerPage:
    """Everything `export/answer.html` draws."""

    turn: TurnResult
    answer: Markup
    cards: tuple[SourceCard, ...]
    facts: tuple[str, ...]
    link: str
    made: str


def html_document(pack: Pack) -> str:
    """The whole file."""
    return render_template("export/answer.html", view=_view(pack))


def fragment(pack: Pack) -> str:
    """What stands in its body: what "copy as HTML" gives."""
    return render_template("export/_answer.html", view=_view(pack))


def _view(pack: Pack) -> AnswerPage:
    turn, zone = pack.turn, ZoneInfo(pack.turn.timezone)
    anchors = {source.n: f"#e{source.n}" for source in pack.sources if source.n not in pack.withdrawn}
    return AnswerPage(
        turn=turn,
        answer=markdown.render(
            turn.answer_md, anchors, claim_spans(turn.claims, pack.withdrawn), pack.withdrawn
        ),
        cards=tuple(_card(pack, source, zone) for source in pack.sources),
        facts=tuple(facts(pack)),
        link=f"{pack.origin}/chat/{turn.chat_id}#t{turn.turn_id}",
        made=when(pack.made_ms, zone),
    )


def _card(pack: Pack, source: Source, zone: ZoneInfo) -> SourceCard:
    at = when(source.item.captured_ms, zone)
    is_wrong = source.n in pack.withdrawn
    if source.withheld:
        return SourceCard(source, "", at, "", source.withheld, is_wrong)
    return SourceCard(
        source, place_of(source.item), at, link_of(pack, source.item), state_words(source), is_wrong
    )
