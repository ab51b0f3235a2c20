"""An insight as a file to take along: Markdown to be read, or JSON with everything that made it.

What a privacy rule of today leaves out is left out here, too: as in every export of an answer, and with
one frame that is left out the messages are, since they quote what was on the screen.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Literal

from flask import Response

from assistant.read_api.calls import is_permitted
from store.core.times import to_seconds
from store.frames import frames
from store.memory import insights
from store.memory.insights import Insight, redacted
from store.privacy import rules as privacy
from webapp.core.services import services
from webapp.exports import bundle, files, formats
from webapp.exports.pack import Pack

FORMAT = "recollect-insight/1"


def insight_file(insight: Insight, fmt: Literal["md", "json"]) -> Response:
    """The insight as a download. Raises 404 and 409 as `exporting.exported` does."""
    pack = files.export_pack(insight.chat_id, insight.n, lambda number: "none")
    titled = replace(pack, turn=replace(pack.turn, question=insight.title or pack.turn.question))
    content = formats.markdown_document(titled) if fmt == "md" else _document(insight, pack)
    kind = "text/markdown" if fmt == "md" else "application/json"
    response = Response(content.encode(), content_type=f"{kind}; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="insight{insight.id}.{fmt}"'
    response.headers["Cache-Control"] = "private, no-store"
    return response


def _document(insight: Insight, pack: Pack) -> str:
    anchor = insight.anchor
    return json.dumps(
        {
            "format": FORMAT,
            "id": insight.id,
            "anchor": anchor.kind,
            "frame_id": anchor.frame_id,
            "start_time": to_seconds(anchor.start_ms),
            "end_time": to_seconds(anchor.end_ms),
            "title": insight.title,
            "summary": insight.summary,
            "persona": insight.persona,
            "style_note": insight.style_note,
            "current": insight.is_current,
            "version": insight.version,
            "created_at": to_seconds(insight.created_ms),
            "messages": _messages(insight, pack),
            "answer": bundle.evidence(pack),
        },
        ensure_ascii=False,
        indent=1,
    )


def _messages(insight: Insight, pack: Pack) -> object:
    own = services()
    rules = privacy.load_rules(own.data_dir, own.settings.privacy)
    ids = [item.frame_id for item in pack.turn.evidence if item.frame_id is not None]
    kept = insights.messages(own.database, insight.id)
    if all(is_permitted(rules, row) for row in frames.get_many(own.database, ids).values()):
        return kept
    return json.loads(redacted(json.dumps(kept)))
