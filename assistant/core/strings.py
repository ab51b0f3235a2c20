"""What the assistant says by itself, in the language of the question: English or Chinese.

The sentences that open or close an answer are known here, so that the check of claims does not
take them for statements about the screen.
"""

from __future__ import annotations

from datetime import tzinfo

from assistant.core.texts import Language
from store.core import times

_SENTENCES: dict[str, tuple[str, str]] = {
    "searching": ("Looking through your frames", "正在查找你的屏幕画面"),
    "thinking": ("Waiting for {model}", "正在等待 {model}"),
    "waiting": ("Waiting for your decision about {tools}", "正在等待你对 {tools} 的决定"),
    "stopped": ("You stopped this answer before it was complete.", "你在回答完成之前停止了它。"),
    "broke_off": (
        "The answer broke off here. What was said until then is kept.",
        "回答在此处中断，已保留此前的内容。",
    ),
    "shortened": (
        "The model's context is full. {left_out} earlier tool results are left out, {shortened} shortened",
        "模型的上下文已满：省略了 {left_out} 个较早的工具结果，截短了 {shortened} 个",
    ),
    "results_shortened": (
        "{count} tool results no longer fitted into the model's context as a whole and lost their ends.",
        "有 {count} 个工具结果超出模型的上下文长度，只保留了开头部分。",
    ),
    "capped": (
        "The model asked for tools {count} times, the most that is allowed, and answered with what it had.",
        "模型已请求工具 {count} 次（上限），并据此作答。",
    ),
    "results_left_out": (
        "{count} earlier tool results no longer fitted into the model's context and were left out.",
        "有 {count} 个较早的工具结果超出模型的上下文长度，已被省略。",
    ),
    "unconfirmed": ("I could not confirm this on screen.", "以下内容未能在屏幕画面上得到证实。"),
    "no_captures": (
        "There are no captures between {start} and {end}, so I cannot say what was on the screen.",
        "{start} 到 {end} 之间没有任何屏幕画面，所以我无法说明当时屏幕上有什么。",
    ),
    "no_match": (
        "No capture between {start} and {end} passes these filters: {filters}.",
        "{start} 到 {end} 之间没有画面符合这些筛选条件：{filters}。",
    ),
    "why": ("Why: {gaps}.", "原因：{gaps}。"),
    "future": (
        "That time has not come yet: it begins at {start}, and nothing of it can be recorded.",
        "这段时间还没有到：它从 {start} 开始，不可能有任何记录。",
    ),
    "audio": (
        "Recollect records the screen and no sound, so what was said or heard cannot be answered.",
        "Recollect 只记录屏幕，不记录声音，所以无法回答当时说了什么或听到了什么。",
    ),
    "audio_screen": (
        "This is what the screen showed in that time:",
        "这段时间屏幕上显示的是：",
    ),
    "extractive": (
        "Quoted from your screen; no language model is set up.",
        "以下内容直接引自你的屏幕；没有设置语言模型。",
    ),
    "evidence": ("Evidence:", "证据："),
    "left_out": (
        "{count} of the {total} selected frames did not fit into the model's context and were left out.",
        "选出的 {total} 帧中有 {count} 帧超出模型的上下文长度，未被采用。",
    ),
    "shrunk": (
        "The model refused the first request as too long; it was asked again with about {tokens} tokens. "
        "Set its context window under Settings, Models.",
        "模型因请求过长而拒绝，已改为约 {tokens} 个词元重新提问。请在“设置 › 模型”中设定它的上下文长度。",
    ),
    "file_cut": (
        "Of {file} the first {shown} of {total} characters went with the question.",
        "{file} 共 {total} 个字符，只有前 {shown} 个随问题发送。",
    ),
    "files_unread": (
        "Nothing of {names} was read: no language model is set up.",
        "没有读取 {names}：没有设置语言模型。",
    ),
    "unknown_ids": (
        "{count} citations named no frame of this search and were removed.",
        "有 {count} 处引用不属于本次检索的画面，已被移除。",
    ),
    "unread": (
        "{count} of the frames looked at have no text yet.",
        "所看的画面中有 {count} 帧还没有文字。",
    ),
    "cut_short": (
        "The model stopped before its answer was complete.",
        "模型在回答完成之前就停止了。",
    ),
}

_REASONS = {
    "paused": ("recording was paused", "录制已暂停"),
    "locked": ("the screen was locked", "屏幕已锁定"),
    "asleep": ("the computer was asleep", "电脑处于睡眠状态"),
    "idle": ("no keyboard or mouse input", "没有键盘或鼠标操作"),
    "excluded": ("excluded by a privacy rule", "被隐私规则排除"),
    "not_running": ("Recollect was not recording", "Recollect 没有在录制"),
    "deleted": ("deleted", "已被删除"),
    "failed": ("recording failed", "录制失败"),
}


def text(name: str, language: Language, **values: object) -> str:
    """The sentence of that name."""
    return _SENTENCES[name][language == "zh"].format(**values)


OWN_SENTENCES = frozenset(
    sentence
    for name in ("unconfirmed", "extractive", "evidence", "audio", "audio_screen")
    for sentence in _SENTENCES[name]
)


def reason(code: str, language: Language) -> str:
    """Why nothing was recorded; ``failed:why`` keeps its why."""
    known, _, detail = code.partition(":")
    words = _REASONS.get(known, (known, known))[language == "zh"]
    return f"{words} ({detail})" if detail else words


def duration(ms: int, language: Language = "en") -> str:
    """``1 h 20 min``, ``4 min``, ``35 s``; ``1 小时 20 分钟``. Rounds to minutes from one minute up."""
    hour, minute, second = (" h", " min", " s") if language == "en" else (" 小时", " 分钟", " 秒")
    seconds = round(ms / 1000)
    if seconds < 60:
        return f"{seconds}{second}"
    hours, minutes = divmod(round(ms / 60_000), 60)
    parts = [f"{hours}{hour}"] if hours else []
    return " ".join([*parts, f"{minutes}{minute}"] if minutes else parts)


def clock(ms: int, zone: tzinfo) -> str:
    """``14:32``"""
    return times.to_local(ms, zone).strftime("%H:%M")


def moment(ms: int, zone: tzinfo) -> str:
    """``2026-11-20 14:32``"""
    return times.to_local(ms, zone).strftime("%Y-%m-%d %H:%M")


def local_time(ms: int, zone: tzinfo) -> str:
    """``2026-11-20T14:32:08+08:00``: RFC 3339 to the second, in the zone of the request."""
    return times.to_local(ms, zone).isoformat(timespec="seconds")
