"""Sources, people, facts and insights with something in them: what their pages are looked at with."""

from __future__ import annotations

import re

from playwright.sync_api import Page

from store.chats import conversations
from store.core.database import Database
from store.sources import entities, fact_curation, imports
from store.sources.calendars import EventRecord
from store.sources.entities import Provenance
from store.sources.locations import PlaceRecord, PointRecord
from store.sources.messages import MessageRecord
from tests.end_to_end import demo_home
from tests.sources import put_events, put_messages, put_places, put_points

NOW_MS = round(demo_home.NOW.timestamp() * 1000)
HOUR_MS = 3_600_000
PEOPLE = (
    "Anna Bauer", "Ben Ortiz", "王丽", "Chloé d'Arcy", "Maximiliane Freifrau von Hohenstein-Wittgenburg",
    "Dmitri", "Ewa Nowak", "Farid",
)  # fmt: skip
SAID = (
    "Is the rollout still on for Friday?",
    "Yes, at three. I moved the review to the small room.",
    "retention is 14 days then, I set it this morning",
    "https://wiki.example.org/a_very_long_name_of_a_page_that_does_not_break_anywhere_by_itself#history",
    "好的，下午见。",
)


def fill(database: Database) -> None:
    """Put in what a person has after some weeks."""
    put_messages(
        database,
        (
            MessageRecord(
                ("sms", "whatsapp", "email")[n % 3], NOW_MS - n * HOUR_MS, n % 2 == 0, SAID[n % len(SAID)],
                f"+4917000{n % len(PEOPLE)}", PEOPLE[n % len(PEOPLE)],
            )
            for n in range(80)
        ),
    )  # fmt: skip
    put_events(
        database,
        (
            EventRecord(
                f"Review {n}", NOW_MS + n * 24 * HOUR_MS, NOW_MS + n * 24 * HOUR_MS + HOUR_MS, uid=str(n),
                location="Small room", attendees=("Anna Bauer", "Ben Ortiz"),
            )
            for n in range(-5, 5)
        ),
    )  # fmt: skip
    put_points(database, (PointRecord(NOW_MS - n * 600_000, 48.1 + n / 9_000, 11.5, 12.0) for n in range(60)))
    names = ("Home", "Office", "Kletterhalle am Westkreuz")
    put_places(database, (PlaceRecord(name, 48.1 + n / 900, 11.5) for n, name in enumerate(names)))
    _remember(database)


def _remember(database: Database) -> None:
    """Two of the people, all places, and what is said of them: also twice, and taken back."""
    for each in imports.listed(database):
        with database.write() as connection:
            imports.finish(connection, each.id, each.started_ms + 1_000)
        chosen = set(PEOPLE[:2]) if each.kind == "messages" else None
        imports.accept_names(database, each, chosen, NOW_MS)
    chat = conversations.create(database, "Who works where?", NOW_MS)
    turn = conversations.add_turn(
        database, chat, mode="agent", model="m", question="Who works where?", start_ms=None, end_ms=None,
        timezone="UTC", now_ms=NOW_MS,
    )  # fmt: skip
    learned = Provenance(NOW_MS - HOUR_MS, turn.id)
    with database.write() as connection:
        ben, _ = entities.store_entity(connection, "person", "Ben Ortiz", learned, "Runs the night shift")
        firm, _ = entities.store_entity(connection, "thing", "Contoso", learned)
        employed, _ = entities.store_fact(connection, ben, "works_at", learned, object_entity_id=firm)
        entities.store_fact(connection, ben, "is employed by", learned, object_value="Fabrikam")
        gone, _ = entities.store_fact(connection, ben, "birthday", learned, object_value="1 April")
        fact_curation.retract(connection, gone, "he was joking", NOW_MS)
        fact_curation.use(connection, turn.id, [ben, firm], [employed])


def tell(page: Page, origin: str, frame_id: int) -> dict[str, str]:
    """Have two insights told, one of them twice, as a person does; where they stand."""
    day = "from=1795136400000&to=1795158000000"
    first = _told(page, f"{origin}/insights/new?{day}", "Write the insight")
    single = _told(page, f"{origin}/insights/new?frame={frame_id}", "Write the insight")
    page.goto(f"{origin}/insights/{first}")
    page.locator("form[action$='/again'] select[name=persona]").select_option(label="Journal")
    second = _told(page, "", "Write it again")
    return {
        "insight": f"/insights/{single}",
        "insight-compare": f"/insights/{second}?compare={first}",
        "insight-delete": f"/insights/{single}/delete",
    }


def pages(database: Database) -> dict[str, str]:
    """Where the rest stands."""
    people = {each.name: each.id for each in entities.find_entities(database)}
    kinds = {each.kind: each.id for each in imports.listed(database)}
    selected = f"from={NOW_MS - 5 * HOUR_MS}&to={NOW_MS - 2 * HOUR_MS}"
    return {
        "timeline-selected": f"/timeline?{selected}",
        "entities": "/memory/entities",
        "entity": f"/memory/entities/{people['Anna Bauer']}",
        "entity-import": f"/memory/entities/{people['Ben Ortiz']}",
        "entity-merge": f"/memory/entities/{people['A. Bauer']}/merge?into={people['Anna Bauer']}",
        "facts": "/memory/facts",
        "facts-retracted": "/memory/facts?retracted=1",
        "fact": "/memory/facts/1",
        "days": "/days",
        "day": "/days/2026-11-20",
        "insights": "/insights",
        "insights-found": "/insights?q=code",
        "sources": "/sources",
        "sources-messages": "/sources/messages",
        "sources-messages-found": "/sources/messages?q=retention",
        "sources-messages-day": "/sources/messages?day=2026-11-19",
        "sources-calendar": "/sources/calendar",
        "sources-location": "/sources/location",
        "sources-places": "/sources/places",
        "import-messages": f"/sources/messages/imports/{kinds['messages']}",
        "import-places": f"/sources/places/imports/{kinds['places']}",
        "personas": "/personas",
        "persona": "/personas/2",
        "persona-tried": "/personas/2",
    }


def _told(page: Page, address: str, button: str) -> int:
    """The number of the insight that a form makes."""
    if address:
        page.goto(address)
    page.get_by_role("button", name=button, exact=True).click()
    page.wait_for_url(re.compile(r"/insights/\d+|/chat/\d+"))
    if "/chat/" in page.url:
        page.get_by_role("link", name="Open the insight").last.click()
        page.wait_for_url(re.compile(r"/insights/\d+"))
    found = re.search(r"/insights/(\d+)", page.url)
    assert found is not None, page.url
    return int(found[1])
