"""Questions over the sample week that the week does not ask itself, written before answers were tuned.

Other words than on the screen where a person would use them, other facts, English and Chinese, over
one day and over all days. They tell whether what was made better on the week's own questions is
better on others, too, so answers are not tuned on them. One mistake was mended after it showed here: a
name with dots in it, such as a file's, counted once as a whole and again for each part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from zoneinfo import ZoneInfo

from bench.sample_truth import Question, Scene, Truth

SEED, ZONE = 1, ZoneInfo("Europe/Berlin")
"""Of the sample week that is asked about."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the ids of the facts that answer it; without facts, of something that never was.

    `scene` is where it is answered: the question is about the first day on which the answer is shown
    there, or about all days when `is_of_week`.
    """

    message: str
    scene: str = ""
    facts: tuple[str, ...] = ()
    is_of_week: bool = False


ASKED = (
    Asked("How many other stations are fine?", "drift_report", ("stations",)),
    Asked("From how many samples is the offset estimated according to the ticket?", "ticket", ("samples",)),
    Asked("How wide is the WINDOW in clock_offset.py?", "offset_code", ("window_code",)),
    Asked("How many lines did my commit insert?", "tests_pass", ("insertions",)),
    Asked("What number does the review of the median have?", "review", ("review_number",), True),
    Asked("At what time do we go with the release?", "release_chat", ("go_time",)),
    Asked("Who watches the dashboards, and until when?", "release_chat", ("watch",)),
    Asked("How much voltage does the battery of buoy 7 have?", "station_page", ("battery",)),
    Asked("Which version is the goal for Friday?", "week_mail", ("release_goal",)),
    Asked("How exactly shall the offset of every clock be known?", "sprint_plan", ("clock_goal",)),
    Asked("Above which wind force does no boat go out?", "sprint_plan", ("storm",)),
    Asked("What is the number of the offer from Kelp Instruments?", "offer_mail", ("offer_number",)),
    Asked("How many weeks does the delivery of the sensors take?", "offer_mail", ("delivery",), True),
    Asked("When did the board approve Lantern?", "lantern_wiki", ("board",)),
    Asked("How many people read the public page?", "lantern_wiki", ("readers",), True),
    Asked("From what to what did the p95 latency change in the release notes?", "notes", ("notes_latency",)),
    Asked("Until what time is the pier open?", "news", ("pier",), True),
    Asked("How many icons are on the page?", "hostile", ("icons",)),
    Asked("What drift does buoy 7 have after the release?", "deploy", ("drift_after",)),
    Asked("How much did the price of steel rise?", "finance_chat", ("steel",), True),
    Asked("Under which cost centre is the mooring gear approved?", "finance_chat", ("cost_centre",), True),
    Asked("What is the BATCH constant in upload.py?", "upload_code", ("batch",), True),
    Asked("At what time was high tide?", "station_page", ("high_tide",), True),
    Asked("When can we take the boat?", "field_chat", ("boat",), True),
    Asked("Which serial number has the spare receiver?", "field_chat", ("serial",), True),
    Asked("Where do we roll back to if the release fails?", "release_chat", ("rollback",), True),
    Asked("How much is the Lantern budget altogether?", "budget", ("total",), True),
    Asked("What was the deadline for the budget of Lantern?", "week_mail", ("budget_due",), True),
    Asked("In which room and at what time is the planning meeting?", "week_mail", ("meeting",), True),
    Asked("How many ms was buoy 7 ahead?", "drift_report", ("drift",)),
    Asked("How many minutes of readings were thrown away?", "ticket", ("rejected",)),
    Asked("How many tests failed, and how many passed?", "tests_fail", ("failed",), True),
    Asked("How many hours did mending the old lamps take?", "news", ("volunteers",)),
    Asked("What shows up twice with buoy 3?", "notes", ("known",)),
    Asked("Why take the median instead of averaging?", "drift_article", ("median",)),
    Asked("偏差超过多少毫秒要停止校准？", "zh_manual", ("zh_limit",)),
    Asked("下周要更换什么电池？", "zh_report", ("zh_next",)),
    Asked("连续采样几次？", "zh_manual", ("zh_samples",), True),
    Asked("备件台账的合计是多少钱？", "zh_ledger", ("zh_total",), True),
    Asked("值班群里说浮标七号快了几毫秒？", "zh_duty", ("zh_drift",)),
    Asked("因为接收机失锁，丢了几分钟的数据？", "zh_duty", ("zh_lost",), True),
    Asked("站长要求哪天几点前给出校准方案？", "zh_duty", ("zh_due",)),
    Asked("偏差最后降到了多少？", "zh_report", ("zh_result",)),
    Asked("Which hotel did the hairdresser recommend?"),
    Asked("When does the theatre performance begin?"),
    Asked("房东什么时候来修暖气？"),
)


def asked_of(week: Truth) -> Truth:
    """The week with these questions in the place of its own; those about scenes it lacks left out."""
    return replace(week, questions=tuple(_questions(week)))


def _questions(week: Truth) -> Iterator[Question]:
    for number, asked in enumerate(ASKED):
        language = "zh" if any("\u4e00" <= sign <= "\u9fff" for sign in asked.message) else "en"
        scenes = _scenes(week, asked)
        texts = _texts(scenes, asked)
        if scenes:
            shown = tuple(scene.id for scene in scenes if any(scene.showing(text) for text in texts))
            yield Question(
                f"asked-{number + 1}", "facts" if asked.facts else "not_found", asked.message, language,
                scenes[0].start_ms, scenes[-1].end_ms, shown, texts,
            )  # fmt: skip


def _scenes(week: Truth, asked: Asked) -> Sequence[Scene]:
    """The scenes that a question is about: all, or those of the first day that shows the answer."""
    if not asked.facts or (asked.is_of_week and _texts(week.scenes, asked)):
        return week.scenes
    for day in dict.fromkeys(_day(scene) for scene in week.scenes):
        of_day = [scene for scene in week.scenes if _day(scene) == day]
        if _texts(of_day, asked):
            return of_day
    return ()


def _texts(scenes: Sequence[Scene], asked: Asked) -> tuple[str, ...]:
    """The texts of a question's facts that these scenes show, none unless they show all of them."""
    texts = {
        fact.id: fact.text
        for scene in scenes
        for fact in scene.facts
        if fact.id in asked.facts and name_of(scene) == asked.scene and scene.showing(fact.text)
    }
    return tuple(texts[name] for name in asked.facts) if texts.keys() == set(asked.facts) else ()


def _day(scene: Scene) -> str:
    return scene.id.partition("/")[0]


def name_of(scene: Scene) -> str:
    """``2026-11-16/news-2`` is a visit of ``news``."""
    return scene.id.partition("/")[2].rstrip("0123456789").rstrip("-")
