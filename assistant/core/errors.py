"""What a question can be refused for, before anything is looked up.

::

    TurnRefused
    ├── TimeRangeRequired    no range given, and none found in the message
    ├── BadRange             the range is empty or reversed
    ├── BadTimezone          no such IANA zone
    ├── BadMessage           nothing was asked, or too much at once
    ├── BadSystemPrompt      as whom the model should speak is too long
    ├── UnknownChat          there is no such conversation
    ├── UnknownModel         no model has this name
    ├── ModeUnavailable      the model cannot be asked for tools
    ├── NotAnInsight         only the chat of an insight can be amended
    ├── UnknownAttachment    a file that it names is gone, or another chat's
    └── AttachmentRefused    the files cannot go to this model, or are too many

A failure after that (the model, the deadline of the retrieval) is part of the turn: a `TurnError`
in the result, stored with the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class TurnRefused(Exception):
    """A question that cannot become a turn. `field` names the part of the request at fault."""

    code: ClassVar[str] = "invalid_request"
    field: ClassVar[str] = ""


class TimeRangeRequired(TurnRefused):
    """Evidence mode needs a range. `understood` says what the message seemed to say about time."""

    code = "time_range_required"
    field = "start_time"

    def __init__(self, understood: str | None = None, problem: str = "missing") -> None:
        super().__init__(_range_sentence(understood, problem))
        self.understood = understood
        self.problem = problem


class BadRange(TurnRefused):
    code = "invalid_time_range"
    field = "end_time"


class BadTimezone(TurnRefused):
    code = "invalid_timezone"
    field = "timezone"

    def __init__(self, timezone: str) -> None:
        super().__init__(f"{timezone!r} is not an IANA time zone; for example 'Europe/Berlin'")
        self.timezone = timezone


class BadMessage(TurnRefused):
    code = "invalid_message"
    field = "message"


class BadSystemPrompt(TurnRefused):
    code = "invalid_system_prompt"
    field = "system_prompt"


class UnknownChat(TurnRefused):
    code = "chat_not_found"
    field = "chat_id"

    def __init__(self, chat_id: int) -> None:
        super().__init__(f"no chat {chat_id}")
        self.chat_id = chat_id


class UnknownModel(TurnRefused):
    code = "model_not_found"
    field = "model"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"no model {name!r}; known: {', '.join(known)}")
        self.name = name
        self.known = tuple(known)


class NotAnInsight(TurnRefused):
    code = "not_an_insight"
    field = "amend"

    def __init__(self) -> None:
        super().__init__("only the chat of an insight can be amended")


class ModeUnavailable(TurnRefused):
    code = "mode_unavailable"
    field = "mode"

    def __init__(self, model: str) -> None:
        super().__init__(f"the model {model!r} is not set up for tools; name a time, or choose another model")
        self.model = model


class UnknownAttachment(TurnRefused):
    code = "attachment_not_found"
    field = "attachments"

    def __init__(self, attachment_id: int) -> None:
        super().__init__(f"file {attachment_id} is not there any more; attach it again")


class AttachmentRefused(TurnRefused):
    code = "attachment_refused"
    field = "attachments"


_PROBLEMS = {
    "missing": "Say which time you mean, for example “today 14:00-17:00”.",
    "no_selection": "Choose a range of time first: @selection means the one that is chosen.",
    "future": "That time has not come yet, so nothing of it can be recorded.",
    "no_such_date": "There is no such date.",
    "no_such_time": "There is no such time of day.",
}


def _range_sentence(understood: str | None, problem: str) -> str:
    sentence = _PROBLEMS.get(problem, _PROBLEMS["missing"])
    return f"{sentence} Understood so far: “{understood}”." if understood else sentence
