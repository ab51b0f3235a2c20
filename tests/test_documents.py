"""The documents say what the code does now."""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from ingest.__main__ import ingest
from store.core.settings import Settings
from tests.end_to_end import demo_home
from tests.tables import for_each
from webapp.cli import COMMANDS, recollect

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = ["README.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]


def settings_document() -> str:
    """`docs/settings.md`, made from the settings themselves."""
    lines = [
        "# Settings",
        "",
        "`config.toml` in the home folder, then `RECOLLECT_<SECTION>_<KEY>` in the environment, then",
        "the command line. An unknown key is refused with the nearest known one. What is set in these ways",
        "of `capture`, `ocr` and `chat` holds, whatever is chosen in the app.",
        "",
        "| key | default | unit | meaning |",
        "| --- | --- | --- | --- |",
    ]
    settings = Settings()
    for section in fields(settings):
        values = getattr(settings, section.name)
        for one in (each for each in fields(values) if each.name != "given"):
            default = getattr(values, one.name)
            default = list(default) if isinstance(default, tuple) else default
            shown = f"`{default}`" if default not in ("", []) else "–"
            told = one.metadata
            lines.append(f"| `{section.name}.{one.name}` | {shown} | {told['unit']} | {told['help']} |")
    return "\n".join(lines) + "\n"


def commands_document() -> str:
    """`docs/commands.md`, made from the commands themselves."""
    lines = [
        "# Commands",
        "",
        "Made from what `recollect COMMAND --help` prints. Most commands know these options, too:",
        "`--home DIR` is the home folder (else `RECOLLECT_HOME`, or your user data folder), `--json` prints",
        "JSON for scripts. A TIME is 2026-11-20, 2026-11-20T14:00, that with a zone, or seconds since 1970.",
        "A failure is one line and an exit code other than 0.",
    ]
    return "\n".join([*lines, *_described(recollect, None)]) + "\n"


def _command(group: click.Group, context: click.Context, name: str) -> click.Command:
    """The command `name`; of one that is passed on to ingest, the one there, which knows the options."""
    is_passed_on = COMMANDS.get(name, "").startswith("webapp.cli.passed_on") and group is recollect
    found = (ingest if is_passed_on else group).get_command(context, name)
    assert found is not None, name
    return found


def _described(command: click.Command, parent: click.Context | None) -> Iterator[str]:
    context = click.Context(command, parent, info_name=command.name)
    if parent is not None:
        yield from ("", f"## `{context.get_usage().removeprefix('Usage: ').replace(' [OPTIONS]', '')}`", "")
        yield " ".join((command.help or "").split())
    told = [one for one in command.params if one.name not in {"home", "as_json"}]
    records = [one.get_help_record(context) for one in told if isinstance(one, click.Option)]
    options = [f"- `{name}`: {' '.join(text.split())}" for name, text in filter(None, records)]
    yield from ["", *options] if options else []
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from _described(_command(command, context, name), context)


@for_each("name, made", [("settings.md", settings_document), ("commands.md", commands_document)])
def test_the_reference_is_what_the_code_says(name: str, made: Callable[[], str]) -> None:
    """Refresh with RECOLLECT_REFRESH=1."""
    path = ROOT / "docs" / name
    if os.environ.get("RECOLLECT_REFRESH"):
        path.write_text(made(), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == made()


@for_each("document", DOCUMENTS)
def test_every_command_that_a_document_names_takes_what_is_given(document: str) -> None:
    """Parsed as on a command line, and not run."""
    text = (ROOT / document).read_text(encoding="utf-8")
    for line in re.findall(r"^(?:\.venv/bin/)?recollect ([a-z].*)$", text, flags=re.M):
        command: click.Command = recollect
        context = recollect.make_context("recollect", shlex.split(line, comments=True))
        while isinstance(command, click.Group) and (rest := [*context._protected_args, *context.args]):
            command, (name, *rest) = _command(command, context, rest[0]), rest
            try:
                context = command.make_context(name, rest, parent=context)
            except click.BadParameter as error:
                assert "does not exist" in str(error), line  # a file that only the reader has
                break
    named = set(re.findall(r"`recollect (\w[\w-]*)[^`]*`", text)) - {"COMMAND"}
    assert named <= set(COMMANDS)


def test_the_commands_of_the_readme_are_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As they stand there, one after the other, on the day that they name."""
    demo_home.fill(tmp_path / "home", days=1).close_thread()
    monkeypatch.setenv("RECOLLECT_HOME", str(tmp_path / "home"))
    done = []
    for line in re.findall(r"^recollect ([a-z].*)$", README, flags=re.M):
        words = shlex.split(line, comments=True)
        if words[0] not in ("up", "demo"):  # which have tests of their own, with a browser
            result = CliRunner().invoke(recollect, words, input="y\n")
            assert result.exit_code == 0, (line, result.output)
            done.append(words[0])
    assert done == ["ask", "search", "pause", "delete"]
    assert "deleted" in result.output


def test_the_two_commands_of_the_readme_are_targets() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", README, flags=re.M):
        assert re.search(rf"^{target}:", makefile, flags=re.M), target


@for_each("document", DOCUMENTS)
def test_links_between_documents_lead_somewhere(document: str) -> None:
    path = ROOT / document
    for target, heading in re.findall(r"\]\(([^)#:]*)#?([^):]*)\)", path.read_text(encoding="utf-8")):
        found = path.parent / target if target else path
        assert found.exists(), target
        if heading:
            lines = re.findall(r"^#+ (.*)$", found.read_text(encoding="utf-8"), flags=re.M)
            assert heading in {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}, (
                heading
            )


def test_every_dependency_says_why_it_is_here() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    wanted = [*project["dependencies"], *(name for extra in extras for name in extra)]
    reasons = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8").lower()
    for requirement in wanted:
        name = re.split(r"[<>=;\[ ]", requirement)[0].lower()
        assert name.removeprefix("pyobjc-framework-") in reasons, name


def test_no_path_of_a_machine_is_in_the_project() -> None:
    """What is committed must make sense anywhere."""
    suspicious = re.compile(r"/(?:root|work)/\w|/home/\w+/")
    for path in ROOT.rglob("*"):
        inside = path.relative_to(ROOT).parts
        if path.suffix in {".py", ".md", ".toml", ".html", ".js", ".css"} and not inside[0].startswith("."):
            if inside[:2] == ("tests", "cases") or path == Path(__file__):
                continue
            found = suspicious.search(path.read_text(encoding="utf-8"))
            assert found is None, f"{path.relative_to(ROOT)}: {found and found.group()}"
