"""What a model's telling adds to what a screen shows: "the mail asks", "you had open", 手册要求.

These words say how something was told, where it stood or when; they say nothing of it that a frame would
have to show. So `assistant.evidence.accounted` asks for no proof of them. Words for what became of
something are not among them (`assistant.evidence.outcomes`), nor are words for people who may have done it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assistant.language import lexical_overlap

_TELLING = """
accord accordingly add address admit advise agree announce answer appear argue ask assert assume attach
believe bring call choose cite claim comment conclude consider contact contain contribute cover declare
define demand describe detail document acknowledge associate attribute capture clarify communicate
concentrate connect convey dedicate demonstrate denote discuss display elaborate encourage focus forward
guess hear hint illustrate insist inspect involve learn link listen message observe overview react
realise realize recall recap receive reflect reiterate relate sketch signal subscribe summary task thank
underline understand ascribe problem issue fix emphasize explain express give highlight hold identify
imply indicate inform inquire instruct introduce invite know mark mean measure mention name notify
number offer outline plan point posed posted prefer present promise propose provide put query question
quote raise reads recommend record refer regard remark remind repeat reply replies replied report
represent request require respond return say set share specify speak state stress subject suggest
suggestion summarise summarize suppose suspect tell tells think title urge want warn welcome wish wonder
write
"""
_DOING = """
access act allow amount apply arrange assign attend become begin behave belong bring build calculate
carry cause come compare complete comprise compute concern configure confirm consist continue correspond
count create deal depend describe determine differ do enable encounter end ensure enter equal estimate
exceed exist expect explore express face feature fill fit get give go handle happen have help implement
import involve join keep last lay lead leave let lie limit locate applies applied rely relied make
manage match meet move need notice obtain occur organise organize pass perform place point prepare print
process produce prompt rate reach receive relate remain render report result return reveal run schedule
search see seek send serve set shift sit stand start stay step suit take touch trigger try turn use
verify visit wait walk work
"""
_FORMS = """
account article attachment author band bar body box branch bullet button calendar caption category cell
channel chapter chat checklist code column command comment commit constant console content conversation
copy data detail dialog docstring document editor email entries entry excerpt field figure folder footer
form format function graph group guide handbook headed header heading history inbox index info
information instruction interface issue item journal label layout ledger letter line link log mail
mailbox manual menu message metadata method module name news notebook notification number object option
output package page panel paragraph parameter part passage phrase piece pointing post program project
prompt pytest recap record reference repository response result review row run schedule script section
sentence sequence sheet sidebar site snippet software source spreadsheet statement statistics status
story string structure subject suite summary symbol table term terminal test text thread ticket title
todo toolbar tool topic type unit url value variable view webpage wiki window wording workspace
"""
_TIMES = """
monday tuesday wednesday thursday friday saturday sunday weekend january february march april may june
july august september october november december today tomorrow yesterday date day week month year
quarter hour minute second millisecond moment time deadline past previous earlier later last latest next
final finally initially first third meanwhile afterwards afterward currently already still yet ago daily
weekly monthly yearly annual hourly beforehand subsequently originally recently soon eventually
thereafter due overnight
"""
_AMOUNTS = """
amount total sum number count size length figure value percent percentage euro dollar yuan metre meter
kilometre kilometer centimetre gram kilogram volt watt byte kilobyte megabyte gigabyte degree piece unit
couple pair dozen half maximum minimum max min limit threshold range average rate least less more most
fewer few lot plenty enough overall altogether together combined apiece per roughly approximately approx
nearly almost exactly precisely
"""
_LINKING = """
alongside although among amongst apart aside because besides beyond concerning despite else even except
further furthermore hence however indeed instead likewise moreover namely nevertheless nor otherwise
rather regarding respective respectively separately similarly than therefore though thus together too
unless unlike upon via well whereas whereby wherein whether whose whom within without per plus not never
can could may might must shall should would cannot anything everything something everyone someone
somebody anyone anybody whatever whenever wherever kind sort way case example instance purpose order
basis regard sense fact aspect matter point particular overall specifically especially explicitly
expressly actually really simply just merely directly clearly briefly basically generally usually
normally typically certain able possible available responsible responsibility similar same different
several various additional extra own separate entire whole full complete current actual given relevant
specific single following above below alone mine ones
"""
_ANYONE = """
user users author sender reader writer person people someone team member participant colleague staff
vendor supplier speaker
"""
_IRREGULAR = """
began begun became brought came chose chosen did does doing done fed felt found gave given gone got
gotten had held kept knew known laid led left let lay lies lying made meant met put ran rose said sat
sent set shown spent spoke spoken stood thought told took taken tried understood went were written wrote
"""


def _forms(word: str) -> Iterator[str]:
    """A word as it is, in the plural and as a verb bends it; some forms are no words, and match none."""
    yield from (word, f"{word}s", f"{word}es", f"{word}ed", f"{word}ing", f"{word}d", f"{word}ly")
    yield from (
        f"{word}{word[-1]}ed",
        f"{word}{word[-1]}ing",
        f"{word[:-1]}ing",
        f"{word[:-1]}ies",
        f"{word[:-1]}ied",
    )


def _stems(*texts: str) -> frozenset[str]:
    return frozenset(
        lexical_overlap.stem(form) for text in texts for word in text.split() for form in _forms(word)
    )


FORMS = _stems(_FORMS)
"""What a text is made of, by stem: a line, a message, a table."""

TELLING = FORMS | _stems(_TELLING, _DOING, _TIMES, _AMOUNTS, _LINKING, _ANYONE, _IRREGULAR)
"""By stem."""

_HAN = """
总结 概述 概括 回顾 这里 那里 期间 其余 其他 另一 除了 不仅 只有 自己 转发 发送 发来 发出 收到 回应 补充
介绍 描述 解释 警告 提示 开头 结尾 末尾 下方 上方 左侧 右侧 中间 旁边 具体 详细 简要 主要 重要 关键 特别
完全 整个 用于 用来 适用 作为 成为 视为 即为 例如 比如 针对 指令 相关 等等 计入 写有 写的是 提交 工作
打开 查看 浏览 看到 要求 指出 提到 写道 写着 写明 说明 注明 标明 表明 显示 显示为 表示 报告说 报告 回复
答复 回答 询问 建议 通知 提醒 强调 认为 希望 需要 必须 应该 应当 不得 不能 不可 不要 不再 不允许 允许
规定 可以 能够 包括 包含 列出 列有 列为 记载 记录显示 显示了 称为 名为 叫做 标为 标记 标注 提供 给出
给了 提出 进行 使用 采用 得出 属于 负责 打算 计划于 预计 安排 定在 定为 设定 设置 调整 改成 改为 变成
变为 变更 达到 共有 总共 共计 一共 分别 各自 每个 每项 每条 消息 信息 页面 网页 网站 界面 邮件 文件 文档
文章 表格 表单 表中 群里 群聊 群消息 聊天 频道 对话 代码 函数 脚本 终端 命令 程序 报表 记录 条目 内容
部分 标题 主题 一栏 栏中 字段 数值 数字 数据显示 之一 第一 第二 第三 其一 其二 其中 另外 此外 同时 以后
之后 以前 之前 此前 目前 当前 现在 已经 曾经 仍然 依然 随后 然后 接着 最后 最终 最迟 最晚 首先 如果 若是
一旦 因为 由于 因此 所以 但是 不过 然而 而且 并且 以及 还有 根据 按照 关于 对于 至于 为了 以便 毫秒 分钟
小时 欧元 美元 人民币 总额 总计 合计 金额 数额 左右 大约 约为 超过 不到 以上 以下 本周 下周 上周 当天
当日 当时 周一 周二 周三 周四 周五 周六 周日 周末 上午 下午 早上 晚上 中午 昨晚 今天 昨天 明天 一天 一周
一个 一项 一条 一封 一份 一次 两个 几个 多个 哪些 什么 没有 无需 不含
"""
# How many of what, and small words of one sign.
_HAN_COUNT = (
    "[\\d一二三四五六七八九十百千万两零〇几多半]+[个条项次位名份封台组元秒天周月年日点分号级行期]?|星期."
)
_HAN_SIGN = """
你我他她它们说讲称请让写用中里内应须需可会能将要曾已仍还再又也都就才只仅先后前时若因但而且并和与或及的了着过吗呢吧
把被对从由到至于在是有为以其此该这那每各未无不
"""
TELLING_HAN = re.compile(
    "|".join([*sorted(_HAN.split(), key=len, reverse=True), _HAN_COUNT, f"[{''.join(_HAN_SIGN.split())}]"])
)
