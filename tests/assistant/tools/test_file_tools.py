"""Files below the roots, and nothing outside them whatever the path says."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assistant.tools.files import list_folder, read_text
from assistant.tools.tool import ToolFailed
from tests.tables import for_each

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="descriptors of folders are POSIX")

SECRET = "the secret outside"
MAX_BYTES = 1_000


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with all that should not be followed in it, and a secret beside it."""
    base = tmp_path_factory.mktemp("base")
    root = base / "root"
    (root / "notes").mkdir(parents=True)
    (root / "notes" / "plan.txt").write_text("the plan", encoding="utf-8")
    (root / "中文.md").write_text("会议记录", encoding="utf-8")
    (root / "big.txt").write_text("é" * MAX_BYTES, encoding="utf-8")
    (root / "picture.png").write_bytes(b"\x89PNG\0\0")
    (root / "latin.txt").write_bytes(b"\xe9t\xe9")
    (base / "secret.txt").write_text(SECRET, encoding="utf-8")
    (base / "root-evil").mkdir()
    (base / "root-evil" / "secret.txt").write_text(SECRET, encoding="utf-8")
    (root / "link.txt").symlink_to(base / "secret.txt")
    (root / "up").symlink_to(base)
    (root / "notes" / "relative").symlink_to("../../secret.txt")
    (root / "etc").symlink_to("/etc")
    os.mkfifo(root / "pipe")
    return root


def test_files_and_folders_below_a_root_are_read(root: Path) -> None:
    assert read_text([root], str(root / "notes" / "plan.txt"), MAX_BYTES)[0] == "the plan"
    assert read_text([root], "notes/plan.txt", MAX_BYTES) == ("the plan", 8)
    assert read_text([root], "./notes//plan.txt", MAX_BYTES)[0] == "the plan"
    assert read_text([root], "中文.md", MAX_BYTES)[0] == "会议记录"
    kinds = {entry["name"]: entry["kind"] for entry in list_folder([root], str(root))[0]}
    assert kinds["notes"] == "folder" and kinds["up"] == "link" and kinds["pipe"] == "other"
    assert [entry["name"] for entry in list_folder([root], "notes")[0]] == ["plan.txt", "relative"]
    [second], total = list_folder([root], "notes", offset=1, limit=1)
    assert (second["name"], total) == ("relative", 2)


def test_a_long_file_is_cut_at_a_character(root: Path) -> None:
    assert read_text([root], "big.txt", 999) == ("é" * 499, 2 * MAX_BYTES)


@for_each("size", [MAX_BYTES // 2, 2 * MAX_BYTES])
def test_what_is_not_utf_8_is_said_of_a_long_file_as_of_a_short_one(root: Path, size: int) -> None:
    (root / "old.txt").write_bytes("Größe\n".encode("latin-1") * (size // 6))
    with pytest.raises(ToolFailed, match="not a text file in UTF-8"):
        read_text([root], "old.txt", MAX_BYTES)


@for_each("path", ["picture.png", "latin.txt", "pipe", "notes", "/dev/zero", "/dev/stdin", "missing"])
def test_what_is_no_text_file_is_refused(root: Path, path: str) -> None:
    with pytest.raises(ToolFailed):
        read_text([root], path, MAX_BYTES)


def test_without_roots_nothing_is_read(root: Path) -> None:
    with pytest.raises(ToolFailed, match="read_file_roots"):
        read_text([], str(root / "notes" / "plan.txt"), MAX_BYTES)


def tricks(root: Path) -> list[str]:
    """More than 200 ways to ask for the secret."""
    ups = ["..", "../..", "notes/../..", "./..", ".. ", "..;", "..\\", "%2e%2e", "..%00", "....//", "..//",
           "up", "up/root/..", "notes/relative/..", "link.txt/..", "~", "~root", "$HOME", "`pwd`", "$(pwd)",
           "|cat ", "..\u2215", "\uff0e\uff0e", "．．", "..\t", "..\n"]  # fmt: skip
    ends = ["secret.txt", "/secret.txt", "\\secret.txt", "secret.txt\0", "//secret.txt", "./secret.txt"]
    whole = [f"{root}/{up}/{end}" for up in ups for end in ends]
    beside = [
        str(root.parent / "secret.txt"), f"{root}-evil/secret.txt", f"{root}/../root-evil/secret.txt",
        "link.txt", "notes/relative", "up/secret.txt", "etc/passwd", "/etc/passwd", "/proc/self/environ",
        "file:///etc/passwd", "\0", "", " ", "/" * 5_000, "a/" * 3_000, "C:\\secret.txt", "//etc/passwd",
        f"{root}/up/secret.txt", "/proc/self/" + "root/etc/passwd", "/proc/self/cwd",
        f"/proc/self/fd/0/{root}",
    ]  # fmt: skip
    return whole + [f"{up}/{end}" for up in ups for end in ends] + beside


def test_no_trick_leads_out_of_the_root(root: Path) -> None:
    asked = tricks(root)
    assert len(asked) >= 200
    for path in asked:
        with pytest.raises(ToolFailed) as caught:
            read_text([root], path, MAX_BYTES)
        assert SECRET not in str(caught.value)
        try:
            names = {entry["name"] for entry in list_folder([root], path)[0]}
        except ToolFailed:
            continue
        assert names <= {"notes"} | {each.name for each in root.iterdir()}, path


PARTS = st.sampled_from(
    ["..", ".", "", "up", "link.txt", "notes", "etc", "secret.txt", "root", "~", "relative", "\0"]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(PARTS, max_size=8), absolute=st.booleans())
def test_no_path_reads_the_secret(root: Path, parts: list[str], absolute: bool) -> None:
    path = (str(root) if absolute else "") + "/".join(parts)
    try:
        text = read_text([root], path, MAX_BYTES)[0]
    except ToolFailed:
        return
    assert SECRET not in text


def test_a_link_swapped_in_is_not_followed(root: Path, tmp_path: Path) -> None:
    """What is checked is what is opened: there is no name to swap in between."""
    folder = tmp_path / "r"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.txt").write_text("fine", encoding="utf-8")
    assert read_text([folder], "sub/a.txt", MAX_BYTES)[0] == "fine"
    (folder / "sub").rename(folder / "old")
    (folder / "sub").symlink_to(root.parent)
    with pytest.raises(ToolFailed):
        read_text([folder], "sub/secret.txt", MAX_BYTES)


def test_recollects_own_folder_is_never_read(tmp_path: Path) -> None:
    """The token and keys in it stay closed, although a root holds them, and whatever name leads there."""
    home = tmp_path / "documents" / "recollect"
    (home / "logs").mkdir(parents=True)
    (home / "token").write_text(SECRET, encoding="utf-8")
    (home / "logs" / "web.log").write_text(SECRET, encoding="utf-8")
    (tmp_path / "documents" / "mine.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "alias").symlink_to(home)
    never = (tmp_path / "alias", tmp_path / "not there")
    for root in (tmp_path, tmp_path / "documents", home, home / "logs", tmp_path / "alias"):
        for path in (home, home / "token", home / "logs", home / "logs" / "web.log", root):
            within = path if path.is_relative_to(root) else root
            if within in (tmp_path, tmp_path / "documents"):
                continue
            with pytest.raises(ToolFailed):
                read_text([root], str(within), MAX_BYTES, never)
            with pytest.raises(ToolFailed):
                list_folder([root], str(within), never)
    assert read_text([tmp_path], "documents/mine.txt", MAX_BYTES, never)[0] == "mine"
    entries, _ = list_folder([tmp_path], "documents", never)
    assert [entry["name"] for entry in entries] == ["mine.txt", "recollect"]
