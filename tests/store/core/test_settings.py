"""Settings: file, then environment, then argument; what is wrong is named with what would be right."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from store.core import settings
from store.core.errors import SettingsError
from store.core.paths import DataDir
from store.core.settings import ChatModelSettings, ContextSettings, Settings, load
from tests.tables import for_each


def write(data_dir: DataDir, text: str) -> None:
    data_dir.config.write_text(text, encoding="utf-8")


def test_defaults_without_a_file(data_dir: DataDir) -> None:
    assert load(data_dir, {}) == Settings()


def test_later_sources_win(data_dir: DataDir) -> None:
    write(data_dir, "[web]\nport = 1\n[ocr]\nworkers = 2\n[spool]\nmax_entries = 3\n")
    found = load(
        data_dir,
        {"RECOLLECT_WEB_PORT": "11", "RECOLLECT_OCR_WORKERS": "12", "RECOLLECT_HOME": "/elsewhere"},
        {"web.port": 21},
    )
    assert (found.web.port, found.ocr.workers, found.spool.max_entries) == (21, 12, 3)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("WEB_ALLOW_LAN", "true", True),
        ("WEB_ALLOW_LAN", "False", False),
        ("CAPTURE_INTERVAL_S", "2", 2.0),
        ("CAPTURE_MIN_FREE_GB", "0", 0.0),
        ("CAPTURE_MONITORS", "DP-1, DP-2", ("DP-1", "DP-2")),
        ("CAPTURE_MONITORS", '["DP,1"]', ("DP,1",)),
        ("OCR_LANGUAGES", "eng", ("eng",)),
        ("CHAT_MODEL", "123", "123"),
    ],
)
def test_environment_is_read_by_the_type_of_the_key(
    data_dir: DataDir, key: str, text: str, value: object
) -> None:
    found = load(data_dir, {f"RECOLLECT_{key}": text})
    section, _, name = key.lower().partition("_")
    assert getattr(getattr(found, section), name) == value


@for_each(
    ("text", "said"),
    [
        ("[web]\nprot = 1\n", "did you mean 'web.port'"),
        ("[wbe]\nport = 1\n", "did you mean 'web.port'"),
        ("[web]\nport = 'x'\n", "web.port must be int, not 'x'"),
        ("[web]\nport = true\n", "web.port must be int, not True"),
        ("[web]\nport = -1\n", "web.port must be at least 0"),
        ("[web]\nallow_lan = 1\n", "web.allow_lan must be bool"),
        ("[capture]\ninterval_s = 0\n", "capture.interval_s must be at least 0.1"),
        ("[capture]\ninterval_s = nan\n", "capture.interval_s must be"),
        ("[capture]\nidle_interval_s = inf\n", "capture.idle_interval_s must be"),
        ("[web]\nport = 70000\n", "web.port must be at most 65535, not 70000"),
        ("[capture]\ninterval_s = 1e12\n", "capture.interval_s must be at most 1000000000"),
        ("[chat]\ntimeout_s = 1e300\n", "chat.timeout_s must be at most"),
        ("[[chat.models]]\ncontext_tokens = 1_000_000_000_001\n", "context_tokens must be at most"),
        ("[capture]\nsource = 'screan'\n", "cannot be 'screan': screen, folder:DIR or video:FILE"),
        ("[ocr]\nexecutor = 'dask://'\n", "ocr.executor cannot be 'dask://'"),
        ("[ocr]\nlanguages = [1]\n", "ocr.languages must be str"),
        ("[privacy]\nexclude = [{app = 1}]\n", "privacy.exclude must be"),
        ("[[chat.models]]\nnmae = 'x'\n", "unknown key 'nmae' in chat.models; did you mean 'name'"),
        ("[[chat.models]]\ntool_format = 'native'\n", "tool_format must be one of '', 'functionary', "),
        ("[[chat.models]]\ncontext_tokens = -5\n", "context_tokens must be at least 0"),
        ("[memory]\nrefine = 'always'\n", "memory.refine must be one of 'local', 'any', 'off'"),
        ("[context]\nsummaries = 'loca'\n", "context.summaries must be one of 'local', 'any', 'off'"),
        ("[chat]\nsecond_reading = 'allways'\n", "must be one of 'never', 'local', 'always', not 'allways'"),
        ("[[chat.models]]\ncontext_tokens = 'many'\n", "chat.models"),
        ("port = 1\n", "'port' must be a \\[section\\]"),
        ("[web\n", "not valid TOML"),
        ("\udcff", "not valid TOML"),
    ],
)
def test_what_is_wrong_is_named(data_dir: DataDir, text: str, said: str) -> None:
    data_dir.config.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(SettingsError, match=said):
        load(data_dir, {})


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_number_from_the_environment_is_finite(data_dir: DataDir, text: str) -> None:
    with pytest.raises(SettingsError):
        load(data_dir, {"RECOLLECT_CAPTURE_INTERVAL_S": text})


def test_unknown_key_of_the_environment_is_refused(data_dir: DataDir) -> None:
    with pytest.raises(SettingsError, match=r"environment: unknown setting 'web\.prot'"):
        load(data_dir, {"RECOLLECT_WEB_PROT": "1"})


def test_setting_that_was_removed_is_passed_over_with_a_warning(
    data_dir: DataDir, caplog: pytest.LogCaptureFixture
) -> None:
    write(data_dir, "[context]\nenabled = false\nrecent_days = 'whatever it said'\n")
    found = load(data_dir, {"RECOLLECT_CONTEXT_TOPIC_THRESHOLD": "0.5", "RECOLLECT_TOOLS_OWNER": "Anna"})
    assert found.context == ContextSettings(enabled=False)
    assert caplog.messages == [
        "config.toml: context.recent_days no longer does anything and can be removed",
        "environment: context.topic_threshold no longer does anything and can be removed",
        "environment: tools.owner no longer does anything and can be removed",
    ]
    assert not any(hasattr(found.context, key.removeprefix("context.")) for key in settings.REMOVED)


def test_more_models_are_tables(data_dir: DataDir) -> None:
    write(data_dir, "[[chat.models]]\nname = 'a'\nbase_url = 'http://127.0.0.1/v1'\nsupports_tools = true\n")
    assert load(data_dir, {}).chat.models == (
        ChatModelSettings(name="a", base_url="http://127.0.0.1/v1", supports_tools=True),
    )


def test_openai_environment_fills_what_is_unset(data_dir: DataDir) -> None:
    environ = {"OPENAI_BASE_URL": "http://a/v1", "OPENAI_API_KEY": "k"}
    assert load(data_dir, environ).chat.base_url == "http://a/v1"
    write(data_dir, "[chat]\nbase_url = 'http://b/v1'\n")
    found = load(data_dir, environ).chat
    assert (found.base_url, found.api_key) == ("http://b/v1", "k")


def test_every_setting_has_a_default_and_a_sentence_of_help() -> None:
    for section in fields(Settings()):
        settings = [f for f in fields(getattr(Settings(), section.name)) if f.name != "given"]
        assert all(f.metadata["help"].endswith(".") for f in settings), section.name


def test_a_folder_of_other_things_is_not_taken_for_a_home(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "letter.txt").write_text("Dear Ana", encoding="utf-8")
    with pytest.raises(SettingsError, match="holds other files"):
        DataDir(folder).create()
    assert [path.name for path in folder.iterdir()] == ["letter.txt"]
    assert folder.stat().st_mode & 0o777 == 0o755
    (folder / "letter.txt").unlink()
    assert DataDir(folder).create().spool.is_dir(), "an empty one is"
    folder.chmod(0o755)
    assert DataDir(folder).create().spool.is_dir(), "and one's own that was opened to others"


@pytest.mark.parametrize("leads_to", ["elsewhere", "nowhere"])
def test_a_part_of_the_spool_that_is_a_link_is_refused(tmp_path: Path, leads_to: str) -> None:
    """What is moved there would leave the home, or stop the queue where it is another disk."""
    home = DataDir(tmp_path / "home").create()
    (tmp_path / "elsewhere").mkdir()
    (home.spool / "failed").symlink_to(tmp_path / leads_to)
    with pytest.raises(SettingsError, match="failed is a link"):
        home.create()
    assert list((tmp_path / "elsewhere").iterdir()) == []
