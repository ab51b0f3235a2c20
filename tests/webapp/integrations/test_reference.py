"""docs/doors.md lists the tools as the server announces them."""

from __future__ import annotations

import os
from pathlib import Path

import anyio

from assistant.read_api.calls import ReadSources
from webapp.integrations.mcp import make_server

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "doors.md"
START = "<!-- tools: made from the code by the tests, RECOLLECT_REFRESH=1 -->\n"
END = "<!-- end of tools -->\n"


def reference(library: ReadSources) -> str:
    """A row per tool: name, parameters (the needed ones in bold), first paragraph."""
    lines = ["| tool | parameters | what it does |", "| --- | --- | --- |"]
    for tool in anyio.run(make_server(library, "mcp").list_tools):
        needed = tool.input_schema.get("required", [])
        names = [f"**{name}**" if name in needed else name for name in tool.input_schema["properties"]]
        said = " ".join((tool.description or "").split("\n\n")[0].split())
        lines.append(f"| `{tool.name}` | {', '.join(names)} | {said} |")
    return "\n".join(lines) + "\n"


def test_the_tools_are_documented_as_they_are(library: ReadSources) -> None:
    """Refresh with RECOLLECT_REFRESH=1."""
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(START)
    stored, _, after = rest.partition(END)
    made = reference(library)
    if os.environ.get("RECOLLECT_REFRESH"):
        DOCUMENT.write_text(f"{before}{START}{made}{END}{after}", encoding="utf-8")
        stored = made
    assert stored == made
