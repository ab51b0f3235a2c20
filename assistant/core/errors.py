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
from dataclasses import replace
from typing import ClassVar

from assistant.core.cancellation import Cancelled
from assistant.core.records import TurnError
from assistant.core.texts import Language
from engines.chat.protocol import ModelError, ModelUnreachable
from store.core.errors import DeadlineExceeded, StoreBusy, StoreError


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


# -- failures ------------------------------------------------------------------------------
#
# Why a turn failed, for the person who asked: one sentence for each cause, and what to do. A failure is never
# told as an empty result: "the search failed" and "there is nothing" are different answers.


class FrameDeleted(Exception):
    """A frame that the turn was shown has been deleted since."""


_SENTENCES: dict[str, tuple[tuple[str, str], tuple[str, str]]] = {
    "model_no_key": (
        ("The model's endpoint wants a key.", "Enter its key under Settings, Models."),
        ("模型服务需要密钥。", "请在“设置 › 模型”中填写密钥。"),
    ),
    "model_unauthorized": (
        ("The model's endpoint refused the key.", "Enter the key again under Settings, Models."),
        ("模型服务拒绝了密钥。", "请在“设置 › 模型”中重新填写密钥。"),
    ),
    "model_rate_limited": (
        ("The model's endpoint takes no more requests right now.", "Wait a little and try again."),
        ("模型服务暂时不接受更多请求。", "请稍等片刻再试。"),
    ),
    "model_no_credit": (
        ("No credit is left with the model's provider.", "Add credit there, or choose another model."),
        ("模型服务账户余额不足。", "请充值，或换一个模型。"),
    ),
    "model_busy": (
        ("The model's server is busy or still loads the model.", "Wait a little and try again."),
        ("模型服务正忙，或仍在加载模型。", "请稍等片刻再试。"),
    ),
    "model_timeout": (
        ("The model did not answer in time.", "Try again, or raise chat.timeout_s in the settings."),
        ("模型没有在限定时间内回答。", "请重试，或在设置中调大 chat.timeout_s。"),
    ),
    "model_unreachable": (
        (
            "The model's endpoint cannot be reached.",
            "Check that it is running, and its address under Settings, Models.",
        ),
        ("无法连接到模型服务。", "请确认服务正在运行，并在“设置 › 模型”中检查地址。"),
    ),
    "broke_off": (
        ("The connection to the model's endpoint broke off.", "Try again."),
        ("与模型服务的连接中断了。", "请重试。"),
    ),
    "model_refused": (
        ("The model's endpoint refused the request.", "Test the model under Settings, Models."),
        ("模型服务拒绝了这个请求。", "请在“设置 › 模型”中测试该模型。"),
    ),
    "model_unknown": (
        ("The endpoint does not have this model.", "Choose one that it lists under Settings, Models."),
        ("模型服务没有这个模型。", "请在“设置 › 模型”中选择它列出的模型。"),
    ),
    "context_too_long": (
        ("The question is too long for the model's context.", "Ask about a shorter time, or shorten it."),
        ("问题超出了模型的上下文长度。", "请缩短时间范围或问题。"),
    ),
    "model_malformed": (
        ("The model's answer could not be read.", "Try again, or choose another model."),
        ("无法读取模型的回答。", "请重试，或换一个模型。"),
    ),
    "retrieval_timeout": (
        ("The search took too long and was stopped.", "Ask about a shorter time."),
        ("检索时间过长，已停止。", "请缩短时间范围。"),
    ),
    "store_busy": (
        ("The search failed because the database is busy.", "Try again."),
        ("数据库正忙，检索失败。", "请重试。"),
    ),
    "search_failed": (
        ("The search failed.", "Run “recollect doctor” to see why."),
        ("检索失败。", "请运行“recollect doctor”查看原因。"),
    ),
    "stopped": (
        ("The turn was stopped before there was an answer.", "Ask again."),
        ("在有回答之前，本轮已被停止。", "请重新提问。"),
    ),
    "deleted": (
        ("A frame that this turn had looked at was deleted meanwhile.", "Ask again."),
        ("本轮查看过的画面已被删除。", "请重新提问。"),
    ),
    "interrupted": (
        ("The turn was interrupted before there was an answer.", "Ask again."),
        ("回答在完成之前被中断。", "请重新提问。"),
    ),
}


_CODES: tuple[tuple[type[Exception], str], ...] = (
    (DeadlineExceeded, "retrieval_timeout"),
    (StoreBusy, "store_busy"),
    (StoreError, "search_failed"),
    (Cancelled, "stopped"),
    (FrameDeleted, "deleted"),
)
"""By kind, the first that fits. Whatever else happened interrupted the turn."""


def turn_error(error: BaseException, language: Language) -> TurnError:
    """The error as a turn keeps it: a code, a sentence with the cause, and an action."""
    if isinstance(error, ModelError):
        return _error(error.code, language, error.detail, error.retry_after_s)
    return _error(next((code for kind, code in _CODES if isinstance(error, kind)), "interrupted"), language)


def interrupted_error(error: ModelError, language: Language) -> TurnError:
    """The same for an answer that had begun: an endpoint that went away then could be reached."""
    if isinstance(error, ModelUnreachable):
        return replace(_error("broke_off", language, error.detail), code=error.code)
    return turn_error(error, language)


def words_for(code: str) -> str:
    """The English sentence for an error's code; the code itself where there is none."""
    return _SENTENCES[code][0][0] if code in _SENTENCES else code


def interrupted(language: Language) -> TurnError:
    """For a turn whose program ended."""
    return _error("interrupted", language)


def _error(code: str, language: Language, detail: str = "", retry_after_s: float | None = None) -> TurnError:
    sentence, action = _SENTENCES[code][language == "zh"]
    message = f"{sentence} ({detail})" if detail else sentence
    return TurnError(code, message, action, retry_after_s)
