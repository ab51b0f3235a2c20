"""Which frames' pictures go with a question: those whose text cannot answer it, each screen once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from assistant.core.query_embedder import QueryEmbedder
from assistant.turns.plan import TurnServices
from store.core.database import Database
from store.core.settings import EmbeddingSettings
from tests.assistant.agents import agent_deps, run
from tests.assistant.helpers import Afternoon
from tests.stub_model import StubModel
from tests.tables import for_each

LIST = """\
Kassenbuch - Tabelle
Mehl vom Müller in Hude, zwölf Säcke, bezahlt am Dienstag
Hefe und Salz aus dem Großmarkt, Rechnung steht noch aus
Miete für den Ofen bis Ende des Jahres an Familie Harms
Diagramm der Brote je Woche"""
FILM = "Urlaub Harz"


@pytest.fixture
def deps(database: Database, stub: StubModel, afternoon: Afternoon) -> Iterator[TurnServices]:
    for minute in (1, 3, 5):
        afternoon.show(minute, f"{LIST}\n14:0{minute}")
    afternoon.show(20, f"{LIST}\nZwiebelbrot ist neu im Diagramm")
    afternoon.show(40, FILM)
    stub.reply("Das weiß ich nicht.")
    with agent_deps(database, stub, sees=True) as made:
        yield replace(made, embedder=QueryEmbedder(EmbeddingSettings(), database))


def sent(deps: TurnServices, stub: StubModel, question: str, **changes: Any) -> str:
    """Which frames' pictures the model was sent, as it is told; "" for none."""
    run(deps, mode="auto", message=question, **changes)
    content = stub.requests[-1]["messages"][-1]["content"]
    if isinstance(content, str):
        return ""
    told: str = content[0]["text"].rpartition("in this order: ")[2].rstrip(".")
    assert len(content) - 1 == told.count("[[")
    return told


@for_each(
    "question",
    [
        "Welche Farbe hat das Diagramm der Brote?",
        "Wie viele Personen sind auf dem Foto neben dem Ofen zu sehen?",
        "Which colour do the bars of the Diagramm have?",
        "¿De qué color es el Diagramm?",
        "Diagramm 是什么颜色？",
    ],
)
def test_a_question_how_something_looks_takes_the_picture_along_once(
    deps: TurnServices, stub: StubModel, question: str
) -> None:
    assert sent(deps, stub, question) in ("[[e1]]", "[[e4]]")


@for_each(
    "question",
    [
        "Wann wurde das Mehl bezahlt?",
        "Wer bekommt die Miete für den Ofen?",
        "Which Rechnung is not paid yet?",
        "Was habe ich heute gemacht?",
        "还有哪张 Rechnung 没有付？",
    ],
)
def test_what_is_written_takes_none(deps: TurnServices, stub: StubModel, question: str) -> None:
    assert sent(deps, stub, question) == ""


def test_a_frame_on_which_hardly_anything_was_read_is_shown(deps: TurnServices, stub: StubModel) -> None:
    assert sent(deps, stub, "Wann war der Urlaub im Harz?") == "[[e5]]"


def test_a_drawing_that_no_words_find_is_shown_to_who_asks_how_it_looks(
    deps: TurnServices, stub: StubModel
) -> None:
    assert sent(deps, stub, "What colour is the bar on the left?").startswith("[[e5]]")


def test_who_asks_with_pictures_or_about_a_frame_gets_them(
    deps: TurnServices, stub: StubModel, afternoon: Afternoon
) -> None:
    frame = afternoon.show(50, f"{LIST}\nnoch einmal")
    assert sent(deps, stub, "Wann wurde das Mehl bezahlt?", pictures=True).count("[[") == 1
    assert sent(deps, stub, "Was steht hier?", frame_id=frame.id) == "[[e1]]"
