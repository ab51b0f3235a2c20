"""Standing approvals hold for what they say: another folder, another machine, and the person is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from store.chats import conversations, tool_permissions
from store.core.database import Database
from tests.assistant.agents import agent_deps, decided, run
from tests.assistant.helpers import NOW_MS
from tests.stub_model import StubModel


class Elsewhere(StubModel):
    """The same server under an address that is not this machine's by its name."""

    @property
    def base_url(self) -> str:
        return super().base_url.replace("127.0.0.1", "0.0.0.0")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("notes", "letters"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "plan.txt").write_text("the plan", encoding="utf-8")
    return tmp_path


def test_results_that_would_go_to_another_machine_are_asked_about(
    database: Database, stub: StubModel, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "always" was said to a model on this computer; one elsewhere would be told the file, too."""
    monkeypatch.setenv("NO_PROXY", "*")
    root = str(folder / "notes")
    call = ("read_file", {"path": f"{root}/plan.txt"})
    stub.call(call).reply("Read.").call(call).reply("Read again.")
    with agent_deps(database, stub, read_file_roots=(root,)) as deps:
        decided(deps, "always")
        assert run(deps).calls[0].decided_by == "always"
    with Elsewhere() as cloud, agent_deps(database, cloud, read_file_roots=(root,)) as deps:
        cloud.call(call).reply("Not read.")
        ran, [waited] = decided(deps, None)
        host = cloud.base_url.removeprefix("http://").removesuffix("/v1")
    assert waited.notice.endswith(f"Its results go to {host}.")
    assert (waited.scope, ran.calls[0].state) == (f"files below {root}; results go to {host}", "denied")


def test_another_folder_is_asked_about(database: Database, stub: StubModel, folder: Path) -> None:
    roots = [str(folder / name) for name in ("notes", "letters")]
    for root in roots:
        stub.call(("read_file", {"path": f"{root}/plan.txt"})).reply("Done.")
    for root in roots:
        with agent_deps(database, stub, read_file_roots=(root,)) as deps:
            _, waited = decided(deps, "always")
        assert len(waited) == 1
    assert [rule.scope.partition(";")[0] for rule in tool_permissions.rules(database)] == [
        f"files below {folder}/letters",
        f"files below {folder}/notes",
    ]


def test_rules_are_kept_once_counted_and_go_with_their_chat(database: Database) -> None:
    chat, other = (conversations.create(database, title, NOW_MS) for title in ("one", "two"))
    with database.write() as connection:
        for now_ms in (NOW_MS, NOW_MS + 5):
            tool_permissions.allow(connection, "read_file", chat, "files", now_ms)
        tool_permissions.allow(connection, "web_search", None, "searches", NOW_MS + 9)
    assert [tool_permissions.use(database, each, "read_file", "files") for each in (chat, other)] == [
        "chat",
        "",
    ]
    assert tool_permissions.use(database, chat, "read_file", "other files") == ""
    assert tool_permissions.use(database, other, "web_search", "searches") == "always"
    assert [
        (rule.tool, rule.chat_id, rule.title, rule.uses) for rule in tool_permissions.rules(database)
    ] == [
        ("web_search", None, "", 1),
        ("read_file", chat, "one", 1),
    ]
    conversations.delete(database, chat)
    assert [rule.tool for rule in tool_permissions.rules(database)] == ["web_search"]
