"""Peewee models, one per table, for rows and simple reads.

The tables themselves are made by `store.core.migrations`; a test checks that both agree. Models are
not bound to a database: a query runs on the database it is handed, ``query.execute(database)``.
Search, ranking and everything on the hot path is named SQL in the module that owns the answer.
"""

from __future__ import annotations

from peewee import BlobField, CompositeKey, FloatField, IntegerField, Model, TextField

from store.core.memory_schema import CONTEXT_MODELS, INSIGHT_MODELS, PERSONA_MODELS, SOURCE_MODELS


class Frame(Model):
    """One stored picture of one monitor.

    The id carries the time: ``captured_ms * 1024 + n``. Ids therefore sort by time, also for
    imports and late uploads, stay below 2**53 (safe in JavaScript), and a time range is a range
    of rowids, which the full-text index can use directly.
    """

    id = IntegerField(primary_key=True)
    capture_id = TextField(unique=True)
    captured_ms = IntegerField()
    ended_ms = IntegerField()  # last look at which this was still on the screen
    utc_offset_min = IntegerField(null=True)  # zone offset in force where it was captured
    monitor = TextField()  # stable name of the monitor, '' when unknown
    width_px = IntegerField()
    height_px = IntegerField()
    app_name = TextField(null=True)
    window_name = TextField(null=True)
    browser_url = TextField(null=True)
    focused = IntegerField(null=True)  # 1, 0, or null when the source cannot tell
    pid = IntegerField(null=True)
    trigger = TextField(null=True)
    source = TextField()  # screen, folder, video, import, upload
    batch_id = TextField(null=True)  # look batch that counted this frame as kept
    media_path = TextField(null=True)  # below media/, null once the pixels are gone
    media_type = TextField()
    size_bytes = IntegerField()
    sha256 = TextField()  # of the file as captured
    pixels_sha256 = TextField()  # of width, height and the RGB bytes
    media_gone_reason = TextField(null=True)
    reading_state = TextField()  # pending, read, failed, unavailable
    reading_attempts = IntegerField()
    reading_error = TextField(null=True)
    reading_next_ms = IntegerField(null=True)
    stored_ms = IntegerField()
    read_ms = IntegerField(null=True)

    class Meta:
        table_name = "frames"


class Reading(Model):
    """One reading of a frame's text by one engine; the current one is searched.

    `text` joins the lines with newlines. `layout` holds the boxes of lines and words
    (`store.ocr.readings`); a citation keeps the reading it quoted.
    """

    id = IntegerField(primary_key=True)
    frame_id = IntegerField()
    engine = TextField()
    language = TextField()
    text = TextField()
    layout = BlobField()
    words = IntegerField()
    confidence = FloatField(null=True)  # mean over words, 0..1
    duration_ms = IntegerField()
    read_ms = IntegerField()
    is_current = IntegerField()

    class Meta:
        table_name = "readings"


class FrameUrl(Model):
    """A URL that stands in a frame's text."""

    frame_id = IntegerField()
    url = TextField()

    class Meta:
        table_name = "frame_urls"
        primary_key = CompositeKey("frame_id", "url")


class LookBatch(Model):
    """A stretch of looks as the capture daemon counted them."""

    id = TextField(primary_key=True)
    start_ms = IntegerField()
    end_ms = IntegerField()
    looks = IntegerField()

    class Meta:
        table_name = "look_batches"


class LookSpan(Model):
    """Time that looks cover, joined from the batches by a trigger."""

    start_ms = IntegerField(primary_key=True)
    end_ms = IntegerField()

    class Meta:
        table_name = "look_spans"


class Decision(Model):
    """A run of equal capture decisions; never a title, app or URL of what was left out."""

    id = IntegerField(primary_key=True)
    batch_id = TextField(null=True)
    monitor = TextField()
    decision = TextField()  # kept, deduped, excluded, paused, failed
    reason = TextField()
    start_ms = IntegerField()
    end_ms = IntegerField()
    looks = IntegerField()

    class Meta:
        table_name = "decisions"


class Segment(Model):
    """A stretch of activity in one window: derived from frames, can be rebuilt."""

    id = IntegerField(primary_key=True)
    start_ms = IntegerField()
    end_ms = IntegerField()
    app_name = TextField(null=True)
    window_name = TextField(null=True)
    browser_url = TextField(null=True)
    first_frame_id = IntegerField()
    last_frame_id = IntegerField()
    frames = IntegerField()

    class Meta:
        table_name = "segments"


class App(Model):
    """An app that was seen, with its colour for good."""

    name = TextField(primary_key=True)
    colour_slot = IntegerField(null=True)
    first_ms = IntegerField()

    class Meta:
        table_name = "apps"


class IngestRecord(Model):
    """What became of a capture id: makes ingest idempotent, answers GET /ingest/{capture_id}."""

    capture_id = TextField(primary_key=True)
    outcome = TextField()  # stored, deduplicated, excluded, failed, deleted
    frame_id = IntegerField(null=True)
    reason = TextField(null=True)
    captured_ms = IntegerField()
    recorded_ms = IntegerField()

    class Meta:
        table_name = "ingest_records"


class Conversation(Model):
    id = IntegerField(primary_key=True)
    title = TextField()
    created_ms = IntegerField()
    updated_ms = IntegerField()
    without_context = IntegerField(default=0)  # whether the person switched memory off for this chat

    class Meta:
        table_name = "conversations"


class Message(Model):
    """One message of a transcript, as stored."""

    id = IntegerField(primary_key=True)
    conversation_id = IntegerField()
    turn = IntegerField()
    role = TextField()
    content = TextField()
    created_ms = IntegerField()
    session_id = IntegerField(null=True)
    tokens = IntegerField(null=True)

    class Meta:
        table_name = "messages"


class Turn(Model):
    """One question and its answer, with everything needed to show it again."""

    id = IntegerField(primary_key=True)
    conversation_id = IntegerField()
    n = IntegerField()
    mode = TextField()
    model = TextField()
    status = TextField()  # running, done, failed
    question = TextField()
    answer_md = TextField()
    start_ms = IntegerField(null=True)
    end_ms = IntegerField(null=True)
    timezone = TextField()
    payload = TextField()  # JSON: claims, coverage, usage, warnings, error
    created_ms = IntegerField()
    persona_id = IntegerField(null=True)
    persona_version = IntegerField(null=True)
    style_note = TextField()
    given = TextField()  # JSON: what was given beside the words

    class Meta:
        table_name = "turns"


class Evidence(Model):
    """One frame shown for one turn. `quote` and `snippet` go when the frame is deleted."""

    id = IntegerField(primary_key=True)
    turn_id = IntegerField()
    n = IntegerField(null=True)  # citation number; null = retrieved, not cited
    frame_id = IntegerField(null=True)
    reading_id = IntegerField(null=True)
    captured_ms = IntegerField()
    app_name = TextField(null=True)
    window_name = TextField(null=True)
    focused = IntegerField(null=True)
    browser_url = TextField(null=True)
    snippet = TextField()
    quote = TextField()
    boxes = TextField()  # JSON [[x, y, w, h], …] pixels of the frame
    state = TextField()
    needs_check = IntegerField()  # 1: the frame was read again since its quote was looked for
    checked_ms = IntegerField(null=True)  # when it was looked for in a later reading
    confidence = FloatField(null=True)  # 0..1, of the least sure of the quoted words

    class Meta:
        table_name = "evidence"


class Attachment(Model):
    """A file that was attached to a question (`store.chats.attachments`), and what it says."""

    id = IntegerField(primary_key=True)
    conversation_id = IntegerField(null=True)  # null, as the turn, until the question is asked
    turn = IntegerField(null=True)
    sha256 = TextField()  # the file's name on the disk
    name = TextField()
    kind = TextField()  # text, html, pdf, docx, image
    media_type = TextField()
    size_bytes = IntegerField()
    text = TextField()
    is_whole = IntegerField()  # 0: there is more in the file than `text`
    pages = IntegerField(null=True)
    width_px = IntegerField(null=True)
    height_px = IntegerField(null=True)
    added_ms = IntegerField()

    class Meta:
        table_name = "attachments"


class AnswerReport(Model):
    """A person's verdict on one citation of an answer (`store.chats.feedback`)."""

    turn_id = IntegerField()
    n = IntegerField()  # citation number; 0 = the answer as a whole
    verdict = TextField()  # right, wrong
    note = TextField()
    reported_ms = IntegerField()

    class Meta:
        table_name = "answer_reports"
        primary_key = CompositeKey("turn_id", "n")


class Pin(Model):
    """A frame that retention leaves alone because the person said so."""

    frame_id = IntegerField(primary_key=True)
    pinned_ms = IntegerField()

    class Meta:
        table_name = "pins"


class Deletion(Model):
    """The tombstone and receipt of a deletion: a time range and counts, never content."""

    id = IntegerField(primary_key=True)
    start_ms = IntegerField()
    end_ms = IntegerField()
    deleted_ms = IntegerField()
    receipt = TextField()

    class Meta:
        table_name = "deletions"


class Preference(Model):
    key = TextField(primary_key=True)
    value = TextField()  # JSON

    class Meta:
        table_name = "preferences"


class AccessRecord(Model):
    """One call of another program: when, where and how much, never content (`store.egress.access_log`)."""

    id = IntegerField(primary_key=True)
    at_ms = IntegerField()
    door = TextField()  # mcp, mcp_http or screenpipe
    tool = TextField()
    outcome = TextField()  # answered, refused or failed
    returned = IntegerField()
    withheld = IntegerField()  # kept back by the exclusion rules of that moment

    class Meta:
        table_name = "access_log"


class SentRequest(Model):
    """One request that carried text: when, where to, how much; its text until it is erased."""

    id = IntegerField(primary_key=True)
    purpose = TextField()  # answer, test, refine, embed, search, describe, web_search
    turn_id = IntegerField(null=True)
    at_ms = IntegerField()
    provider = TextField()  # the name it was chosen by
    model = TextField()
    url = TextField()
    is_local = IntegerField()
    size_bytes = IntegerField()  # of the body
    body = TextField(null=True)
    outcome = TextField()  # sent, answered, or the code of an error
    input_tokens = IntegerField(null=True)
    output_tokens = IntegerField(null=True)
    is_estimated = IntegerField()
    cost = FloatField(null=True)
    currency = TextField()
    texts = IntegerField()  # to be embedded
    first_ms = IntegerField(null=True)  # when the screens were taken that it shows
    last_ms = IntegerField(null=True)
    pictures = IntegerField()
    blocks = TextField()  # JSON: [name, characters] of each block of the system prompt
    prefix_sha256 = TextField()  # of the system prompt up to the time

    class Meta:
        table_name = "sent_requests"


class EmbeddingModel(Model):
    """A model that vectors are or were made with; one is active."""

    id = IntegerField(primary_key=True)
    name = TextField(unique=True)
    dimension = IntegerField()
    is_active = IntegerField()

    class Meta:
        table_name = "embedding_models"


class Vector(Model):
    """The meaning of one chunk of a thing's text, one byte per number (`store.embeddings.vectors`)."""

    id = IntegerField(primary_key=True)
    kind = TextField()  # frame, document, message, day
    thing_id = IntegerField()  # of that kind
    model_id = IntegerField()
    chunk_start = IntegerField()
    chunk_end = IntegerField()
    vector = BlobField()

    class Meta:
        table_name = "vectors"


class Waiting(Model):
    """A thing whose vectors are still to be made."""

    kind = TextField()
    thing_id = IntegerField()

    class Meta:
        table_name = "embedding_queue"
        primary_key = CompositeKey("kind", "thing_id")


class Observation(Model):
    """What was done in one place within one clock hour (`store.memory.observations`)."""

    id = IntegerField(primary_key=True)
    hour = IntegerField()  # start of the hour, in hours since the epoch
    place = TextField()  # a hash of the app with the site or the window: one of each in an hour
    start_ms = IntegerField()
    end_ms = IntegerField()
    active_ms = IntegerField()  # the time really spent there between the two
    app_name = TextField(null=True)
    kind = TextField()  # coding, browsing, messages, …
    project = TextField(null=True)
    title = TextField()
    narrative = TextField()
    source = TextField()  # rule, model
    edits = TextField()  # JSON: fields a person wrote instead
    is_hidden = IntegerField()
    fingerprint = TextField()  # of what the rules made: changes when the frames say something else
    refine_attempts = IntegerField()
    refine_next_ms = IntegerField(null=True)  # null: not to be refined (any more)
    refine_error = TextField(null=True)
    updated_ms = IntegerField()

    class Meta:
        table_name = "observations"


class ObservationFrame(Model):
    """A frame that an observation was made from."""

    observation_id = IntegerField()
    frame_id = IntegerField()

    class Meta:
        table_name = "observation_frames"
        primary_key = CompositeKey("observation_id", "frame_id")


class ObservationFact(Model):
    """A line that stood on a frame."""

    observation_id = IntegerField()
    n = IntegerField()
    frame_id = IntegerField()
    text = TextField()

    class Meta:
        table_name = "observation_facts"
        primary_key = CompositeKey("observation_id", "n")


class ObservationTerm(Model):
    """A concept, file or address of an observation."""

    observation_id = IntegerField()
    term = TextField()  # concept, file, url
    n = IntegerField()
    value = TextField()

    class Meta:
        table_name = "observation_terms"
        primary_key = CompositeKey("observation_id", "term", "n")


class SessionSummary(Model):
    """The summary of a stretch of use; null where nothing honest can be said."""

    id = IntegerField(primary_key=True)
    start_ms = IntegerField()
    end_ms = IntegerField()
    request = TextField(null=True)
    investigated = TextField(null=True)
    learned = TextField(null=True)
    completed = TextField(null=True)
    next_steps = TextField(null=True)
    notes = TextField(null=True)
    project = TextField(null=True)
    updated_ms = IntegerField()

    class Meta:
        table_name = "session_summaries"


class MemoryHour(Model):
    """An hour that has to be derived (again)."""

    hour = IntegerField(primary_key=True)
    changes = IntegerField()

    class Meta:
        table_name = "memory_hours"


class MemoryDocument(Model):
    """One searchable text of an observation, a session summary or a user prompt (R4.1 to R4.5)."""

    id = IntegerField(primary_key=True)
    document_id = TextField(unique=True)  # obs_7_facts, summary_3_notes, prompt_12
    doc_type = TextField()  # as in `store.memory.documents.DocType`
    sqlite_id = IntegerField()
    field = TextField()
    session_id = IntegerField(null=True)
    project = TextField(null=True)
    created_ms = IntegerField()  # when it began
    ended_ms = IntegerField()  # exclusive
    prompt_number = IntegerField()
    text = TextField()

    class Meta:
        table_name = "memory_documents"


class ToolCall(Model):
    """A call of a chat's tool; `store.chats.tool_calls` says how its states follow each other."""

    id = IntegerField(primary_key=True)
    turn_id = IntegerField()
    iteration = IntegerField()
    call_id = TextField()
    tool = TextField()
    arguments = TextField()
    arguments_sha256 = TextField()
    state = TextField()
    decided_by = TextField()
    output = TextField()
    error = TextField()
    shown_from_ms = IntegerField(null=True)
    shown_until_ms = IntegerField(null=True)
    is_forgotten = IntegerField()
    created_ms = IntegerField()
    expires_ms = IntegerField(null=True)
    started_ms = IntegerField(null=True)
    finished_ms = IntegerField(null=True)
    said = TextField()
    notice = TextField()  # what the person was told it would do
    scope = TextField()  # what a standing approval of it would cover

    class Meta:
        table_name = "tool_calls"


class ToolMode(Model):
    """How a person wants a tool to run: auto, ask or off."""

    tool = TextField(primary_key=True)
    mode = TextField()
    changed_ms = IntegerField()
    hosts = TextField()  # where one that sends something may run without asking

    class Meta:
        table_name = "tool_modes"


class ToolRule(Model):
    """A tool that runs without asking, in one chat or, without one, in all."""

    id = IntegerField(primary_key=True)
    tool = TextField()
    conversation_id = IntegerField(null=True)
    scope = TextField()  # what it reaches, in words
    allowed_ms = IntegerField()
    uses = IntegerField()

    class Meta:
        table_name = "tool_rules"


class Draft(Model):
    """A message that is being written; without a chat it begins a new one."""

    id = IntegerField(primary_key=True)
    conversation_id = IntegerField(null=True)
    message = TextField()
    saved_ms = IntegerField()

    class Meta:
        table_name = "drafts"


class ToolRecord(Model):
    """A decision about a tool, or how a run of it ended."""

    id = IntegerField(primary_key=True)
    at_ms = IntegerField()
    tool = TextField()
    event = TextField()
    duration_ms = IntegerField(null=True)

    class Meta:
        table_name = "tool_log"


class ModelPrompt(Model):
    """A version of what a model is always told first; '' where it was cleared."""

    model_id = TextField()
    version = IntegerField()
    content = TextField()
    sha256 = TextField()
    saved_by = TextField()  # person, program
    is_draft = IntegerField()  # saved by the editor while somebody typed
    begun_ms = IntegerField()
    saved_ms = IntegerField()

    class Meta:
        table_name = "model_prompts"
        primary_key = CompositeKey("model_id", "version")


MODELS: tuple[type[Model], ...] = (
    Frame,
    Reading,
    FrameUrl,
    LookBatch,
    LookSpan,
    Decision,
    Segment,
    App,
    IngestRecord,
    Conversation,
    Message,
    Turn,
    Evidence,
    AnswerReport,
    Attachment,
    Pin,
    Deletion,
    Preference,
    EmbeddingModel,
    Vector,
    Waiting,
    Observation,
    ObservationFrame,
    ObservationFact,
    ObservationTerm,
    SessionSummary,
    MemoryHour,
    MemoryDocument,
    AccessRecord,
    SentRequest,
    ToolCall,
    ToolMode,
    ToolRule,
    ToolRecord,
    Draft,
    *SOURCE_MODELS,
    *PERSONA_MODELS,
    *INSIGHT_MODELS,
    *CONTEXT_MODELS,
    ModelPrompt,
)
