"""Scenes in Chinese: the duty group in Shanghai, the weekly report, a ledger and a page."""

from __future__ import annotations

from ingest.demo.demo_story import Planted, SceneScript
from ingest.demo.scenes import Chat, Document, Page, Sheet

_GROUPS = ("上海站值班群", "浮标校准", "周报提醒")

CHINESE_SCENES = (
    SceneScript(
        "zh_duty", "企业微信", "上海站值班群", None, "Harbour",
        "Heard from the duty group in Shanghai how far buoy 7 is off there.",
        Chat("上海站值班群", _GROUPS, (
            ("值班工程师", "早上好，浮标七号的时钟又快了 $drift 毫秒。"),
            ("数据工程师", "收到，今天修改算法，用中位数估计偏差。"),
            ("值班工程师", "昨晚丢失 $gap 分钟数据，原因是接收机失锁。"),
            ("站长", "请在周四 18:00 前给出校准方案。"),
        ), 1),
        (
            Planted("zh_drift", "figure", "快了 $drift 毫秒", "值班工程师"),
            Planted("zh_lost", "figure", "昨晚丢失 $gap 分钟数据", "值班工程师"),
            Planted("zh_due", "date", "请在周四 18:00 前给出校准方案", "站长"),
        ),
        "zh",
    ),
    SceneScript(
        "zh_report", "WPS 文字", "潮汐周报 第$sprint期 - WPS 文字", None, "Harbour",
        "Wrote the weekly tide report in Chinese.",
        Document((
            "# 潮汐周报 第$sprint期",
            "本周重点是浮标七号的时钟校准。",
            "# 进展",
            "- 偏差由 $drift 毫秒降到 $drift_after 毫秒。",
            "- 上传批量改为 $batch 条，延迟明显下降。",
            "# 问题",
            "- 三号浮标电池电压偏低。",
            "# 下周计划",
            "- 更换三号浮标电池，增加第二个锚。",
        ), 2),
        (
            Planted("zh_result", "figure", "偏差由 $drift 毫秒降到 $drift_after 毫秒", "the person"),
            Planted("zh_next", "words", "更换三号浮标电池", "the person"),
        ),
        "zh",
    ),
    SceneScript(
        "zh_manual", "Chrome", "浮标校准手册 - 内部资料", "https://docs.larkspur.example/zh/calibration",
        "Harbour", "Read the calibration manual in Chinese.",
        Page("https://docs.larkspur.example/zh/calibration", "内部资料", (
            "# 浮标校准手册",
            "校准前先确认接收机已经锁定卫星，等待十分钟。",
            "# 步骤",
            "- 记录室温和电池电压。",
            "- 连续采样 120 次，取中位数。",
            "- 偏差超过 500 毫秒时停止校准并报修。",
            "# 注意",
            "风力超过六级时禁止出海作业。",
        ), 5),
        (
            Planted("zh_samples", "figure", "连续采样 120 次", "手册"),
            Planted("zh_limit", "figure", "偏差超过 500 毫秒时停止校准并报修", "手册"),
        ),
        "zh",
    ),
    SceneScript(
        "zh_ledger", "WPS 表格", "备件台账.xlsx - WPS 表格", None, "Field work",
        "Filled in the list of spare parts in Chinese.",
        Sheet("备件", (420, 170, 220, 300), (
            ("名称", "数量", "单价", "备注"),
            ("接收机", "2", "3,400", "序列号 LT-0093"),
            ("电池组", "6", "860", "三号浮标"),
            ("锚链", "1", "5,200", "第二个锚"),
            ("合计金额 17,160 元", "", "17,160", "不含运费"),
        ), 2),
        (Planted("zh_total", "figure", "合计金额 17,160 元", "the person"),),
        "zh",
    ),
)  # fmt: skip
