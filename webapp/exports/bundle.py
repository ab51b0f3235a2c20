"""An answer as a zip: ``answer.md``, ``answer.html``, ``evidence.json``, pictures and their hashes.

``SHA256SUMS`` is what ``sha256sum --check`` reads. ``evidence.json`` also names the SHA-256 that
each frame's picture had when it was captured, so that a crop can be traced to its frame.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import asdict
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from webapp.exports import formats, page
from webapp.exports.pack import Pack, Source

FORMAT = "recollect-answer/1"


def file_name(pack: Pack, suffix: str) -> str:
    """``chat17-t4-20261120T143208+0800.zip``, the moment of the export in the answer's zone."""
    at = datetime.fromtimestamp(pack.made_ms / 1000, ZoneInfo(pack.turn.timezone))
    return f"chat{pack.turn.chat_id}-t{pack.turn.turn_id}-{at:%Y%m%dT%H%M%S%z}.{suffix}"


def archive(pack: Pack) -> bytes:
    """The zip. The same pack gives the same bytes."""
    files = {
        "answer.md": formats.markdown_document(pack, pictures=True).encode(),
        "answer.html": page.html_document(pack).encode(),
        "evidence.json": json.dumps(evidence(pack), ensure_ascii=False, indent=1).encode() + b"\n",
        **{source.image.name: source.image.content for source in pack.sources if source.image},
        **dict(pack.files),
    }
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files.items())
    files["SHA256SUMS"] = sums.encode()
    at = datetime.fromtimestamp(pack.made_ms / 1000, ZoneInfo(pack.turn.timezone))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, (max(at.year, 1980), *at.timetuple()[1:6]))
            entry.compress_type = zipfile.ZIP_STORED if name.startswith("evidence/") else zipfile.ZIP_DEFLATED
            entry.external_attr = 0o600 << 16
            bundle.writestr(entry, content)
    return buffer.getvalue()


def evidence(pack: Pack) -> dict[str, Any]:
    """Everything that can be checked by a program; times in epoch milliseconds."""
    turn = pack.turn
    return {
        "format": FORMAT,
        "exported_ms": pack.made_ms,
        "chat": turn.chat_id,
        "turn": turn.turn_id,
        "question": turn.question,
        "answer_md": turn.answer_md,
        "model": turn.model,
        "range": {"start_ms": turn.start_ms, "end_ms": turn.end_ms, "timezone": turn.timezone},
        "claims": [asdict(claim) for claim in turn.claims],
        "coverage": asdict(turn.coverage),
        "attachments": [
            {"name": each.name, "size_bytes": each.size_bytes, "sha256": each.sha256}
            for each in turn.attachments
        ],
        "evidence": [_source(pack, source) for source in pack.sources],
    }


def _source(pack: Pack, source: Source) -> dict[str, Any]:
    item, image = source.item, source.image
    return {
        "n": source.n,
        "frame_id": item.frame_id,
        "captured_ms": item.captured_ms,
        "local_time": item.local_time,
        "app_name": item.app_name,
        "window_name": item.window_name,
        "browser_url": item.browser_url,
        "quote": item.quote,
        "boxes": [asdict(box) for box in item.boxes],
        "state": item.state,
        "marked_wrong": source.n in pack.withdrawn,
        "withheld": source.withheld or None,
        "picture_gone": source.gone or None,
        "frame_sha256": source.frame_sha256,
        "picture": None
        if image is None
        else {
            "file": image.name,
            "sha256": image.sha256,
            "media_type": image.media_type,
            "shows": None if image.area is None else asdict(image.area),
        },
    }
