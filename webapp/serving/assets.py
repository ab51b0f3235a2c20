"""What pages bring along: one style sheet, one script, one sheet of icons, known by fingerprints.

They are put together once in a process, from the files in `static/`, and held in memory, compressed. An
address with the fingerprint of what it leads to is never asked for again; any other, such as one of an
older version, is asked about each time. Nothing else can be had below ``/static/``.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from flask import Flask, Response, abort, request
from werkzeug.wrappers import Response as BaseResponse

from webapp.security import access

_TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
# What a sheet may overrule stands before it.
_FIRST_SHEETS = ("tokens", "base", "controls", "surfaces", "shell", "settings", "forms")
_IMPORT = re.compile(r"^import (?:(?:\* as )?(\w+|\{[^}]+\}) from )?'(\.[^']+)'$", re.M)
_EXPORT = re.compile(r"^export ((?:async )?function|const) (\w+)", re.M)
_COMMENT = re.compile(r"/\*.*?\*/", re.S)  # of style sheets
_REMARK = re.compile(r"^ *//.*\n", re.M)  # of scripts


@dataclass(frozen=True, slots=True)
class Asset:
    name: str
    content: bytes
    mimetype: str
    compressed: bytes
    fingerprint: str

    @property
    def address(self) -> str:
        """Where it can be had, for good."""
        return f"/static/{self.name}?v={self.fingerprint}"


@cache
def assets(folder: Path) -> Mapping[str, Asset]:
    """By name, what the files of a folder come to."""
    vendored = [file.read_text(encoding="utf-8") for file in sorted((folder / "vendor").glob("*.js"))]
    contents = {
        "app.css": _sheets(folder / "css").encode(),
        "app.js": ";\n".join([*vendored, bundled(folder / "js" / "app.js")]).encode(),
        **{file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()},
    }
    return {name: _asset(name, content) for name, content in contents.items()}


def _asset(name: str, content: bytes) -> Asset:
    digest = hashlib.sha256(content).hexdigest()[:12]
    return Asset(name, content, _TYPES[Path(name).suffix], gzip.compress(content, mtime=0), digest)


def _sheets(folder: Path) -> str:
    names = sorted(
        (file.stem for file in folder.glob("*.css")),
        key=lambda name: (_FIRST_SHEETS.index(name) if name in _FIRST_SHEETS else len(_FIRST_SHEETS), name),
    )
    text = "".join((folder / f"{name}.css").read_text(encoding="utf-8") for name in names)
    return re.sub(r"\s+", " ", _COMMENT.sub("", text))


def bundled(entry: Path) -> str:
    """A script module and all that it imports as one script: each is a function that is called once.

    They stand in the order in which they need one another, so imports may not go in a circle.
    """
    names: dict[Path, str] = {}
    calls: list[str] = []

    def add(file: Path) -> str:
        if file not in names:
            text = _REMARK.sub("", file.read_text(encoding="utf-8"))
            text = _IMPORT.sub(lambda found: taken(file, found), text)
            given = ", ".join(name for _, name in _EXPORT.findall(text))
            names[file] = f"m{len(calls)}"
            body = _EXPORT.sub(r"\1 \2", text)
            calls.append(f"const {names[file]} = (() => {{\n{body}\nreturn {{ {given} }}\n}})()\n")
        return names[file]

    def taken(file: Path, found: re.Match[str]) -> str:
        module = add((file.parent / found[2]).resolve())
        return f"const {found[1]} = {module}" if found[1] else ""

    add(entry.resolve())
    return f"(() => {{\n'use strict'\n{''.join(calls)}}})()\n"


def install(app: Flask, folder: Path) -> None:
    """Serve them, and let templates name each by `asset`."""
    found = assets(folder)

    def serve(name: str) -> BaseResponse:
        if name not in found:
            abort(404)
        return _answer(found[name])

    app.add_url_rule("/static/<name>", "static", access.public(serve))
    app.jinja_env.globals["asset"] = {name: asset.address for name, asset in found.items()}.__getitem__


def _answer(asset: Asset) -> BaseResponse:
    is_compressed = request.accept_encodings["gzip"] > 0
    answer = Response(asset.compressed if is_compressed else asset.content, mimetype=asset.mimetype)
    if is_compressed:
        answer.headers["Content-Encoding"] = "gzip"
    answer.vary.add("Accept-Encoding")
    answer.set_etag(asset.fingerprint, weak=True)
    is_for_good = request.args.get("v") == asset.fingerprint
    answer.headers["Cache-Control"] = "public, max-age=31536000, immutable" if is_for_good else "no-cache"
    return answer.make_conditional(request)
