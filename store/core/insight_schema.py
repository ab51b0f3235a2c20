"""Peewee models of insights. Like those of `store.core.schema`, one per table."""

from __future__ import annotations

from peewee import IntegerField, Model, TextField


class AnchorRow(Model):
    """What a conversation is about: a frame, or ``[start_ms, end_ms)``."""

    conversation_id = IntegerField(primary_key=True)
    kind = TextField()
    frame_id = IntegerField(null=True)
    start_ms = IntegerField()
    end_ms = IntegerField()
    amends_id = IntegerField(null=True)

    class Meta:
        table_name = "anchors"


class InsightRow(Model):
    """A narrative of an anchor; of each anchor one is current."""

    id = IntegerField(primary_key=True)
    anchor_kind = TextField()
    frame_id = IntegerField(null=True)
    start_ms = IntegerField()
    end_ms = IntegerField()
    turn_id = IntegerField()
    persona_id = IntegerField(null=True)
    title = TextField()
    summary = TextField()
    training_messages = TextField()
    is_current = IntegerField()
    is_forgotten = IntegerField()
    created_ms = IntegerField()

    class Meta:
        table_name = "insights"


INSIGHT_MODELS: tuple[type[Model], ...] = (AnchorRow, InsightRow)
