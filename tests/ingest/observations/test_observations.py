"""Observations of an hour: what the rules say, when they run, and what a deletion leaves."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from ingest.core.worker_stats import WorkerStats
from ingest.observations import keyword_extraction, places, rules
from ingest.observations.observation_loop import ObservationLoop
from store.core.database import Database, rows, scalar
from store.core.migrations import migrate
from store.core.paths import DataDir
from store.deletion import deletion
from store.embeddings.knn import RetrievalQuery
from store.frames.frames import FrameRow
from store.frames.media import Media
from store.memory import observation_writer, observations, search
from store.memory.observations import HOUR_MS, Fact, Observation
from store.ocr import readings
from store.spool.queue import PRIVATE_WINDOW, Spool
from store.timeline import ledger, segments
from store.verify.verify import verify
from tests.factories import NOON_MS, Clock, text_draft
from tests.ingest.remembering import MINUTE, Shoot
from tests.tables import for_each

EDITOR = "retention.py - recall - Visual Studio Code"
SECRET = "xylophonequark"


def derive(database: Database, clock: Clock, stats: WorkerStats | None = None) -> int:
    """Run a new loop, as after a restart, until nothing is due; returns its steps."""
    loop = ObservationLoop(database, clock, threading.Event(), stats=stats)
    steps = 0
    while loop.step():
        steps += 1
        clock.now_ms += 10_000
    return steps


def everything(database: Database) -> list[Observation]:
    return observations.between(database, 0, 2 * NOON_MS)


# -- what the rules say -------------------------------------------------------------------


def test_visits_to_one_place_are_one_observation(database: Database, shoot: Shoot, clock: Clock) -> None:
    line = "The retention policy keeps frames for 14 days"
    first = shoot(NOON_MS, f"{line}\nretention", window_name=EDITOR)
    shoot(NOON_MS + MINUTE, "The mail about retention", app_name="Thunderbird", window_name="Inbox")
    shoot(
        NOON_MS + 2 * MINUTE,
        f"{line}\nanother retention line https://sqlite.org/fts5.html",
        window_name=EDITOR,
    )
    derive(database, clock)
    code, mail = everything(database)
    assert (code.start_ms, code.end_ms, code.active_ms) == (NOON_MS, NOON_MS + 3 * MINUTE, 2 * MINUTE)
    assert (code.kind, mail.kind, code.project, code.source) == ("coding", "mail", "recall", "rule")
    assert code.title == "retention.py - recall – Code"
    assert code.narrative.startswith("2 min on Code in 2 visits. Windows: retention.py - recall.")
    assert code.concepts[0] == "recall" and code.files == ("retention.py",)
    assert Fact(line, first.id) in code.facts
    assert set(code.frame_ids) == {first.id, (NOON_MS + 2 * MINUTE) * 1024}


def told(database: Database) -> dict[str | None, tuple[str, list[str]]]:
    """Title and lines by app, compared with nothing else."""
    drafts = rules.drafts_of(database, NOON_MS // HOUR_MS, NOON_MS + HOUR_MS, rules.Surroundings())
    return {one.app_name: (one.title, [fact.text for fact in one.facts]) for one in drafts}


def test_what_a_window_behind_shows_is_not_told_of_the_one_in_front(database: Database, shoot: Shoot) -> None:
    """The calculator has no line of its own, so none is its title; what stands elsewhere is not behind."""
    paper = "Injector number two sticks whenever the feedwater is warmer than 38 degrees"
    note = "Ask the founder about another injector on Monday"
    shoot(NOON_MS, f"{paper}\nmenu", app_name="Zathura", window_name="manual.pdf")
    shoot(NOON_MS + MINUTE, f"{paper}\n1164", app_name="Galculator", window_name="galculator")
    shoot(NOON_MS + 2 * MINUTE, f"{paper}\nmenu\n{note}", app_name="Mousepad", window_name="notes")
    shoot(NOON_MS + 3 * MINUTE, f"{note}\nmenu\nmenu\n{paper}", app_name="Xpad", window_name="copy")
    found = told(database)
    assert found["Zathura"][1] == [paper]
    assert found["Galculator"] == ("Galculator", [])
    assert found["Mousepad"][1] == [note]
    assert sorted(found["Xpad"][1]) == sorted([note, paper])


def test_a_document_keeps_its_lines_while_its_title_changes(database: Database, shoot: Shoot) -> None:
    line = "The kiln is fired on Tuesday at nine hundred degrees"
    shoot(NOON_MS, line, app_name="Mousepad", window_name="Untitled 1")
    shoot(NOON_MS + MINUTE, line, app_name="Mousepad", window_name="kiln.txt")
    assert told(database)["Mousepad"] == ("kiln.txt – Mousepad", [line])


def test_time_in_which_nobody_was_there_is_not_active(database: Database, shoot: Shoot, clock: Clock) -> None:
    """Idle time is told late: the hour was derived before, and is derived again."""
    shoot(NOON_MS, shown_ms=20 * MINUTE, app_name="Code", window_name=EDITOR)
    derive(database, clock)
    assert [one.active_ms for one in observations.between(database, NOON_MS, clock())] == [20 * MINUTE]
    with database.write() as connection:
        ledger.add(connection, "deduped", "idle", NOON_MS + 5 * MINUTE, NOON_MS + 15 * MINUTE, looks=0)
    derive(database, clock)
    assert [one.active_ms for one in observations.between(database, NOON_MS, clock())] == [10 * MINUTE]


def test_pages_of_one_site_are_one_observation(database: Database, shoot: Shoot, clock: Clock) -> None:
    for n, page in enumerate(("fts5", "lang", "pragma")):
        shoot(
            NOON_MS + n * MINUTE, app_name="Chrome", window_name=f"{page} page",
            browser_url=f"https://www.sqlite.org/{page}.html", shown_ms=MINUTE * (n == 1) + 1_000,
        )  # fmt: skip
    derive(database, clock)
    [one] = everything(database)
    assert one.title == "lang page and 2 more – sqlite.org"
    assert one.kind == "browsing" and len(one.urls) == 3 and one.urls[0].endswith("lang.html")


def test_what_was_on_a_monitor_without_the_focus_is_not_what_was_done(
    database: Database, shoot: Shoot, clock: Clock
) -> None:
    shoot(NOON_MS, window_name="seen aside", focused=False)
    derive(database, clock)
    assert everything(database) == []


def test_what_stood_in_another_window_is_not_told_of_the_one_in_front(
    database: Database, shoot: Shoot, clock: Clock
) -> None:
    paper, own = "The ferry captain reports nine centimetres", "Buy gooseberry marmalade for aunt Hilda"
    for n in range(2):
        shoot(
            NOON_MS + n * MINUTE, f"{own}\n{paper}", app_name="Mousepad", window_name="shopping",
            visible=(("Zathura", "tides.pdf", None),), places=((0, 0, 0, 800, 18), (1, 0, 18, 800, 500)),
        )  # fmt: skip
    derive(database, clock)
    [one] = everything(database)
    assert [fact.text for fact in one.facts] == [own]


NO_WINDOW = {"app_name": None, "window_name": None, "focused": None, "monitor": ""}


def test_a_picture_that_was_imported_is_a_moment_by_itself(
    database: Database, data_dir: DataDir, shoot: Shoot, clock: Clock
) -> None:
    shoot(NOON_MS, "recorded")
    shots = [
        shoot(
            NOON_MS + n * MINUTE // 2,
            f"The third lighthouse needs lamp {n}",
            shown_ms=0,
            source="import",
            **NO_WINDOW,
        )
        for n in (1, 4, 5)
    ]
    derive(database, clock)
    recorded, *moments = everything(database)
    assert (recorded.start_ms, recorded.end_ms, recorded.active_ms) == (NOON_MS, NOON_MS + MINUTE, MINUTE)
    assert [(o.start_ms, o.active_ms, o.title, o.kind, o.facts[0].text) for o in moments] == [
        (shot.captured_ms, 0, "Imported picture", "picture", f"The third lighthouse needs lamp {n}")
        for n, shot in zip((1, 4, 5), shots, strict=True)
    ]


def test_an_earlier_version_s_imports_leave_the_line_and_its_films_stay(
    database: Database, data_dir: DataDir, shoot: Shoot, clock: Clock
) -> None:
    shoot(NOON_MS, shown_ms=3 * MINUTE)
    for at_ms, media_type in ((NOON_MS + MINUTE, "image/png"), (NOON_MS + 10 * MINUTE, "image/webp")):
        frame = shoot(at_ms, shown_ms=MINUTE // 2, source="upload", **NO_WINDOW)
        database.change(
            "update frames set source = 'import', media_type = ? where id = ?", (media_type, frame.id)
        )
    database.change("drop index frames_imported")
    database.change("delete from migrations where name = '016_moments'")
    migrate(database.connection(), data_dir)
    derive(database, clock)
    with database.read() as connection:
        line = segments.stored_line(connection)
        assert line == segments.folded_line(connection)
    assert [(s.start_ms - NOON_MS, s.app_name) for s in line] == [(0, "Code"), (10 * MINUTE, None)]
    assert [m.start_ms for m in segments.moments(database, 0, 2 * NOON_MS)] == [NOON_MS + MINUTE]


def test_windows_that_nobody_can_tell_apart_are_not_taken_for_one(
    database: Database, shoot: Shoot, clock: Clock
) -> None:
    """Two private windows, or two unknown ones, need not be the same; one that goes on is."""
    for n, app in enumerate((PRIVATE_WINDOW, "Code", PRIVATE_WINDOW, None, "Code", None)):
        shoot(
            NOON_MS + n * MINUTE,
            shown_ms=MINUTE,
            app_name=app,
            window_name="main.py" if app == "Code" else None,
        )
    derive(database, clock)
    found = [((each.start_ms - NOON_MS) // MINUTE, each.app_name) for each in everything(database)]
    assert found == [(0, PRIVATE_WINDOW), (1, "Code"), (2, PRIVATE_WINDOW), (3, None), (5, None)]


def test_an_hour_ends_an_observation(database: Database, shoot: Shoot, clock: Clock) -> None:
    shoot(NOON_MS - 5 * MINUTE, shown_ms=10 * MINUTE)
    derive(database, clock)
    assert [(one.start_ms - NOON_MS, one.end_ms - NOON_MS) for one in everything(database)] == [
        (-5 * MINUTE, 0), (0, 5 * MINUTE),
    ]  # fmt: skip


@for_each(
    ("titles", "lines", "expected"),
    [
        (["Retention"], [], ["Retention"]),
        ([], ["the deadlock again", "a deadlock here"], ["deadlock"]),
        ([], ["deadlock deadlock deadlock"], []),
        ([], ["数据保留策略今天讨论", "我们更新了数据保留策略"], ["数据保留策略"]),
        (["阳台种生姜全过程"], ["生姜怎么种"], ["阳台种生姜全过程"]),
    ],
    ids=["title", "two lines", "one line", "chinese", "chinese title"],
)
def test_concepts_stand_out(titles: list[str], lines: list[str], expected: list[str]) -> None:
    weight = keyword_extraction.Background().weight(())
    shown = [keyword_extraction.Line(line, 1) for line in lines]
    assert keyword_extraction.concepts(titles, shown, weight) == expected


@for_each(
    ("text", "expected"),
    [
        ("retention.py - recall", ["retention.py"]),
        (
            "edit store/deletion/registry.py, ~/notes/a.md and C:\\x\\b.txt.",
            ["store/deletion/registry.py", "~/notes/a.md", "C:\\x\\b.txt"],
        ),
        ("see example.com or v1.2 or e.g. this", []),
        ("https://host.org/path/file.html", []),
        ("年度报告.docx 已保存", ["年度报告.docx"]),
    ],
)
def test_files_are_told_from_other_words(text: str, expected: list[str]) -> None:
    assert places.files([text]) == expected


@for_each(
    ("title", "app", "expected"),
    [
        ("(3) Inbox - Mozilla Thunderbird", "Thunderbird", "Inbox"),
        ("● main.py - recall - Visual Studio Code", "Code", "main.py - recall"),
        ("Plan – Notion", "Chrome", "Plan – Notion"),
        ("Stock.xlsx – Excel", "Microsoft Excel", "Stock.xlsx"),
        (None, "Code", ""),
    ],
)
def test_a_title_is_steady(title: str | None, app: str, expected: str) -> None:
    assert places.stable_title(title, app) == expected


@for_each(
    ("app", "window", "url", "expected"),
    [
        ("Chrome", "Prices | Shop of Anna", "https://shop.example/prices", ("Prices", "shop.example")),
        ("Chrome", "How to prune – YouTube", "https://www.youtube.com/1", ("How to prune", "YouTube")),
        ("Chrome", "TempWatch – Fridge 2", "https://app.tempwatch.example/2", ("Fridge 2", "TempWatch")),
        ("Chrome", "News of today – Star", "https://news.star.example/", ("News of today", "Star")),
        ("Chrome", "News – World", "https://news.bbc.co.uk/world", ("News – World", "news.bbc.co.uk")),
        ("Calendar", "Calendar – April", None, ("April", "Calendar")),
        ("Slack", "Slack", None, ("", "Slack")),
        (None, None, None, ("", "Unknown app")),
    ],
)
def test_a_title_is_told_without_what_all_titles_have(
    app: str | None, window: str | None, url: str | None, expected: tuple[str, str]
) -> None:
    pages = ((f"{page} | Shop of Anna", f"https://shop.example/{page}") for page in ("Prices", "News", "Us"))
    known = places.Titles(("Chrome", title, address) for title, address in pages)
    assert known.told(app, window, url) == expected


def test_menus_are_told_from_what_was_looked_at(database: Database, shoot: Shoot, clock: Clock) -> None:
    """What stands in other windows, too, is no fact, no concept and no title."""
    menu = "Clinic File Edit Records Reports Help Tue 6 Apr 08:{:02}"
    for n, (window, line) in enumerate(
        [
            ("Balu", "Suture removal booked: Fri 16 April"),
            ("Mimi", "Dental rescheduled: Mon 12 April"),
            ("Clinic", "Order 20 vials of ketamine"),
        ]
    ):
        for look in range(3):
            shoot(NOON_MS + (3 * n + look) * MINUTE, f"{menu.format(3 * n + look)}\n{line}",
                  app_name="Clinic", window_name=window)  # fmt: skip
    derive(database, clock)
    told = {one.title: [fact.text for fact in one.facts] for one in everything(database)}
    assert told == {
        "Balu – Clinic": ["Suture removal booked: Fri 16 April"],
        "Mimi – Clinic": ["Dental rescheduled: Mon 12 April"],
        "Clinic": ["Order 20 vials of ketamine"],
    }
    assert not {"Records", "Reports"} & {word for one in everything(database) for word in one.concepts}


def test_a_window_s_title_is_not_told_as_its_best_line_though_one_sign_was_misread(
    database: Database, shoot: Shoot, clock: Clock
) -> None:
    shoot(NOON_MS, "Seed orders/2027-Iist.ods - Sheets\nBroad beans, 12 packets from Ashdown",
          app_name="Sheets", window_name="Seed orders/2027-list.ods - Sheets")  # fmt: skip
    derive(database, clock)
    (one,) = everything(database)
    assert [fact.text for fact in one.facts] == ["Broad beans, 12 packets from Ashdown"]


def test_a_bar_that_stands_on_every_page_is_not_told_though_it_was_the_first_that_was_seen(
    database: Database, shoot: Shoot, clock: Clock
) -> None:
    loop = ObservationLoop(database, clock, threading.Event())
    bar = "You are using an unsupported command flag, stability and security will suffer from it"
    lines = (
        "Seven hives stand behind the orchard wall", "Every lead strip needs solder before Thursday",
        "Altos rehearse Monday evening without sheet music", "Limestone passages flood after heavy rain",
        "Sourdough rolls cost eighty cents apiece", "Lowest water measured during October: 12 inches",
    )  # fmt: skip
    for n, line in enumerate(lines):
        at_ms = NOON_MS + 6 * n * MINUTE
        shoot(at_ms, f"{bar}\n{line}", app_name="Chromium", window_name=f"Page {n}")
        clock.now_ms = at_ms + 5 * MINUTE
        while loop.step():
            pass
    assert [fact.text for one in everything(database) for fact in one.facts] == list(lines)


TABS = (
    "v @ Korplan efterår x +",
    "v @ Korplan efterar x @ Oficina de bicicletas x +",
    "x | @ Korplan efterår x | @ Oficina de biciclet' x | @ 图书馆借阅通知",
    "v @ Korplan fia de bicicletas× 图书馆借阅通知 er legs x @ Notes on rye x",
)
PAGES = {
    "Korplan efterår": "Øveaften flyttes til torsdag den 3. december",
    "Oficina de bicicletas": "A roda traseira precisa de sete raios novos",
    "图书馆借阅通知": "二楼阅览室因空调维修关闭三天",
    "Notes on rye": "The dough rests for eighteen hours at fourteen degrees",
}


def test_a_strip_of_tabs_is_never_told_though_it_grows_and_is_read_in_another_way_each_time(
    database: Database, shoot: Shoot
) -> None:
    for n, (tabs, (page, line)) in enumerate(zip(TABS, PAGES.items(), strict=True)):
        shoot(NOON_MS + n * MINUTE, f"{tabs}\n{line}", app_name="Chromium", window_name=f"{page} - Chromium")
    drafts = rules.drafts_of(database, NOON_MS // HOUR_MS, NOON_MS + HOUR_MS, rules.Surroundings())
    assert [fact.text for one in drafts for fact in one.facts] == list(PAGES.values())


def test_what_was_read_unsurely_is_told_last() -> None:
    lines = [
        keyword_extraction.Line("Twelve sacks of strong wheat flour", 1),
        keyword_extraction.Line("llo for the bakery: Saturda] miller", 2, 0.45),
    ]
    told = keyword_extraction.facts(lines, [], lambda word: 1.0)
    assert [line.confidence for line in told] == [1.0, 0.45]


# -- when they run ------------------------------------------------------------------------


def test_deriving_twice_equals_once_and_a_restart_derives_nothing_again(
    database: Database, shoot: Shoot, clock: Clock
) -> None:
    shoot(NOON_MS), shoot(NOON_MS + HOUR_MS)
    assert derive(database, clock) == 2
    before = everything(database)
    with database.read() as connection:
        documents = rows(connection, "select * from memory_documents")
    assert derive(database, clock) == 0
    with database.write() as connection:
        connection.execute("insert into memory_hours (hour) values (?)", (NOON_MS // HOUR_MS,))
    assert derive(database, clock) == 1
    assert everything(database) == before
    with database.read() as connection:
        assert rows(connection, "select * from memory_documents") == documents


def test_a_late_frame_and_a_late_reading_derive_their_hour_again(
    database: Database, shoot: Shoot, clock: Clock
) -> None:
    frame = shoot(NOON_MS, None)
    derive(database, clock)
    [before] = everything(database)
    line = "Postponed words about retention policies"
    with database.write() as connection:
        readings.add(connection, frame.id, text_draft(f"{line}\nretention"), (), NOON_MS)
    assert derive(database, clock) == 1
    [after] = everything(database)
    assert (after.id, after.facts) == (before.id, (Fact(line, frame.id),))
    shoot(NOON_MS - MINUTE, window_name="an import")
    assert derive(database, clock) >= 1
    assert len(everything(database)) == 2


def test_only_activity_that_has_ended_counts_while_an_hour_runs(
    database: Database, shoot: Shoot, clock: Clock
) -> None:
    clock.now_ms = NOON_MS + 20 * MINUTE
    shoot(NOON_MS, window_name="ended")
    shoot(NOON_MS + 18 * MINUTE, window_name="goes on", shown_ms=2 * MINUTE)
    assert derive(database, clock) == 1
    assert [one.title for one in everything(database)] == ["ended – Code"]
    clock.now_ms = NOON_MS + HOUR_MS + 2 * MINUTE
    derive(database, clock)
    assert [one.title for one in everything(database)] == ["ended – Code", "goes on – Code"]


def test_a_strange_hour_does_not_keep_the_others_waiting(
    database: Database, shoot: Shoot, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    shoot(NOON_MS), shoot(NOON_MS + HOUR_MS)
    stats, whole = WorkerStats(clock), rules.drafts_of

    def broken(database: Database, hour: int, *arguments: Any) -> Any:
        if hour == (NOON_MS + HOUR_MS) // HOUR_MS:
            raise RuntimeError("strange")
        return whole(database, hour, *arguments)

    monkeypatch.setattr(rules, "drafts_of", broken)
    derive(database, clock, stats)
    assert [one.start_ms for one in everything(database)] == [NOON_MS]
    assert stats.known.last_error == "memory failed: RuntimeError"
    monkeypatch.setattr(rules, "drafts_of", whole)
    derive(database, clock)
    assert len(everything(database)) == 2


def test_sessions_are_summarised_when_they_are_over(database: Database, shoot: Shoot, clock: Clock) -> None:
    todo = "[ ] measure the recall again\n[ ] write to Anna"
    first = shoot(NOON_MS, f"{todo}\nsome other words of it, 14 days", window_name=EDITOR)
    shoot(NOON_MS + MINUTE, todo.replace("[ ] write", "[x] write"), window_name=EDITOR)
    shoot(NOON_MS + 20 * MINUTE, app_name="Chrome", window_name="FTS5", browser_url="https://sqlite.org/fts5")
    shoot(NOON_MS + 100 * MINUTE, window_name="later")
    clock.now_ms = NOON_MS + 125 * MINUTE
    derive(database, clock)
    page = search.search_memory(database, RetrievalQuery(""), ("session",), now_ms=clock.now_ms)
    [session] = [entry.body for entry in page.entries]
    assert (session.start_ms, session.end_ms) == (NOON_MS, NOON_MS + 21 * MINUTE)  # type: ignore[union-attr]
    assert session.fields == {  # type: ignore[union-attr]
        "request": None, "learned": "some other words of it, 14 days", "completed": "[x] write to Anna",
        "investigated": "retention.py - recall – Code\nFTS5 – sqlite.org",
        "next_steps": "[ ] measure the recall again",
        "notes": "3 min at the screen: Code 2 min, Chrome 1 min. Files: retention.py.",
    }  # fmt: skip
    lines = observations.quoted(database, NOON_MS, clock.now_ms, session.fields.values())  # type: ignore[union-attr]
    assert Fact("some other words of it, 14 days", first.id) in lines and len(lines) == 3
    assert session.project == "recall"  # type: ignore[union-attr]


# -- a person's words ---------------------------------------------------------------------


def test_edits_survive_deriving_again(database: Database, shoot: Shoot, clock: Clock) -> None:
    shoot(NOON_MS)
    derive(database, clock)
    [one] = everything(database)
    observation_writer.edit(database, one.id, {"title": "Mine", "project": "p"}, clock())
    shoot(NOON_MS + MINUTE, "fresh words of retention\nand retention")
    derive(database, clock)
    [after] = everything(database)
    assert (after.id, after.title, after.project, after.source) == (one.id, "Mine", "p", "user")
    assert after.active_ms == 2 * MINUTE and "retention" in after.concepts


def test_what_was_hidden_stays_hidden(database: Database, shoot: Shoot, clock: Clock) -> None:
    shoot(NOON_MS)
    derive(database, clock)
    observation_writer.hide(database, everything(database)[0].id, clock())
    shoot(NOON_MS + MINUTE)
    derive(database, clock)
    assert everything(database) == []
    with database.read() as connection:
        assert scalar(connection, "select count(*) from memory_documents where doc_type = 'observation'") == 0


# -- deletion -----------------------------------------------------------------------------


def home_has(data_dir: DataDir, word: str) -> list[str]:
    return [
        path.name
        for path in data_dir.home.rglob("*")
        if path.is_file() and word.encode() in path.read_bytes()
    ]


def put_secret(database: Database, shoot: Shoot, clock: Clock) -> tuple[FrameRow, FrameRow]:
    """A harmless frame, and one whose words and title are found nowhere else; derived."""
    kept = shoot(NOON_MS, "harmless words about retention\nretention again", window_name="harmless")
    secret = shoot(
        NOON_MS + MINUTE, f"the {SECRET} is a secret thing\n{SECRET} once more {SECRET}.py",
        window_name=f"about {SECRET}", browser_url=f"https://{SECRET}.example/",
    )  # fmt: skip
    derive(database, clock)
    return kept, secret


def test_a_deletion_takes_along_what_was_made_of_its_frames(
    database: Database, data_dir: DataDir, shoot: Shoot, clock: Clock
) -> None:
    """Rows, documents, index and the bytes of the home folder."""
    kept, secret = put_secret(database, shoot, clock)
    with database.write() as connection:
        for (number,) in rows(connection, "select id from memory_documents"):
            import numpy as np

            from store.embeddings import vectors

            vectors.add(connection, "document", number, "m", [(0, 1, np.ones(4, np.int8))])
    assert home_has(data_dir, SECRET)
    receipt = deletion.delete_frames(database, Media(data_dir.media), [secret.id])
    assert (receipt.verified, receipt.left) == (True, ())
    assert receipt.counts.memory >= 1
    assert home_has(data_dir, SECRET) == []
    derive(database, clock)
    [one] = everything(database)
    assert one.frame_ids == (kept.id,)
    assert verify(database, Media(data_dir.media), Spool(data_dir.spool)).problems == ()
    assert home_has(data_dir, SECRET) == []


def test_what_a_person_wrote_stays_whatever_the_deleted_frames_said(
    database: Database, data_dir: DataDir, shoot: Shoot, clock: Clock
) -> None:
    _, secret = put_secret(database, shoot, clock)
    harmless, about = everything(database)
    words = {"title": "My own title", "narrative": f"I read of {SECRET}."}
    for one in (harmless, about):
        observation_writer.edit(database, one.id, words, clock())
    deletion.delete_frames(database, Media(data_dir.media), [secret.id])
    derive(database, clock)
    left = [(one.id, one.title, one.narrative, one.facts) for one in everything(database)]
    assert {number for number, *_ in left} == {harmless.id, about.id}
    assert all((title, said) == ("My own title", words["narrative"]) for _, title, said, _ in left)
    assert SECRET not in str([facts for *_, facts in left])


def test_a_frame_deleted_while_its_hour_is_derived_comes_to_nothing(
    database: Database, data_dir: DataDir, shoot: Shoot, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = shoot(NOON_MS, f"the {SECRET} is a secret thing", window_name=SECRET)
    whole = rules.drafts_of

    def overtaken(*arguments: Any) -> Any:
        drafts = whole(*arguments)
        deletion.delete_frames(database, Media(data_dir.media), [secret.id])
        monkeypatch.setattr(rules, "drafts_of", whole)
        return drafts

    monkeypatch.setattr(rules, "drafts_of", overtaken)
    derive(database, clock)
    assert everything(database) == []
    assert home_has(data_dir, SECRET) == []
