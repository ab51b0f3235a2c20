"""An exported answer proves what it says on a machine that has nothing else; what was changed is named."""

from __future__ import annotations

import hashlib
import io
import json
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from assistant.evidence import citations
from store.core.database import Database
from store.core.paths import DataDir
from store.deletion import deletion
from store.frames import frames
from store.frames.media import Media
from store.ocr import readings
from store.ocr.readings import Box, DraftLine, DraftWord, TextDraft
from tests.factories import NOON_MS
from tests.webapp.conftest import Actor
from tests.webapp.exports.test_export import Told, opened
from webapp.cli import run
from webapp.exports import bundle, signing
from webapp.exports.formats import SIGNATURE, SUMS, WHOSE_KEY
from webapp.exports.proof import NAMED, TOLD, Proof, verify

Files = dict[str, bytes]


@pytest.fixture
def exported(program: Actor, database: Database, data_dir: DataDir, tmp_path: Path) -> Path:
    told = Told(database, data_dir, (320, 200))
    answer = program.get(f"{told.api}?fmt=proof")
    assert answer.status_code == 200
    path = tmp_path / "answer.zip"
    path.write_bytes(answer.data)
    return path


def packed(files: Files, path: Path) -> Path:
    path.write_bytes(bundle.write(files, (2026, 11, 20, 12, 0, 0)))
    return path


def resigned(files: Files, home: Path) -> Files:
    """What somebody can make who has everything but the key."""
    content = {name: each for name, each in files.items() if name not in (SUMS, SIGNATURE)}
    sums = "".join(f"{hashlib.sha256(each).hexdigest()}  {name}\n" for name, each in content.items()).encode()
    return {**content, SUMS: sums, SIGNATURE: signing.sign(DataDir(home).create(), sums)}


def forged(files: Files, home: Path, **changes: object) -> Files:
    """What a stranger can make with a key of their own; `changes` are of the first source."""
    told = json.loads(files["evidence.json"])
    told["signed_by"] = signing.fingerprint(DataDir(home).create())
    told["evidence"][0].update(changes)
    return resigned({**files, "evidence.json": json.dumps(told).encode()}, home)


def numbers(proof: Proof) -> list[int]:
    return [each.n for each in proof.proven]


def test_it_is_proven_without_a_home_and_after_its_frames_are_gone(
    exported: Path, database: Database, data_dir: DataDir, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], tmp_path: Path,
) -> None:  # fmt: skip
    key = signing.fingerprint(data_dir)
    assert stat.S_IMODE(data_dir.export_key.stat().st_mode) == 0o600
    ids = database.column("select id from frames")
    deletion.delete_frames(database, Media(data_dir.media), ids)
    monkeypatch.setenv("RECOLLECT_HOME", str(tmp_path / "none"))
    assert run(["verify-export", str(exported), "--key", key, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["signed_by"], told["key_compared"], told["unproven"]) == (key, True, [])
    assert [(each["n"], each["quote"]) for each in told["proven"]] == [
        (1, "retention set to 14 days"), (2, "Lunch on Friday?"),
    ]  # fmt: skip
    assert any("clock" in line for line in told["proves_not"]) and WHOSE_KEY not in told["proves_not"]
    assert not (tmp_path / "none").exists()
    assert verify(exported, "another").problems == (f"It is signed by the key {key}, not by another.",)


def test_no_byte_can_be_another(exported: Path, tmp_path: Path) -> None:
    """In every region of the file: heads, contents, the directory at its end."""
    whole = exported.read_bytes()
    with zipfile.ZipFile(exported) as archive:
        heads = [entry.header_offset for entry in archive.infolist()]
        heads.append(archive.start_dir)
    places = {0, len(whole) - 1, *(at + step for at in heads for step in (0, 5, 10, 14, 26, 45))}
    places |= set(range(0, len(whole), len(whole) // 40)) | set(range(heads[-1], len(whole), 31))
    changed = tmp_path / "changed.zip"
    unnoticed = []
    for at in sorted(place for place in places if place < len(whole)):
        changed.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        if not verify(changed).problems:
            unnoticed.append(at)
    assert unnoticed == []
    for cut in (0, 10, len(whole) // 2, len(whole) - 1):
        changed.write_bytes(whole[:cut])
        assert verify(changed).problems
    for more in (whole + b" ", b" " + whole):
        changed.write_bytes(more)
        assert verify(changed).problems


def test_what_was_changed_is_named(exported: Path, tmp_path: Path) -> None:
    files = opened(exported.read_bytes())
    swapped = {
        **files,
        "evidence/01.webp": files["evidence/02.webp"],
        "evidence/02.webp": files["evidence/01.webp"],
    }
    edited = {**files, "evidence.json": files["evidence.json"].replace(b"14 days", b"41 days")}
    reworded = {**edited, "evidence/01.json": files["evidence/01.json"].replace(b"14", b"41")}
    boxes = json.loads(files["evidence.json"])["evidence"][0]["boxes"]
    elsewhere = [{**boxes[0], "y": 0}]
    whole = [{"x": 0, "y": 0, "w": 320, "h": 200}]
    far = [{**boxes[0], "x": 100_000}]
    picture = {"file": "evidence/02.webp", "media_type": "image/webp", "shows": None}
    refused = "[1] Its quote does not stand there"
    missing = {name: each for name, each in files.items() if name != "evidence/02.json"}
    other = tmp_path / "other"
    cases = (
        (swapped, "evidence/01.webp was changed"),
        (edited, "evidence.json was changed"),
        (missing, "evidence/02.json is missing"),
        ({**files, "note.txt": b"true"}, "note.txt was added"),
        ({**files, SUMS: files[SUMS] + b"0" * 64 + b"  note.txt\n"}, "note.txt is missing"),
        ({**files, SIGNATURE: b"e30.."}, "The signature"),
        ({name: each for name, each in files.items() if name != SIGNATURE}, "The signature"),
        # Signed anew, the quote, the picture and the text still have to fit; the key is told in any case.
        (resigned(files, other), "evidence.json names the key"),
        (forged({name: each for name, each in files.items() if name != "answer.md"}, other), "answer.md is"),
        (forged(swapped, other), "[2] evidence/02.webp does not show frame"),
        (forged(edited, other), refused),
        (forged(reworded, other), "[1] evidence/01.json has another text"),
        (forged(files, other, boxes=elsewhere), refused),
        (forged(files, other, boxes=whole), refused),
        (forged(files, other, quote="4 days", boxes=whole), refused),
        (forged(files, other, quote=" … ".join("setto14days"), boxes=whole), refused),
        (forged(files, other, boxes=far), "[1] A box of its quote is outside"),
        (forged(files, other, n=2), "[2] is in evidence.json more than once"),
        (forged(files, other, picture=picture), "evidence/02.webp is in evidence.json more than once"),
    )

    for changed, expected in cases:
        problems = verify(packed(changed, tmp_path / "changed.zip")).problems
        assert any(problem.startswith(expected) for problem in problems), (expected, problems)


def test_hostile_files_are_refused(exported: Path, tmp_path: Path) -> None:
    files = opened(exported.read_bytes())
    path = tmp_path / "hostile.zip"

    def deflated() -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("answer.md", bytes(50_000_000))

    def twice() -> None:
        with pytest.warns(UserWarning), zipfile.ZipFile(path, "w") as archive:
            for _ in range(2):
                archive.writestr("answer.md", b"")

    def named(name: str) -> Callable[[], object]:
        return lambda: packed({**files, name: b""}, path)

    def huge() -> None:
        picture = io.BytesIO()
        Image.new("1", (30_000, 20_000)).save(picture, "PNG")
        png = files["evidence.json"].replace(b"image/webp", b"image/png")
        changed = {**files, "evidence.json": png, "evidence/01.webp": picture.getvalue()}
        packed(forged(changed, tmp_path / "other"), path)

    def told(content: bytes) -> Callable[[], object]:
        return lambda: packed(resigned({**files, "evidence.json": content}, tmp_path / "other"), path)

    cases = (
        (deflated, "answer.md is compressed"),
        (twice, "'answer.md' is in it more than once"),
        (named("../../etc/cron.d/x"), "'../../etc/cron.d/x' is no name"),
        (named("/tmp/x"), "'/tmp/x' is no name"),
        (named("evidence/.."), "'evidence/..' is no name"),
        (lambda: path.write_bytes(b"PK" + bytes(100)), "It is no whole zip file"),
        (lambda: packed({}, path), "It holds 0 files"),
        (told(b"[" * 200_000), "evidence.json is not"),
        (told(files["evidence.json"].replace(b'"x"', b'"z"')), "evidence.json is not"),
        (huge, "evidence/01.webp is"),
    )

    for make, sentence in cases:
        make()
        problems = verify(path).problems
        assert any(sentence in problem for problem in problems), (sentence, problems)


def test_what_is_told_of_a_strangers_file(
    exported: Path, data_dir: DataDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whose key it is comes first, then what was proven; nothing of the file makes up a line."""
    path, key = tmp_path / "forged.zip", signing.fingerprint(data_dir)
    made_up = f"\x1b[2K\x1b[1G\nunchanged since {key} signed it\u2028\u202e"
    files = opened(exported.read_bytes())
    packed(forged(files, tmp_path / "other", withheld=made_up, n=3), path)
    assert run(["verify-export", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("signed by a key you did not name: anybody can make such a file")
    assert lines[2].startswith(
        '  [2] proven: "Lunch on Friday?" stands in what the signer read of evidence/02.webp'
    )
    assert lines[3] == f"  [3] not proven: The export says: [2K[1G unchanged since {key} signed it"
    assert all(line.startswith("  ") and line.isprintable() for line in lines[1:])

    assert run(["verify-export", str(exported), "--key", key]) == 0
    told = capsys.readouterr().out
    assert told.startswith("unchanged since the key that you named signed it") and "whose key" not in told
    for named in ("", "another"):
        assert run(["verify-export", str(exported), "--key", named]) == 1
    assert "KEY is what the sender told you" in files["README.txt"].decode()


@pytest.mark.parametrize("quote", ("Letter of dismissal", "I paid 90,000 to the judge"))
def test_what_nobody_read_in_the_picture_is_not_proven(
    program: Actor, database: Database, data_dir: DataDir, tmp_path: Path, quote: str
) -> None:
    """A window's title, and words of a page for which the picture only has ink."""
    told, path = Told(database, data_dir, (320, 200)), tmp_path / "answer.zip"
    frame = told.frames[0]
    words = tuple(
        DraftWord(word, Box(50 * n, 50, 45, 12), None, "browser", "ink")
        for n, word in enumerate(["I", "paid", "90,000", "to", "the", "judge"])
    )
    with database.write() as connection:
        draft = TextDraft((DraftLine(Box(0, 50, 300, 12), None, words),), "test", "eng", 1)
        readings.add(connection, frame.id, draft, (), NOON_MS)
        connection.execute("update frames set window_name = 'Letter of dismissal' where id = ?", (frame.id,))
    changed, reading = frames.get(database, frame.id), readings.current_reading(database, frame.id)
    assert changed is not None
    found = citations.checked(changed, reading, [quote])
    assert found.state == "found"
    with database.write() as connection:
        connection.execute(
            "update evidence set quote = ?, boxes = ?, reading_id = ?, window_name = ? where n = 1",
            (found.quote, json.dumps(found.boxes), found.reading_id, "Letter of dismissal"),
        )
    path.write_bytes(program.get(f"{told.api}?fmt=proof").data)
    proof = verify(path)
    assert (proof.problems, numbers(proof)) == ((), [2])
    assert proof.unproven == ((1, TOLD if found.boxes else NAMED),)


def test_a_part_of_a_picture_proves_nothing_and_says_so(
    program: Actor, database: Database, data_dir: DataDir, tmp_path: Path
) -> None:
    told, path = Told(database, data_dir), tmp_path / "parts.zip"
    path.write_bytes(program.get(f"{told.page}/export?fmt=zip&size2=full").data)
    proof = verify(path)
    assert (proof.problems, numbers(proof)) == ((), [2])
    assert proof.unproven == ((1, "Only a part of its picture comes along."),)
    assert "evidence/01.json" not in opened(path.read_bytes())
