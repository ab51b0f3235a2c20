"""Peewee models of what is not taken from the screen: imported sources, and what is remembered.

Like those of `store.core.schema`, one per table.
"""

from __future__ import annotations

from peewee import BlobField, CompositeKey, FloatField, IntegerField, Model, TextField


class Import(Model):
    """One file that was imported; `finished_ms` is null while it is, or when it was cut short."""

    id = IntegerField(primary_key=True)
    kind = TextField()  # messages, calendar, location, places
    name = TextField()
    format = TextField()
    started_ms = IntegerField()
    finished_ms = IntegerField(null=True)
    added = IntegerField()
    updated = IntegerField()
    skipped = IntegerField()

    class Meta:
        table_name = "imports"


class Contact(Model):
    """Somebody messages were exchanged with."""

    id = IntegerField(primary_key=True)
    name = TextField()  # '' while only an address is known

    class Meta:
        table_name = "contacts"


class ContactAddress(Model):
    """How a contact is known: a number, an e-mail address, or a name alone."""

    address = TextField(primary_key=True)
    contact_id = IntegerField()

    class Meta:
        table_name = "contact_addresses"


class TextMessage(Model):
    """An imported message (`store.sources.messages`)."""

    id = IntegerField(primary_key=True)
    natural_key = TextField(unique=True)
    import_id = IntegerField()  # the import that brought it first
    service = TextField()  # sms, imessage, whatsapp, telegram, email, …
    conversation = TextField()  # name of a group, '' for an exchange of two
    contact_id = IntegerField(null=True)  # the other one; null for one's own words in a group
    is_outgoing = IntegerField()
    sent_ms = IntegerField()
    subject = TextField()
    body = TextField()

    class Meta:
        table_name = "text_messages"


class CalendarEvent(Model):
    """One occurrence of an event (`store.sources.calendars`)."""

    id = IntegerField(primary_key=True)
    natural_key = TextField(unique=True)
    import_id = IntegerField()
    calendar = TextField()
    title = TextField()
    description = TextField()
    location = TextField()
    attendees = TextField()  # JSON list of names or addresses
    start_ms = IntegerField()
    end_ms = IntegerField()  # exclusive; start_ms for an event without a length
    is_all_day = IntegerField()
    status = TextField()  # confirmed, tentative, cancelled or ''
    series = TextField()  # the same for all occurrences of an event, '' where it has no id
    told_in = IntegerField(null=True)  # the last import that told of it

    class Meta:
        table_name = "calendar_events"


class LocationPoint(Model):
    """Where a device was at a moment (`store.sources.locations`)."""

    id = IntegerField(primary_key=True)
    at_ms = IntegerField()
    latitude_e7 = IntegerField()  # degrees times 10,000,000
    longitude_e7 = IntegerField()
    import_id = IntegerField()
    accuracy_m = FloatField(null=True)
    altitude_m = FloatField(null=True)
    source = TextField()

    class Meta:
        table_name = "location_points"


class Place(Model):
    """A place of one's own (`store.sources.locations`)."""

    id = IntegerField(primary_key=True)
    natural_key = TextField(unique=True)
    import_id = IntegerField()
    name = TextField()
    category = TextField()
    address = TextField()
    note = TextField()
    latitude_e7 = IntegerField()
    longitude_e7 = IntegerField()
    radius_m = FloatField()

    class Meta:
        table_name = "places"


class DailySummary(Model):
    """What a local day was about (`store.memory.daily_summaries`)."""

    id = IntegerField(primary_key=True)
    day = TextField(unique=True)  # 2026-11-20
    zone = TextField()  # IANA name
    start_ms = IntegerField()
    end_ms = IntegerField()
    text = TextField()
    source = TextField()  # rule, model
    updated_ms = IntegerField()
    day_start_min = IntegerField()

    class Meta:
        table_name = "daily_summaries"


class DailyHour(Model):
    """What one clock hour of a day was about (`store.memory.daily_hours`)."""

    hour = IntegerField(primary_key=True)  # since 1970, UTC
    source = TextField()  # none, rule, model
    fingerprint = TextField()
    model_next_ms = IntegerField(null=True)  # null: no model is to be asked (any more)
    model_attempts = IntegerField()
    model_error = TextField(null=True)
    updated_ms = IntegerField()

    class Meta:
        table_name = "daily_hours"


class DailyPoint(Model):
    """One thing that was done in an hour."""

    hour = IntegerField()
    n = IntegerField()
    at_ms = IntegerField()
    text = TextField()

    class Meta:
        table_name = "daily_points"
        primary_key = CompositeKey("hour", "n")


class DailyQuote(Model):
    """A frame that shows a point, with the line on it."""

    hour = IntegerField()
    n = IntegerField()
    k = IntegerField()
    frame_id = IntegerField()
    text = TextField()

    class Meta:
        table_name = "daily_quotes"
        primary_key = CompositeKey("hour", "n", "k")


class DailyHourDue(Model):
    """An hour whose observations changed; `changes` tells whether they did again meanwhile."""

    hour = IntegerField(primary_key=True)
    changes = IntegerField()

    class Meta:
        table_name = "daily_hours_due"


class DailyTextDue(Model):
    """An hour whose day has to be written anew."""

    hour = IntegerField(primary_key=True)

    class Meta:
        table_name = "daily_texts_due"


class Entity(Model):
    """Somebody or something that is remembered (`store.sources.entities`)."""

    id = IntegerField(primary_key=True)
    kind = TextField()  # person, place, event, thing
    name = TextField()
    name_key = TextField()  # its tokens, joined by blanks
    description = TextField()
    turn_id = IntegerField(null=True)  # the turn of a chat that stored it
    shown_from_ms = IntegerField(null=True)  # what that chat had been shown of the screen
    shown_until_ms = IntegerField(null=True)
    created_ms = IntegerField()
    updated_ms = IntegerField()
    origin = TextField()  # chat, person, import
    described_by = TextField()  # chat, person, import
    merged_into = IntegerField(null=True)  # it is the same as that one
    merged_root = IntegerField(null=True)  # where merging ends

    class Meta:
        table_name = "entities"


class EntityFrame(Model):
    """A frame that an entity was found on."""

    entity_id = IntegerField()
    frame_id = IntegerField()

    class Meta:
        table_name = "entity_frames"
        primary_key = CompositeKey("entity_id", "frame_id")


class EntityImport(Model):
    """An imported file that names an entity."""

    entity_id = IntegerField()
    import_id = IntegerField()

    class Meta:
        table_name = "entity_imports"
        primary_key = CompositeKey("entity_id", "import_id")


class Fact(Model):
    """Something said of an entity: exactly one of the two objects is set (`store.sources.entities`)."""

    id = IntegerField(primary_key=True)
    subject_id = IntegerField()
    predicate = TextField()
    object_entity_id = IntegerField(null=True)
    object_value = TextField(null=True)
    source_frame_id = IntegerField(null=True)
    turn_id = IntegerField(null=True)
    shown_from_ms = IntegerField(null=True)
    shown_until_ms = IntegerField(null=True)
    created_ms = IntegerField()
    origin = TextField()  # chat, person
    retracted_ms = IntegerField(null=True)
    retract_reason = TextField()

    class Meta:
        table_name = "facts"


class KnowledgeUse(Model):
    """What a tool gave to the model in a turn."""

    turn_id = IntegerField()
    kind = TextField()  # entity, fact
    thing_id = IntegerField()

    class Meta:
        table_name = "knowledge_uses"
        primary_key = CompositeKey("turn_id", "kind", "thing_id")


class FrameTagBackfill(Model):
    """How far frames that were stored before rules marked any have been marked; no row when all are."""

    below = IntegerField()  # frames from this id on are done
    stored_before_ms = IntegerField()

    class Meta:
        table_name = "frame_tag_backfill"
        primary_key = False


class FrameTag(Model):
    """A word that a frame was marked with."""

    frame_id = IntegerField()
    tag = TextField()
    created_ms = IntegerField()
    source = TextField()  # rule, person

    class Meta:
        table_name = "frame_tags"
        primary_key = CompositeKey("frame_id", "tag")


SOURCE_MODELS: tuple[type[Model], ...] = (
    Import,
    Contact,
    ContactAddress,
    TextMessage,
    CalendarEvent,
    LocationPoint,
    Place,
    DailySummary,
    DailyHour,
    DailyPoint,
    DailyQuote,
    DailyHourDue,
    DailyTextDue,
    Entity,
    EntityFrame,
    EntityImport,
    Fact,
    KnowledgeUse,
    FrameTag,
    FrameTagBackfill,
)


# ---- context schema
# Peewee models of the memory of chats. Like those of `store.core.schema`, one per table.


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


# ---- insight schema
# Peewee models of insights. Like those of `store.core.schema`, one per table.


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


# ---- persona schema
# Peewee models of the personas. Like those of `store.core.schema`, one per table.


class PersonaRow(Model):
    """Who may speak, as it stands now. `builtin` is the key of one that came with Recollect."""

    id = IntegerField(primary_key=True)
    builtin = TextField(null=True, unique=True)
    name = TextField()
    description = TextField()
    system_prompt = TextField()
    version = IntegerField()
    is_edited = IntegerField()
    archived_ms = IntegerField(null=True)
    created_ms = IntegerField()
    updated_ms = IntegerField()

    class Meta:
        table_name = "personas"


class PersonaVersion(Model):
    """What a persona said at one time."""

    persona_id = IntegerField()
    version = IntegerField()
    name = TextField()
    description = TextField()
    system_prompt = TextField()
    saved_ms = IntegerField()

    class Meta:
        table_name = "persona_versions"
        primary_key = CompositeKey("persona_id", "version")


PERSONA_MODELS: tuple[type[Model], ...] = (PersonaRow, PersonaVersion)
