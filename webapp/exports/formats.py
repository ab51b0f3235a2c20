"""An answer as Markdown, one HTML file or a zip: what is copied is what is exported.

The marks survive: in Markdown what is said behind a sentence stands there in brackets, in HTML the
quotes stand under their sentences.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
from dataclasses import asdict
from datetime import datetime
from importlib.metadata import version
from typing import Any

from flask import render_template
from pydantic import TypeAdapter

from store.backup.export import escaped, plain
from store.core.paths import DataDir
from store.ocr.readings import Reading
from webapp.exports import bundle
from webapp.exports.pack import Pack, Source, when
from webapp.views import answers
from webapp.views.answers import Links
from webapp.views.turns import coverage_lines

READING = TypeAdapter(Reading)
_NUMBER = re.compile(r"\s?(?<![\\A-Za-z0-9_])\[(\d{1,3})\]")


def markdown_document(pack: Pack, pictures: bool = False) -> str:
    """The answer with its evidence as Markdown; with `pictures`, those of the bundle stand in it."""
    turn = pack.turn
    parts = [f"# {escaped(turn.question)}", plain(marked_answer(pack))]
    if pack.sources:
        parts.append("## Evidence")
        parts += [_source(source, pictures) for source in pack.sources]
    parts += ["---", "\n".join(f"- {escaped(fact)}" for fact in facts(pack))]
    parts.append(f"Answered by {escaped(turn.model)} in [Recollect]({pack.link}).")
    return "\n\n".join(parts) + "\n"


def facts(pack: Pack) -> list[str]:
    """What the question was about, what was looked at, and what could not be."""
    turn = pack.turn
    span = f"{when(turn.start_ms, pack.zone)} to {when(turn.end_ms, pack.zone)}"
    brought = [f"Attached: {attachment.name}, SHA-256 {attachment.sha256}" for attachment in turn.attachments]
    return [f"Asked about {span}, {turn.timezone}", *brought, *coverage_lines(turn)]


def marked_answer(pack: Pack) -> str:
    """The answer's own Markdown with what is said behind its sentences in brackets."""
    answer, parts, at = pack.turn.answer_md, list[str](), 0
    for claim, tag in sorted(answers.tags(pack.turn, pack.withdrawn), key=lambda found: found[0].end):
        if tag.css_class != "hush":
            parts += [answer[at : claim.end], f" ({tag.text})"]
            at = claim.end
    answer = "".join(parts) + answer[at:]
    return _NUMBER.sub(lambda found: "" if int(found[1]) in pack.withdrawn else found[0], answer)


def _source(source: Source, pictures: bool) -> str:
    item = source.item
    if source.withheld:
        return f"**[{source.n}]** {source.at}. {source.withheld}"
    wrong = " **You marked this source as wrong.**" if source.is_wrong else ""
    remark = f" {source.words}." if source.words else ""
    lines = [f"**[{source.n}]** {escaped(source.place)}, [{source.at}]({source.link}).{remark}{wrong}"]
    if item.quote:
        lines.append(f"> {escaped(item.quote)}")
    if pictures and source.image:
        lines.append(f"![Frame {item.frame_id}]({source.image.name})")
    return "\n\n".join(lines)


# -- one HTML file: no script, nothing loaded from anywhere, both themes, fit for print ----------
#
# Pictures stand in it as data addresses, so that the file is whole wherever it is moved; the boxes
# around the quoted words are SVG over them, as on the pages.


def html_document(pack: Pack) -> str:
    return _html(pack, "export/answer.html")


def fragment(pack: Pack) -> str:
    """What stands in its body: what "copy as HTML" gives."""
    return _html(pack, "export/_answer.html")


def _html(pack: Pack, template: str) -> str:
    anchors = {source.n: f"#e{source.n}" for source in pack.sources}
    answer = answers.parts(pack.turn, Links(anchors, withdrawn=pack.withdrawn), anchors)
    sources = {source.n: source for source in pack.sources}
    return render_template(template, pack=pack, answer=answer, sources=sources, facts=facts(pack))


# -- a zip: ``answer.md``, ``answer.html``, ``evidence.json``, pictures, what was read, and the proof -
#
# ``SHA256SUMS`` is what ``sha256sum --check`` reads, ``SHA256SUMS.jws`` its signature by the home's key
# (`webapp.exports.signing`). ``evidence.json`` also names the SHA-256 that each frame's picture had when it
# was captured, so that a crop can be traced to its frame. `webapp.exports.proof` checks all of it.

FORMAT = "recollect-answer/2"
SUMS = "SHA256SUMS"
SIGNATURE = "SHA256SUMS.jws"
PROVES = (
    "every file is as it was when the key named here signed it",
    "each quote that is told as proven stands, at its place, in what the signer read of that whole picture",
)
WHOSE_KEY = "whose key it is: compare it with what its owner tells you through another channel"
PROVES_NOT = (
    WHOSE_KEY,
    "that answer.md and answer.html say what the pictures do: go by the quotes that verify-export tells",
    "from which app, window or time a picture is, or what only its title or another program tells",
    "that the clock of the machine was right, who sat there, or that the screen showed the truth",
    "that the owner of the key did not make the pictures and words: the key is on their own machine",
    "anything about a picture that comes as a part, or not at all",
)


def file_name(pack: Pack, suffix: str) -> str:
    """``chat17-t4-20261120T143208+0800.zip``, the moment of the export in the answer's zone."""
    at = datetime.fromtimestamp(pack.made_ms / 1000, pack.zone)
    return f"chat{pack.turn.chat_id}-t{pack.turn.turn_id}-{at:%Y%m%dT%H%M%S%z}.{suffix}"


def archive(pack: Pack, data_dir: DataDir) -> bytes:
    """The zip, signed by the key of the home. The same pack gives the same bytes."""
    from webapp.exports import signing  # with cryptography, 9 MB

    signed_by = signing.fingerprint(data_dir)
    document = {**evidence(pack), "signed_by": signed_by, "proves": PROVES, "proves_not": PROVES_NOT}
    files = {
        "README.txt": _read_me(signed_by).encode(),
        "answer.md": markdown_document(pack, pictures=True).encode(),
        "answer.html": html_document(pack).encode(),
        "evidence.json": json.dumps(document, ensure_ascii=False, indent=1).encode() + b"\n",
        **{source.image.name: source.image.content for source in pack.sources if source.image},
        **{
            reading_name(source): READING.dump_json(source.reading)
            for source in pack.sources
            if source.reading
        },
        **dict(pack.files),
    }
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files.items())
    files[SUMS] = sums.encode()
    files[SIGNATURE] = signing.sign(data_dir, files[SUMS])
    at = datetime.fromtimestamp(pack.made_ms / 1000, pack.zone)
    return bundle.write(files, (max(at.year, 1980), at.month, at.day, at.hour, at.minute, at.second))


def _read_me(signed_by: str) -> str:
    lists = [f"{head}\n" + "".join(f"- {line}\n" for line in lines) for head, lines in (
        ("That proves:", PROVES), ("It does not prove:", PROVES_NOT),
    )]  # fmt: skip
    return "\n".join(
        [
            "An answer of Recollect with its evidence.\n",
            f"Signed by the key {signed_by}\n",
            "Check it without a network: recollect verify-export FILE --key KEY\n"
            "KEY is what the sender told you through another channel: anybody can write one into it.\n"
            f"{SUMS} is also for `sha256sum --check`, {SIGNATURE} is its detached JWS (RFC 7515, EdDSA).\n",
            *lists,
            "Who deletes these frames in Recollect later does not delete this file.\n",
        ]
    )


def reading_name(source: Source) -> str:
    return f"evidence/{source.n:02d}.json"


def evidence(pack: Pack) -> dict[str, Any]:
    """Everything that can be checked by a program; times in epoch milliseconds."""
    turn = pack.turn
    return {
        "format": FORMAT,
        "exported_ms": pack.made_ms,
        "versions": {"recollect": version("recollect"), "python": platform.python_version()},
        "chat": turn.chat_id,
        "turn": turn.turn_id,
        "question": turn.question,
        "answer_md": turn.answer_md,
        "model": turn.model,
        "range": {"start_ms": turn.start_ms, "end_ms": turn.end_ms, "timezone": turn.timezone},
        "claims": [asdict(claim) for claim in turn.claims],
        "coverage": asdict(turn.coverage),
        "attachments": [
            {"name": attachment.name, "size_bytes": attachment.size_bytes, "sha256": attachment.sha256}
            for attachment in turn.attachments
        ],
        "evidence": [_bundle_source(source) for source in pack.sources],
    }


_TOLD = ("captured_ms", "local_time", "app_name", "window_name", "browser_url", "quote")


def _bundle_source(source: Source) -> dict[str, Any]:
    item, image = source.item, source.image
    return {
        "n": source.n,
        "frame_id": item.frame_id,
        **{name: getattr(item, name) for name in _TOLD},
        "boxes": [box._asdict() for box in item.boxes],
        "state": item.state,
        "marked_wrong": source.is_wrong,
        "withheld": source.withheld or None,
        "picture_gone": source.gone or None,
        "frame_sha256": source.frame_sha256,
        "frame_pixels_sha256": source.frame.pixels_sha256 if source.frame else None,
        "reading": None
        if source.reading is None
        else {
            "file": reading_name(source),
            "engine": source.reading.engine,
            "language": source.reading.language,
            "read_ms": source.reading.read_ms,
            "text_sha256": hashlib.sha256(source.reading.text.encode()).hexdigest(),
            "words_told_by": sorted({word.source for line in source.reading.lines for word in line.words}),
        },
        "picture": None
        if image is None
        else {
            "file": image.name,
            "sha256": image.sha256,
            "media_type": image.media_type,
            "shows": None if image.area is None else image.area._asdict(),
        },
    }
