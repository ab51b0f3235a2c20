"""What the ingest worker is doing right now: one small file in the spool folder.

``ingest.json`` is replaced as a whole every two seconds and on change, like the capture daemon's
``capture.json``. It is how health tells a worker that is behind from one that is gone, without
asking the process.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass, field
from pathlib import Path

from store.core.paths import replace_file

log = logging.getLogger(__name__)

FILE_NAME = "ingest.json"


@dataclass(frozen=True, slots=True)
class IngestState:
    """The worker's own account: facts with times, not one word for all (HEA-3).

    Counts run since `started_ms`. The problems are sentences for a person and
    empty while all is well; neither ever holds screen text.
    """

    pid: int
    started_ms: int
    written_ms: int  # loop alive
    state: str = "starting"  # starting, running, waiting (cannot write just now), stopped
    problem: str = ""  # why nothing can be stored at the moment: disk full, database busy
    waiting: int = 0  # entries in the spool
    pending: int = 0  # stored frames whose text is still to be read
    stored: int = 0
    deduplicated: int = 0
    excluded: int = 0
    failed: int = 0  # entries set aside in spool/failed
    stored_ms: int | None = None  # last frame stored
    read: int = 0
    reading_failed: int = 0
    read_ms: int | None = None  # last frame read
    reads_per_minute: float = 0.0
    engine: str = ""
    languages: tuple[str, ...] = field(default=())
    engine_problem: str = ""
    to_embed: int = 0  # texts that wait for their meaning, counted up to `vectors.COUNTED`
    embedded: int = 0
    embedder: str = ""  # the model, once something was embedded
    embedder_problem: str = ""
    last_error: str = ""
    last_error_ms: int | None = None


def write_ingest_state(spool_folder: Path, state: IngestState) -> None:
    """Not flushed to disk: after a power cut an old state file is simply an old state file."""
    content = json.dumps(asdict(state), ensure_ascii=False).encode()
    replace_file(spool_folder / FILE_NAME, content, durable=False)


def read_ingest_state(spool_folder: Path) -> IngestState | None:
    """The last state the worker wrote, or None when it never did (or the file is unusable)."""
    try:
        document = json.loads((spool_folder / FILE_NAME).read_bytes())
        document["languages"] = tuple(document["languages"])
        return IngestState(**document)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        log.warning("%s is unusable: %s", FILE_NAME, error)
        return None
