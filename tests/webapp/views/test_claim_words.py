"""The words behind a sentence of an answer that is not proven (ux, 7.3)."""

from __future__ import annotations

from assistant.core.records import Claim, ClaimState
from tests.tables import for_each
from webapp.views.turns import claim_spans


@for_each(
    ("state", "missing", "expected"),
    [
        ("cited", (), None),
        ("not_on_frame", (), ("unproven", "quote not on the frame")),
        ("not_on_frame", ("24940",), ("unproven", "not on the frame: 24940")),
        ("no_source", (), ("unchecked", "no source")),
        ("no_source", ("24940",), ("unproven", "no source: 24940")),
    ],
)
def test_a_warning_names_its_words(
    state: ClaimState, missing: tuple[str, ...], expected: tuple[str, str] | None
) -> None:
    spans = claim_spans([Claim("It was so [1].", 0, 14, (1,), state, missing)])
    assert [(span.css_class, span.word) for span in spans] == ([expected] if expected else [])
