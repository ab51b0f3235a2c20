"""Ordered steps from an empty file to today's schema.

Each step is one module with one function of the same name, runs in one immediate transaction and
is recorded by that name. A step is added at the end of `STEPS` and never edited afterwards. Before
the first step on a database that already holds data, a copy goes to ``backups/``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import apsw

from store.errors import DatabaseTooNew
from store.migrations.m001_frames import m001_frames
from store.migrations.m002_text_index import m002_text_index
from store.migrations.m003_ledger_and_activity import m003_ledger_and_activity
from store.migrations.m004_conversations import m004_conversations
from store.migrations.m005_deletion_and_preferences import m005_deletion_and_preferences
from store.migrations.m006_vectors import m006_vectors
from store.migrations.m007_memory import m007_memory
from store.migrations.m008_access_log import m008_access_log
from store.migrations.m009_names import m009_names
from store.migrations.m010_answer_reports import m010_answer_reports
from store.migrations.m011_next_text_index import m011_next_text_index
from store.migrations.m012_kept_frames import m012_kept_frames
from store.migrations.m013_sent_requests import m013_sent_requests
from store.migrations.m014_paraphrases_read_again import m014_paraphrases_read_again
from store.migrations.m015_prefixes import m015_prefixes
from store.migrations.m016_look_spans import m016_look_spans
from store.migrations.m017_sent_everything import m017_sent_everything
from store.migrations.m018_idle import m018_idle
from store.migrations.m019_tool_calls import m019_tool_calls
from store.migrations.m020_said_with_calls import m020_said_with_calls
from store.migrations.m021_sources import m021_sources
from store.migrations.m022_knowledge import m022_knowledge
from store.migrations.m023_tool_rules import m023_tool_rules
from store.migrations.m024_personas import m024_personas
from store.migrations.m025_drafts import m025_drafts
from store.migrations.m026_model_prompts import m026_model_prompts
from store.migrations.m027_days import m027_days
from store.migrations.m028_insights import m028_insights
from store.migrations.m029_context import m029_context
from store.migrations.m030_given import m030_given
from store.migrations.m031_event_series import m031_event_series
from store.migrations.m032_quote_confidence import m032_quote_confidence
from store.migrations.m033_remembered import m033_remembered
from store.migrations.m034_attachments import m034_attachments
from store.migrations.m035_frame_tag_source import m035_frame_tag_source
from store.migrations.m036_mode_hosts import m036_mode_hosts
from store.migrations.m037_entity_imports import m037_entity_imports
from store.migrations.m038_frame_tag_backfill import m038_frame_tag_backfill
from store.migrations.m039_chat_memory import m039_chat_memory
from store.paths import FILE_MODE, DataDir
from store.times import now_ms

log = logging.getLogger(__name__)

Step = Callable[[apsw.Connection], None]

STEPS: tuple[Step, ...] = (
    m001_frames,
    m002_text_index,
    m003_ledger_and_activity,
    m004_conversations,
    m005_deletion_and_preferences,
    m006_vectors,
    m007_memory,
    m008_access_log,
    m009_names,
    m010_answer_reports,
    m011_next_text_index,
    m012_kept_frames,
    m013_sent_requests,
    m014_paraphrases_read_again,
    m015_prefixes,
    m016_look_spans,
    m017_sent_everything,
    m018_idle,
    m019_tool_calls,
    m020_said_with_calls,
    m021_sources,
    m022_knowledge,
    m023_tool_rules,
    m024_personas,
    m025_drafts,
    m026_model_prompts,
    m027_days,
    m028_insights,
    m029_context,
    m030_given,
    m031_event_series,
    m032_quote_confidence,
    m033_remembered,
    m034_attachments,
    m035_frame_tag_source,
    m036_mode_hosts,
    m037_entity_imports,
    m038_frame_tag_backfill,
    m039_chat_memory,
)


def migrate(connection: apsw.Connection, data_dir: DataDir) -> list[str]:
    """Bring the database up to date; returns the names of the steps that ran.

    Raises `DatabaseTooNew` when it holds a step this version does not know.
    """
    connection.execute(
        "create table if not exists migrations (name text primary key, applied_ms integer not null)"
    )
    applied = {name for (name,) in connection.execute("select name from migrations")}
    unknown = applied - {step.__name__ for step in STEPS}
    if unknown:
        raise DatabaseTooNew(f"the database has migrations unknown to this version: {sorted(unknown)}")
    missing = [step for step in STEPS if step.__name__ not in applied]
    if missing and applied:
        _backup_first(connection, data_dir, missing[0].__name__)
    for step in missing:
        _run(connection, step)
    return [step.__name__ for step in missing]


def _run(connection: apsw.Connection, step: Step) -> None:
    connection.execute("begin immediate")
    try:
        # Another process may have been first while we waited for the lock.
        done = connection.execute("select 1 from migrations where name = ?", (step.__name__,)).fetchone()
        if not done:
            step(connection)
            connection.execute(
                "insert into migrations (name, applied_ms) values (?, ?)",
                (step.__name__, now_ms()),
            )
        connection.execute("commit")
    except BaseException:
        connection.execute("rollback")
        raise
    log.info("migration %s applied", step.__name__)


def _backup_first(connection: apsw.Connection, data_dir: DataDir, step: str) -> None:
    target = data_dir.backups / f"before-{step}-{now_ms()}.db"
    connection.execute("vacuum into ?", (str(target),))
    target.chmod(FILE_MODE)
