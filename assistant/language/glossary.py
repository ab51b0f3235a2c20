"""Chinese and English words of work for the same thing: a sentence in one is held to a text in the other.

No dictionary: the common words of offices, projects, programs, measuring and the weather, each with the
English words it may stand for. A word that is missing here proves and disproves nothing by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from assistant.core.texts import normalize
from assistant.language import lexical_overlap
from assistant.language.telling_words import TELLING, TELLING_HAN

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


TERMS = {
    han: frozenset(lexical_overlap.stem(word) for word in words) for han, words in _pairs(_TERMS).items()
}
NAMES = {han: normalize(" ".join(words)) for han, words in _pairs(_NAMES).items()}
_NAMES_IN_LATIN = re.compile(rf"\b(?:{'|'.join(map(re.escape, NAMES.values()))})\b")
_NAMES_IN_HAN = re.compile("|".join(NAMES))
_LONGEST_FIRST = re.compile("|".join(sorted(TERMS, key=len, reverse=True)))


def same_words(said: str, texts: Sequence[str]) -> tuple[set[str], set[str]]:
    """The words of a sentence that are known here: those that the texts have in the other language, and
    those that they have not.
    """
    whole = normalize("\n".join(texts))
    shown, unlike = _han(said, whole) if lexical_overlap.has_han(said) else _latin(said, whole)
    # A single sign is mostly part of another word, or counts something.
    open_words = {word for word in unlike - shown if len(word) > 1 and not TELLING_HAN.fullmatch(word)}
    return shown, open_words - TELLING


def without_terms(said: str) -> str:
    """A sentence in normal form without the Chinese words and names that are known here."""
    return _NAMES_IN_HAN.sub(" ", _LONGEST_FIRST.sub(" ", said))


def _han(said: str, whole: str) -> tuple[set[str], set[str]]:
    terms = set(_LONGEST_FIRST.findall(normalize(said)))
    shown = {term for term in terms if TERMS[term] - lexical_overlap.lacking(TERMS[term], [whole])}
    return shown, terms - shown


def _latin(said: str, whole: str) -> tuple[set[str], set[str]]:
    here = _in_han(whole)
    words = {word for word in lexical_overlap.content_words(said) if word in _stems()}
    shown = {word for word in words if word in here}
    return shown, words - shown


def _in_han(whole: str) -> frozenset[str]:
    """The English words for the terms that a text has."""
    return frozenset().union(*(TERMS[term] for term in TERMS if term in whole))


@lru_cache(maxsize=1)
def _stems() -> frozenset[str]:
    return frozenset().union(*TERMS.values())


def names(texts: Iterable[str]) -> set[str]:
    """Towns, countries and programs that texts name in either language, by their English names."""
    return set(_named_in(normalize("\n".join(texts))))


@lru_cache(maxsize=256)
def _named_in(whole: str) -> frozenset[str]:
    latin = set(_NAMES_IN_LATIN.findall(whole))
    return frozenset(name for han, name in NAMES.items() if name in latin or han in whole)
