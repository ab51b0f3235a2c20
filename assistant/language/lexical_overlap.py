"""How much of a sentence is in a text: its words of content, counted by stem.

A quote proves itself and nothing else. A sentence in the model's own words has to share words with
the quote before the quote can stand for it, and most of its words with the frame before it may be
called a paraphrase. Where sentence and text are in different scripts no words can be compared, and
only figures and names can tie them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache

from assistant.core.texts import HAN, HAN_RUN, normalize

LETTERS_OF_AN_ENDING = 3
"""So many letters more or less a form of a word may have: "workshop" is no form of "work".
"""

_HAN_WORD = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]{2}")
_LATIN = re.compile(r"[^\W\d_\u3400-\u9fff][^\W_\u3400-\u9fff]*")
_ENDING = re.compile(r"(?:'s|ings?|ed|ers?|ions?|ments?|ly|es|s|e|y|ies|ied)$")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")

_COMMON_TEXT = """
a about according activity after again all also am an and another any app appear appeared appears
application apps are around as at back be because been before began begin being between both brief briefly
browse browsed browser browsing but by came can change changed check checked checking clearly come compare
compared contain contained contains continue continued could day did different discuss discussed display
displayed document during each edit edited editing either entitled etc exact exactly file files find first
focus focused followed following for found frame from further general get go going got had has have having
he her here him his hour hours how i in include included includes including into is it item its itself
just label labelled last later like line list listed lists look looked looking made main mainly make many
me mention mentioned mentions minute minutes moment more morning afternoon evening most mostly moved my
name named new next no not note noted notes now of off on once one only onto open opened opening or other
our out over own page part person previously quick quickly read reading really recent recently record
recorded refer referred related review reviewed reviewing same saw say says screen screenshot second
section see seem seemed seems seen several she show showed showing shown shows since site so some
something spend spent start started state stated states still such switch switched tab talk talked task
text than that the their them then there these they thing things this those through time times titled to
together took toward turn two type typed typing under until up update updated upon us use used user using
value various version very view viewed viewing visible visit visited visiting was watch watched way we
website week went were what when where which while who whole why will window with within word words work
worked working would write writing written wrote yesterday today you your
"""
_COMMON = frozenset(_COMMON_TEXT.split())
_IRREGULAR_TEXT = """
bought buy sold sell went go gone go sent send built build kept keep lost lose paid pay told tell taken
take took take given give gave give chose choose chosen choose broke break broken break drove drive held
hold grew grow grown grow fell fall fallen fall rose rise risen rise ran run met meet won win spoke speak
spoken speak drew draw drawn draw thought think brought bring left leave stole steal stolen steal deeper
deep depth deep
"""
_IRREGULAR = dict(zip(_IRREGULAR_TEXT.split()[::2], _IRREGULAR_TEXT.split()[1::2], strict=True))
_COMMON_HAN = re.compile(
    "你们|我们|他们|她们|屏幕上|屏幕|画面|截图|窗口|页面|应用|程序|文件|文档|显示|出现|打开|查看|看到|看了|浏览|阅读|编辑|"
    "编写|写了|修改|使用|正在|进行|工作|处理|继续|开始|切换|访问|讨论|内容|标题|名为|名称|叫做|其中|以及|并且|同时|然后|随后|"
    "之后|之前|期间|左右|大约|主要|相关|关于|一个|一些|一份|一封|多个|几个|这个|那个|上午|下午|早上|晚上|中午|凌晨|今天|昨天|"
    "前天|小时|分钟|时间|当时|接着|还有|提到|写道|写着|设置|设为|改为|[你我他她它您的了着过和与及或在于是有为被把将向对给从到用上中里"
    "下内这那其并也都就还又但而个条份次位项]"
)


def content_words(text: str) -> set[str]:
    """Stems of the words that say something, and pairs of Han characters, in normal form."""
    words = {stem(word) for word in _latin(text) if len(word) > 2 and word not in _COMMON}
    plain = _COMMON_HAN.sub(" ", normalize(text))
    return words | {run[i : i + 2] for run in HAN_RUN.findall(plain) for i in range(len(run) - 1)}


def share(words: Collection[str], texts: Iterable[str]) -> float:
    """The part of some content words (0..1) that stand in the texts; 1.0 of no words."""
    if not words:
        return 1.0
    return 1 - len(lacking(words, texts)) / len(words)


def lacking(words: Collection[str], texts: Iterable[str]) -> set[str]:
    """Those of some content words that stand in none of the texts."""
    whole = " ".join(texts)
    stems, han = _held(whole)
    return {word for word in words if not (word in han if HAN.match(word) else _is_among(word, stems))}


@lru_cache(maxsize=256)
def _held(text: str) -> tuple[frozenset[str], str]:
    """The stems and the Han signs of a text; each sentence of an answer asks for those of the same frames."""
    return frozenset(stem(word) for word in _latin(text)), "".join(HAN_RUN.findall(normalize(text)))


def named(words: Iterable[str], text: str) -> set[str]:
    """The Latin words that a text has in some form of them: "approved" names "approve".

    Of three letters only as they are: without its ending "offer" would be "off".
    """
    latin = set(_latin(text))
    stems = {stem(word) for word in latin}
    return {word for word in words if (word in latin if len(word) <= 3 else _is_among(stem(word), stems))}


def is_foreign(sentence: str, texts: Iterable[str]) -> bool:
    """Whether a sentence is written in Han and the texts hold none, or the other way round.

    A reader takes a bullet or an icon for a single sign: a word has two.
    """
    return has_han(sentence) != any(has_han(text) for text in texts)


def has_han(text: str) -> bool:
    """Whether a word of a text is in Han."""
    return bool(_HAN_WORD.search(text))


def _latin(text: str) -> list[str]:
    return _LATIN.findall(normalize(_CAMEL.sub(" ", text)))


def stem(word: str) -> str:
    """A word in normal form without its ending, so that its forms are the same."""
    word = _IRREGULAR.get(word, word)
    shorter = _ENDING.sub("", word)
    return shorter if len(shorter) >= 3 else word


def _is_among(stem: str, stems: Collection[str]) -> bool:
    if stem in stems:
        return True
    return len(stem) >= 4 and any(
        len(other) >= 4
        and abs(len(other) - len(stem)) <= LETTERS_OF_AN_ENDING
        and (other.startswith(stem) or stem.startswith(other))
        for other in stems
    )


# ---- telling words
# What a model's telling adds to what a screen shows: "the mail asks", "you had open", 手册要求.
#
# These words say how something was told, where it stood or when; they say nothing of it that a frame would
# have to show. So `assistant.evidence.support` asks for no proof of them. Words for what became of
# something are not among them (`assistant.evidence.outcomes`), nor are words for people who may have done it.

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
_TELLING_WORDS_IRREGULAR = """
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
    return frozenset(stem(form) for text in texts for word in text.split() for form in _forms(word))


FORMS = _stems(_FORMS)
"""What a text is made of, by stem: a line, a message, a table."""

TELLING = FORMS | _stems(_TELLING, _DOING, _TIMES, _AMOUNTS, _LINKING, _ANYONE, _TELLING_WORDS_IRREGULAR)
"""By stem."""

_TELLING_WORDS_HAN = """
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
    "|".join(
        [
            *sorted(_TELLING_WORDS_HAN.split(), key=len, reverse=True),
            _HAN_COUNT,
            f"[{''.join(_HAN_SIGN.split())}]",
        ]
    )
)


# ---- glossary
# Chinese and English words of work for the same thing: a sentence in one is held to a text in the other.
#
# No dictionary: the common words of offices, projects, programs, measuring and the weather, each with the
# English words it may stand for. A word that is missing here proves and disproves nothing by itself.

_TERMS = """
预算 budget | 财务 finance financial | 会计 accounting | 成本 cost | 成本中心 centre |
费用 cost fee expense | 价格 price | 单价 price unit | 运费 shipping freight | 差旅 travel |
旅费 travel | 发票 invoice | 收据 receipt | 合同 contract | 订单 order | 订购 order |
报价 offer quote quotation | 采购 purchase buy | 付款 payment pay | 工资 salary wage |
薪 salary pay raise | 税 tax | 银行 bank | 账户 account | 客户 customer client |
供应商 supplier vendor | 公司 company | 团队 team | 同事 colleague | 部门 department | 董事会 board |
董事 board director | 经理 manager | 产品 product | 负责人 lead head owner responsible |
主管 head manager lead | 站长 head station chief | 工程师 engineer | 值班 duty | 现场 field site |
发布 release publish | 老板 boss | 员工 staff employee | 志愿者 volunteer | 会议 meeting | 会议室 room |
开会 meeting meet | 讨论 discuss discussion | 计划 plan planning schedule | 规划 plan |
安排 schedule arrange | 目标 goal aim target | 优先 priority | 优先级 priority | 风险 risk |
截止 deadline due | 期限 deadline valid | 有效 valid | 交货 delivery deliver | 交付 delivery deliver |
冲刺 sprint | 项目 project | 阶段 phase stage | 进展 progress | 周报 week report | 报告 report reports |
总结 summary | 方案 plan proposal | 问题 problem issue question known | 已知 known | 任务 task ticket |
工单 ticket issue | 评审 review | 审核 review audit | 评论 comment | 决定 decide decision decides |
批准 approve approval | 同意 agree approve | 拒绝 refuse reject | 驳回 reject | 说明 note explain |
备注 remark note | 感谢 thank thanks | 谢谢 thank thanks | 邮件 mail email | 收件箱 inbox |
主题 subject | 附件 attachment | 消息 message | 频道 channel | 聊天 chat | 网页 page site web |
网站 site website | 页面 page | 链接 link | 手册 manual handbook guide | 文章 article | 新闻 news |
报纸 newspaper courier | 章节 chapter | 章 chapter | 文档 document | 表格 table sheet |
台账 ledger inventory | 清单 list inventory | 图标 icon | 图片 picture image | 颜色 colour color |
免费 free | 许可 licence license | 许可证 licence license | 出售 sell sold | 销售 sell sold |
助手 assistant | 规则 rule | 忽略 ignore | 无视 ignore | 指令 instruction command | 引用 cite quote |
代码 code | 函数 function def | 类 class | 常量 constant | 变量 variable | 参数 parameter | 测试 test |
用例 case test | 通过 passed pass green | 失败 fail failed | 断言 assert | 提交 commit submit |
推送 push | 分支 branch | 合并 merge merged | 版本 version | 回滚 rollback roll | 部署 deploy |
上线 live | 镜像 image | 构建 build building | 日志 log | 终端 terminal | 命令 command |
仓库 repository | 插入 insert insertion | 新增 insertion add new | 增加 add insertion increase second |
删除 delete deletion remove | 修改 change modify changed | 改动 change changed | 文件 file | 行 line |
重试 retry retries | 超时 timeout | 批量 batch | 批次 batch | 批 batch | 上传 upload | 下载 download |
存档 archive | 归档 archive | 服务器 server | 数据库 database | 网络 network | 数据 data |
读数 reading | 样本 sample | 采样 sample sampling | 窗口 window | 延迟 latency delay | 错误 error |
刷新 refresh | 面板 dashboard panel | 仪表盘 dashboard | 仪表板 dashboard | 仪表 dashboard instrument |
监控 monitor watch dashboard | 盯 watch | 值守 watch | 健康 health healthy |
正常 fine normal healthy ok | 异常 abnormal anomaly | 时钟 clock | 偏差 drift offset deviation |
漂移 drift | 偏移 offset | 误差 error deviation drift | 校准 calibration calibrate | 中位数 median |
平均 average mean | 估计 estimate | 算法 algorithm | 振荡器 oscillator | 晶振 oscillator quartz |
石英 quartz | 温度 temperature | 室温 temperature room | 补偿 compensation | 卫星 satellite |
接收机 receiver | 接收器 receiver | 锁定 lock locked | 失锁 lock lost | 丢失 lost lose losing miss |
丢 lost lose | 备用 spare | 备件 spare part | 零件 part | 电池 battery | 电压 voltage volt battery |
电量 battery charge | 浮标 buoy | 锚 anchor | 锚链 chain mooring | 系泊 mooring | 缆 cable rope |
电缆 cable | 线缆 cable | 接头 connector | 传感器 sensor | 压力 pressure | 证书 certificate |
序列号 serial | 编号 number | 数量 number quantity | 总额 total | 总计 total | 合计 total sum |
金额 amount total | 车间 workshop | 工坊 workshop | 维修 repair mend workshop | 报修 repair |
修理 repair mend | 修复 repair mend fix | 修好 mend repair | 更换 replace change | 替换 replace |
安装 install | 重启 restart | 设备 device equipment | 装备 gear equipment | 船 boat ship vessel |
出海 sea boat | 码头 pier | 港 harbour port | 港口 harbour port | 海 sea | 风 wind | 风力 wind force |
风暴 storm | 暴风 storm | 警报 warning alarm | 警告 warning | 预警 warning | 潮 tide | 高潮 high tide |
低潮 low tide | 涨潮 high tide | 退潮 low tide | 潮位 tide level | 水位 level water | 水深 depth |
深度 depth | 天气 weather | 钢 steel | 钢材 steel | 涨价 price went up |
上涨 rise rose went up increase | 下降 fall fell drop reduce | 升 rise | 降 fall drop reduce |
灯 light lamp | 灯光 light | 旧 old | 新 new | 博物馆 museum | 入场 entry admission | 开放 open |
北 north | 南 south | 东 east | 西 west | 站 station | 站点 station | 车站 station | 组 group |
群 group | 数据点 point | 夜 night | 整夜 night | 周末 weekend | 春天 spring | 春季 spring | 年 year |
月 month | 周 week | 天 day | 去年 last year | 上个月 last month | 上月 last month | 上周 last week |
下周 next week | 早上 morning | 中午 noon midday | 正午 noon | 重点 focus key main | 优先处理 priority |
记录 record log | 确认 confirm | 等待 wait | 连续 consecutive continuous | 停止 stop |
禁止 forbid forbidden prohibit | 作业 work operation | 步骤 step | 注意 note caution attention |
要求 request require ask | 建议 suggest | 参考 reference | 崩溃 crash | 机器 machine computer |
电脑 computer machine | 笔记 note | 原因 cause reason because | 结果 result | 首个 first |
唯一 only single | 公开 public | 公共 public | 阅读 read | 浏览 read browse | 联系人 contact |
状态 state status | 配备 bring equip provide | 没有 without none no |
数据包 packet | 影响 affect move impact | 迟到 late | 返回 back return |
出发 out leave start | 空闲 free | 可用 free available | 带上 take bring | 携带 take bring |
打包 pack packed | 两次 twice two | 重复 twice again repeat | 最大 largest biggest max | 最多 most max |
部分 part | 明显 clear significant | 慢 slow | 快 fast ahead | 领先 ahead | 提前 ahead early |
落后 behind | 迟 late | 晚 late | 早 early | 大 large big | 小 small | 多 more many | 少 less few |
高 high | 低 low
"""
_NAMES = """
上海 Shanghai | 北京 Beijing | 广州 Guangzhou | 深圳 Shenzhen | 杭州 Hangzhou | 南京 Nanjing |
天津 Tianjin | 重庆 Chongqing | 成都 Chengdu | 武汉 Wuhan | 西安 Xi'an | 苏州 Suzhou | 青岛 Qingdao |
大连 Dalian | 厦门 Xiamen | 宁波 Ningbo | 香港 Hong Kong | 澳门 Macau | 台北 Taipei | 高雄 Kaohsiung |
东京 Tokyo | 大阪 Osaka | 首尔 Seoul | 釜山 Busan | 新加坡 Singapore | 曼谷 Bangkok | 河内 Hanoi |
雅加达 Jakarta | 孟买 Mumbai | 德里 Delhi | 迪拜 Dubai | 悉尼 Sydney | 墨尔本 Melbourne | 伦敦 London |
巴黎 Paris | 柏林 Berlin | 汉堡 Hamburg | 慕尼黑 Munich | 法兰克福 Frankfurt | 维也纳 Vienna |
苏黎世 Zurich | 日内瓦 Geneva | 罗马 Rome | 米兰 Milan | 马德里 Madrid | 巴塞罗那 Barcelona |
里斯本 Lisbon | 阿姆斯特丹 Amsterdam | 鹿特丹 Rotterdam | 布鲁塞尔 Brussels | 哥本哈根 Copenhagen |
斯德哥尔摩 Stockholm | 奥斯陆 Oslo | 赫尔辛基 Helsinki | 华沙 Warsaw | 布拉格 Prague | 莫斯科 Moscow |
纽约 New York | 波士顿 Boston | 芝加哥 Chicago | 旧金山 San Francisco | 洛杉矶 Los Angeles |
西雅图 Seattle | 华盛顿 Washington | 多伦多 Toronto | 温哥华 Vancouver | 中国 China | 日本 Japan |
韩国 Korea | 德国 Germany | 法国 France | 英国 Britain | 美国 America | 印度 India | 俄罗斯 Russia |
企业微信 WeCom | 微信 WeChat | 钉钉 DingTalk | 飞书 Feishu
"""


def _pairs(text: str) -> dict[str, tuple[str, ...]]:
    entries = (entry.split() for entry in text.replace("\n", " ").split("|"))
    return {entry[0]: tuple(entry[1:]) for entry in entries if entry}


TERMS = {han: frozenset(stem(word) for word in words) for han, words in _pairs(_TERMS).items()}
NAMES = {han: normalize(" ".join(words)) for han, words in _pairs(_NAMES).items()}
_NAMES_IN_LATIN = re.compile(rf"\b(?:{'|'.join(map(re.escape, NAMES.values()))})\b")
_NAMES_IN_HAN = re.compile("|".join(NAMES))
_LONGEST_FIRST = re.compile("|".join(sorted(TERMS, key=len, reverse=True)))


def same_words(said: str, texts: Sequence[str]) -> tuple[set[str], set[str]]:
    """The words of a sentence that are known here: those that the texts have in the other language, and
    those that they have not.
    """
    whole = normalize("\n".join(texts))
    shown, unlike = _han(said, whole) if has_han(said) else _glossary_latin(said, whole)
    # A single sign is mostly part of another word, or counts something.
    open_words = {word for word in unlike - shown if len(word) > 1 and not TELLING_HAN.fullmatch(word)}
    return shown, open_words - TELLING


def without_terms(said: str) -> str:
    """A sentence in normal form without the Chinese words and names that are known here."""
    return _NAMES_IN_HAN.sub(" ", _LONGEST_FIRST.sub(" ", said))


def _han(said: str, whole: str) -> tuple[set[str], set[str]]:
    terms = set(_LONGEST_FIRST.findall(normalize(said)))
    shown = {term for term in terms if TERMS[term] - lacking(TERMS[term], [whole])}
    return shown, terms - shown


def _glossary_latin(said: str, whole: str) -> tuple[set[str], set[str]]:
    here = _in_han(whole)
    words = {word for word in content_words(said) if word in _glossary_stems()}
    shown = {word for word in words if word in here}
    return shown, words - shown


def _in_han(whole: str) -> frozenset[str]:
    """The English words for the terms that a text has."""
    return frozenset().union(*(TERMS[term] for term in TERMS if term in whole))


@lru_cache(maxsize=1)
def _glossary_stems() -> frozenset[str]:
    return frozenset().union(*TERMS.values())


def names(texts: Iterable[str]) -> set[str]:
    """Towns, countries and programs that texts name in either language, by their English names."""
    return set(_named_in(normalize("\n".join(texts))))


@lru_cache(maxsize=256)
def _named_in(whole: str) -> frozenset[str]:
    latin = set(_NAMES_IN_LATIN.findall(whole))
    return frozenset(name for han, name in NAMES.items() if name in latin or han in whole)
