"""Why a turn failed, for the person who asked: one sentence for each cause, and what to do (CHAT-10).

A failure is never told as an empty result: "the search failed" and "there is nothing" are different
answers (CHAT-5).
"""

from __future__ import annotations

from dataclasses import replace

from assistant.core.records import TurnError
from assistant.core.texts import Language
from engines.chat.protocol import ModelError, ModelUnreachable
from store.core.errors import DeadlineExceeded, StoreBusy, StoreError

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


def turn_error(error: ModelError | StoreError, language: Language) -> TurnError:
    """The error as a turn keeps it: a code, a sentence with the cause, and an action."""
    if isinstance(error, ModelError):
        return _error(error.code, language, error.detail, error.retry_after_s)
    code = "search_failed"
    if isinstance(error, DeadlineExceeded):
        code = "retrieval_timeout"
    elif isinstance(error, StoreBusy):
        code = "store_busy"
    return _error(code, language)


def interrupted_error(error: ModelError, language: Language) -> TurnError:
    """The same for an answer that had begun: an endpoint that went away then could be reached."""
    found = turn_error(error, language)
    if not isinstance(error, ModelUnreachable):
        return found
    return replace(_error("broke_off", language, error.detail), code=found.code)


def words_for(code: str) -> str:
    """The English sentence for an error's code; the code itself where there is none."""
    return _SENTENCES[code][0][0] if code in _SENTENCES else code


def stopped(language: Language) -> TurnError:
    """For a turn that the person stopped before anything was said."""
    return _error("stopped", language)


def deleted(language: Language) -> TurnError:
    """For a turn that was shown what is deleted now."""
    return _error("deleted", language)


def interrupted(language: Language) -> TurnError:
    """For a turn whose asker went away, or whose program ended."""
    return _error("interrupted", language)


def _error(code: str, language: Language, detail: str = "", retry_after_s: float | None = None) -> TurnError:
    sentence, action = _SENTENCES[code][language == "zh"]
    message = f"{sentence} ({detail})" if detail else sentence
    return TurnError(code, message, action, retry_after_s)
