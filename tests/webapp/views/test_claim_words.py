"""The words behind a sentence of an answer that is not proven (ux, 7.3)."""

from __future__ import annotations

from assistant.core.records import Claim, ClaimState
from tests.tables import for_each
from webapp.views.turns import claim_spans


@for_each(
    ("state", "missing", "expected"),
    [
        ("found", (), None),
        ("not_found", (), ("unproven", "quote not found")),
        ("not_found", ("24940",), ("unproven", "not in the quote: 24940")),
        ("not_checked", (), ("unchecked", "not checked")),
        ("not_checked", ("stolen",), ("unchecked", "not checked, not in the quote: stolen")),
    ],
)
def test_what_was_not_decided_does_not_read_as_not_found(
    state: ClaimState, missing: tuple[str, ...], expected: tuple[str, str] | None
) -> None:
    spans = claim_spans([Claim("It was so [1].", 0, 14, (1,), state, missing)])
    assert [(span.css_class, span.word) for span in spans] == ([expected] if expected else [])
