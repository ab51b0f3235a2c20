"""Peewee models of the memory of chats. Like those of `store.core.schema`, one per table."""

from __future__ import annotations

from peewee import BlobField, CompositeKey, FloatField, IntegerField, Model, TextField


class ChatSessionRow(Model):
    """The life of one window of a chat. `metadata` is a JSON object, see `store.memory.chat_sessions`."""

    id = IntegerField(primary_key=True)
    conversation_id = IntegerField(null=True)
    state = TextField()  # open, closed
    is_visible = IntegerField()
    created_ms = IntegerField()
    seen_ms = IntegerField()
    closed_ms = IntegerField(null=True)
    closed_by = TextField()  # window, stale, new, or ''
    summary_state = TextField()  # none, pending, made, empty
    metadata = TextField()

    class Meta:
        table_name = "chat_sessions"


class ChatSummaryRow(Model):
    """What a session came to. `vector` is int8[dimension] of `vector_model`, both null without one."""

    session_id = IntegerField(primary_key=True)
    ended_ms = IntegerField()
    request = TextField(null=True)
    investigated = TextField(null=True)
    learned = TextField(null=True)
    completed = TextField(null=True)
    next_steps = TextField(null=True)
    notes = TextField(null=True)
    tokens = IntegerField()
    made_by = TextField()
    is_edited = IntegerField()
    is_retracted = IntegerField()
    vector = BlobField(null=True)
    vector_model = TextField(null=True)
    updated_ms = IntegerField()
    traces = TextField(null=True)

    class Meta:
        table_name = "chat_summaries"


class SessionTagRow(Model):
    """What a session was about, from the person's own words."""

    session_id = IntegerField()
    tag = TextField()
    confidence = FloatField()

    class Meta:
        table_name = "session_tags"
        primary_key = CompositeKey("session_id", "tag")


class UserChatSummary(Model):
    """A digest of many sessions: ``recent`` or ``history``."""

    kind = TextField(primary_key=True)
    lines = TextField()
    session_ids = TextField()
    until_ms = IntegerField()
    built_ms = IntegerField()

    class Meta:
        table_name = "user_chat_summaries"


class UserTopicSummary(Model):
    """A digest of what was said about one topic."""

    id = IntegerField(primary_key=True)
    topic = TextField(unique=True)
    title = TextField()
    lines = TextField()
    session_ids = TextField()
    score = FloatField()
    is_dismissed = IntegerField()
    built_ms = IntegerField()
    expires_ms = IntegerField()

    class Meta:
        table_name = "user_topic_summaries"


class ContextPackRow(Model):
    """What a turn told the model as background, and why."""

    turn_id = IntegerField(primary_key=True)
    session_id = IntegerField()
    hash = TextField()
    text = TextField()
    record = TextField()
    tokens = IntegerField()
    build_ms = FloatField()
    created_ms = IntegerField()

    class Meta:
        table_name = "context_packs"


class ContextPackSource(Model):
    """A session whose summary a pack was made of."""

    turn_id = IntegerField()
    session_id = IntegerField()

    class Meta:
        table_name = "context_pack_sources"
        primary_key = CompositeKey("turn_id", "session_id")


class ChatUse(Model):
    """A session whose summary a tool gave to the model in a turn."""

    turn_id = IntegerField()
    session_id = IntegerField()

    class Meta:
        table_name = "chat_uses"
        primary_key = CompositeKey("turn_id", "session_id")


class ContextSample(Model):
    """Sizes and times of a sampled turn; no words."""

    turn_id = IntegerField(primary_key=True)
    pack_tokens = IntegerField()
    prompt_tokens = IntegerField()
    build_ms = FloatField()
    helpfulness = FloatField(null=True)
    created_ms = IntegerField()

    class Meta:
        table_name = "context_samples"


CONTEXT_MODELS: tuple[type[Model], ...] = (
    ChatSessionRow,
    ChatSummaryRow,
    SessionTagRow,
    UserChatSummary,
    UserTopicSummary,
    ContextPackRow,
    ContextPackSource,
    ChatUse,
    ContextSample,
)
