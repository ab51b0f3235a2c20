"""Tools about nothing in the database: arithmetic, the clock, and files in chosen folders."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Annotated, Protocol

from pydantic import Field

from assistant.tools.calculator import CannotCalculate, calculate
from assistant.tools.files import CannotRead, list_folder, read_text
from assistant.tools.tool import ToolFailed, legible, tool


class GeneralContext(Protocol):
    """What these tools are handed."""

    @property
    def now_ms(self) -> int: ...
    @property
    def zone(self) -> tzinfo: ...
    @property
    def read_file_roots(self) -> tuple[Path, ...]: ...
    @property
    def read_file_max_bytes(self) -> int: ...
    @property
    def never_read(self) -> tuple[Path, ...]: ...


Expression = Annotated[str, Field(description="Such as 2*(3+4), sqrt(2), 17 % 5 or round(1/3, 4).")]
FilePath = Annotated[str, Field(description="Whole path below an allowed folder.")]


@tool(mode="auto", reaches="nothing but the numbers it is given")
def calculator(context: GeneralContext, expression: Expression) -> object:
    """Works out an arithmetic expression exactly; call it for any calculation instead of doing it
    in your head. Knows + - * / // % ** and parentheses, abs, round, floor, ceil, sqrt, exp, log,
    sin, cos, tan, factorial, min and max, pi and e; angles are radians."""
    try:
        return {"result": calculate(expression)}
    except CannotCalculate as error:
        raise ToolFailed(str(error)) from error


@tool(mode="auto", reaches="this computer's clock")
def get_current_datetime(context: GeneralContext) -> object:
    """Gives the date and time of now in the person's zone in ISO form with its offset, and as epoch seconds;
    call it before turning words such as "an hour ago" into `start` and `end`."""
    now = datetime.fromtimestamp(context.now_ms / 1000, context.zone)
    return {
        "iso": now.isoformat(timespec="seconds"),
        "epoch_seconds": context.now_ms // 1000,
        "timezone": str(context.zone),
    }


def _covers_files(context: GeneralContext) -> str:
    return f"files below {', '.join(map(str, context.read_file_roots))}"


def _tells_read(context: GeneralContext, path: str) -> str:
    return f"Reads {legible(path)}, at most {context.read_file_max_bytes:,} bytes of it."


def _tells_list(context: GeneralContext, path: str) -> str:
    return f"Lists the names in {legible(path)}."


@tool(
    mode="ask",
    reaches="text files below the folders you allow",
    risk="files",
    tells=_tells_read,
    covers=_covers_files,
)
def read_file(context: GeneralContext, path: FilePath) -> object:
    """Reads a text file in UTF-8 from an allowed folder; call it when the person names a file. Long
    files are cut, and `is_whole` says so. Use list_directory to find names."""
    try:
        return asdict(
            read_text(context.read_file_roots, path, context.read_file_max_bytes, context.never_read)
        )
    except CannotRead as error:
        raise ToolFailed(str(error)) from error


@tool(
    mode="ask",
    reaches="names of files below the folders you allow",
    risk="files",
    tells=_tells_list,
    covers=_covers_files,
)
def list_directory(context: GeneralContext, path: FilePath) -> object:
    """Lists names, kinds and sizes in an allowed folder; call it to find a file for read_file.
    Links are named and never followed."""
    try:
        return {
            "path": path,
            "entries": [
                asdict(each) for each in list_folder(context.read_file_roots, path, context.never_read)
            ],
        }
    except CannotRead as error:
        raise ToolFailed(str(error)) from error
