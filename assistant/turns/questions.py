"""Questions that the screen cannot answer, told from those it can.

What was said or heard needs sound, and there is none (R3.5, R3.46). Words that were written do not:
"what did Anna say in the chat" is on the screen. So a question counts as one for sound when it asks
for speech and names no written medium.
"""

from __future__ import annotations

import re

_SOUND = re.compile(
    r"\b(?:audio|sound|voice|spoken|heard?|hear|listen(?:ed)?\s+to|podcast|aloud|out\s+loud)\b"
    r"|录音|语音|声音|听到|听见|听了|播客",
    re.IGNORECASE,
)
_SPEECH = re.compile(
    r"\bwhat\s+(?:was|were|got|has\s+been|had\s+been)\s+(?:\w+\s+)?(?:said|discussed|talked\s+about|mentioned|agreed|decided)"
    r"|\bwhat\s+(?:did|have|has|had|do|does)\s+(?:\w+\s+){1,3}?(?:say|said|discuss(?:ed)?|talk(?:ed)?\s+about|tell|told|mention(?:ed)?|agree[d]?)\b"
    r"|\b(?:summari[sz]e|recap|transcri(?:be|pt)|minutes\s+of)\s+(?:\w+\s+){0,3}?(?:meeting|call|conversation|talk|discussion|standup|interview)\b"
    r"|(?:说|讲|聊|谈|讨论|提到|提)(?:了|过|的|到)?(?:些|是|了)?(?:什么|啥|哪些)|(?:会议|通话|电话|谈话|面试)(?:的)?(?:内容|纪要|总结)"
    r"|总结(?:一下)?(?:[^，。？?]{0,8})(?:会议|通话|电话)",
    re.IGNORECASE,
)
_WRITTEN = re.compile(
    r"\b(?:chat|slack|teams\s+(?:chat|message)|discord|telegram|whatsapp|wechat|e?-?mails?|messages?|threads?|comments?|notes?"
    r"|documents?|docs?|articles?|pages?|files?|pull\s+requests?|issues?|tickets?|posts?|tweets?|slides?|subtitles|captions"
    r"|handbooks?|manuals?|guides?|guidelines?|reports?|contracts?|invoices?|spreadsheets?|sheets?|tables?|plans?|polic(?:y|ies)"
    r"|agendas?|wikis?|letters?|forms?|dialogs?|banners?|books?|papers?|spec(?:ification)?s?|roadmaps?|changelogs?|dashboards?"
    r"|notifications?|warnings?|labels?|code|compilers?|consoles?|outputs?|tests?|browser|calendar|terminal|screen|window|website|text|wrote|written|write|readme|error|log)\b"
    r"|聊天|微信|钉钉|飞书|群里|邮件|消息|短信|评论|文档|文章|网页|文件|笔记|帖子|代码|终端|屏幕|窗口|字幕|幻灯片|写"
    r"|手册|说明书|指南|报告|合同|发票|表格|计划书|规定|清单|通知|议程|书",
    re.IGNORECASE,
)


def needs_sound(message: str) -> bool:
    """Whether only a sound recording could answer this."""
    if _WRITTEN.search(message):
        return False
    return bool(_SOUND.search(message) or _SPEECH.search(message))
