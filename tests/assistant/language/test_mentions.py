"""@mentions against the vectors that bind browser and server alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from assistant.language import mentions
from assistant.language.time_phrases import in_field, in_message
from tests.assistant.language.test_time_phrases import SHANGHAI, in_ms, outcome
from tests.tables import for_each

VECTORS = json.loads((Path(__file__).parent / "mentions.json").read_text(encoding="utf-8"))


@for_each("case", VECTORS["mentions"], ids=lambda case: case["message"])
def test_a_mention_means_what_the_vector_says(case: dict[str, Any]) -> None:
    found = mentions.read_mentions(case["message"], VECTORS["apps"])
    assert (found.app, found.has_selection, found.rest) == (case["app"], case["selection"], case["rest"])


def test_an_app_may_be_called_app_or_be_written_with_any_letter() -> None:
    names = ["app", "İTunes"]
    assert mentions.read_mentions('@app:"My App" q', names) == mentions.Mentions("My App", False, "  q")
    assert mentions.read_mentions("@app q", names) == mentions.Mentions("app", False, "  q")
    for written in ("@İTunes q", "@app:itunes q"):
        assert mentions.read_mentions(written, names) == mentions.Mentions("İTunes", False, "  q")


@for_each("case", VECTORS["phrases"], ids=lambda case: case["phrase"])
def test_a_mentioned_time_means_what_the_vector_says(case: dict[str, Any]) -> None:
    read = in_message if case.get("in") == "message" else in_field
    assert outcome(read(case["phrase"], SHANGHAI)) == in_ms(case["expect"])
