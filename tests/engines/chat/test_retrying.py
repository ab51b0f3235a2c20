"""Asking again: only what passes, only as often and as long as allowed."""

from __future__ import annotations

import pytest

from engines.chat.client import MAX_WAIT_S, WAITS_S, with_retries
from engines.chat.protocol import ModelBusy, ModelError, ModelRateLimited, ModelTimeout, ModelUnauthorized
from tests.tables import for_each


class Endpoint:
    """Fails with each error in turn, then answers."""

    def __init__(self, *errors: ModelError) -> None:
        self.errors = list(errors)
        self.asked = 0

    def __call__(self) -> str:
        self.asked += 1
        if self.errors:
            raise self.errors.pop(0)
        return "answer"


def ask(endpoint: Endpoint, left_s: float = 60.0) -> list[float]:
    slept: list[float] = []
    assert with_retries(endpoint, left_s=lambda: left_s, sleep=slept.append) == "answer"
    return slept


def test_pauses_grow() -> None:
    assert ask(Endpoint(ModelBusy("a"), ModelBusy("b"))) == list(WAITS_S)


def test_the_endpoints_own_word_for_the_pause_counts() -> None:
    assert ask(Endpoint(ModelRateLimited("a", retry_after_s=7.0))) == [7.0]


@for_each(
    ("error", "left_s"),
    [
        (ModelUnauthorized("key"), 60.0),
        (ModelTimeout("late"), 60.0),
        (ModelRateLimited("later", retry_after_s=MAX_WAIT_S + 1), 60.0),
        (ModelRateLimited("later", retry_after_s=7.0), 6.0),
        (ModelBusy("busy"), WAITS_S[0]),
    ],
)
def test_what_asking_again_cannot_help_is_told_at_once(error: ModelError, left_s: float) -> None:
    endpoint = Endpoint(error)
    with pytest.raises(type(error)):
        ask(endpoint, left_s)
    assert endpoint.asked == 1
