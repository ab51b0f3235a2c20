"""Which sample week a home folder holds.

``sample-week.json`` in the home folder marks a home that `recollect demo` filled, and says what it was made
with. Times are epoch milliseconds, ranges half-open.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

from store.core.database import Database
from store.core.errors import StoreError
from store.core.paths import DataDir, replace_file

SOURCE = "demo"
"""`frames.source` of every frame of a sample week, and of no other."""

FORMAT = 1


@dataclass(frozen=True, slots=True)
class SampleWeek:
    """A sample week. Made again with the same `made_with`, it is the same to the last pixel on the
    same fonts. Until every frame was drawn `is_complete` is False.
    """

    made_with: dict[str, Any]
    timezone: str
    languages: tuple[str, ...]
    start_ms: int
    end_ms: int
    is_complete: bool = False


def is_sample(data_dir: DataDir) -> bool:
    """Whether this home folder holds a sample week, and so must never hold anything else."""
    return data_dir.sample_week.exists()


def read(data_dir: DataDir) -> SampleWeek | None:
    """The sample week of this home folder, None when it has none. Raises `StoreError`."""
    try:
        document = json.loads(data_dir.sample_week.read_bytes())
        if document.pop("format") != FORMAT:
            raise ValueError("another format")
        known = {each.name: document[each.name] for each in fields(SampleWeek)}
        return SampleWeek(**known | {"languages": tuple(document["languages"])})
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{data_dir.sample_week.name} cannot be read: {error}") from error


def write(data_dir: DataDir, week: SampleWeek) -> None:
    """Mark a home folder, whole or not at all."""
    document = {"format": FORMAT, **asdict(week)}
    replace_file(data_dir.sample_week, json.dumps(document, ensure_ascii=False, indent=1).encode())


def stranger(database: Database) -> str | None:
    """The source of some frame that is not the sample week's, None when there is none."""
    found: str | None = database.scalar(
        "select source from frames where source <> ? order by id limit 1", (SOURCE,)
    )
    return found
