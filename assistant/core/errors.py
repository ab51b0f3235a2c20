"""What a question can be refused for, before anything is looked up.

A failure after that (the model, the deadline of the retrieval) is part of the turn: a `TurnError`
in the result, stored with the question.
"""

from __future__ import annotations

from collections.abc import Sequence

from assistant.core.records import TurnError
from assistant.core.strings import bracketed, sentences
from assistant.core.texts import Language
from engines.cancellation import Cancelled
from engines.chat.protocol import ModelBrokeOff, ModelError, ModelUnreachable
from store.core.errors import DeadlineExceeded, Outdated, StoreBusy, StoreError
from store.core.translation import N_, translated
from store.core.translation import gettext as _


class TurnRefused(Exception):
    """A question that cannot become a turn. `field` names the part of the request at fault."""

    def __init__(self, code: str, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.field = field


class TimeRangeRequired(TurnRefused):
    """Evidence mode needs a range. `understood` says what the message seemed to say about time."""

    def __init__(self, understood: str | None = None, problem: str = "missing") -> None:
        sentence = _(_PROBLEMS.get(problem, _PROBLEMS["missing"]))
        if understood:
            sentence += f" {_('Understood so far: “%(words)s”.', words=understood)}"
        super().__init__("time_range_required", "start_time", sentence)
        self.understood = understood
        self.problem = problem


class UnknownChat(TurnRefused):
    def __init__(self, chat_id: int) -> None:
        super().__init__("chat_not_found", "chat_id", _("no chat %(number)s", number=chat_id))
        self.chat_id = chat_id


class UnknownModel(TurnRefused):
    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(
            "model_not_found",
            "model",
            _("no model %(name)r; known: %(names)s", name=name, names=_(", ").join(known)),
        )


_PROBLEMS = {
    "missing": N_("Say which time you mean, for example “today 14:00-17:00”."),
    "no_selection": N_("Choose a range of time first: @selection means the one that is chosen."),
    "future": N_("That time has not come yet, so nothing of it can be recorded."),
    "no_such_date": N_("There is no such date."),
    "no_such_time": N_("There is no such time of day."),
}


# -- failures ------------------------------------------------------------------------------
#
# Why a turn failed, for the person who asked: one sentence for each cause, and what to do. A failure is never
# told as an empty result: "the search failed" and "there is nothing" are different answers.


_CODES: tuple[tuple[type[Exception], str], ...] = (
    (DeadlineExceeded, "retrieval_timeout"),
    (StoreBusy, "store_busy"),
    (Outdated, "deleted"),
    (StoreError, "search_failed"),
    (Cancelled, "stopped"),
)
"""By kind, the first that fits. Whatever else happened interrupted the turn."""


def turn_error(error: BaseException, language: Language, *, has_begun: bool = False) -> TurnError:
    """The error as a turn keeps it: a code, a sentence with the cause, and an action.

    An endpoint that went away when an answer `has_begun` could be reached.
    """
    if isinstance(error, ModelError):
        broke_off = isinstance(error, ModelBrokeOff) or (has_begun and isinstance(error, ModelUnreachable))
        known, code = "broke_off" if broke_off else error.code, error.code
        detail, retry_after_s = translated(error.detail), error.retry_after_s
    else:
        known = code = next((code for kind, code in _CODES if isinstance(error, kind)), "interrupted")
        detail, retry_after_s = "", None
    sentence, action = sentences("failures")[known][language == "zh"]
    return TurnError(code, sentence + (bracketed(detail, language) if detail else ""), action, retry_after_s)


def words_for(code: str) -> str:
    """The English sentence for an error's code; the code itself where there is none."""
    failures = sentences("failures")
    return str(failures[code][0][0]) if code in failures else code
