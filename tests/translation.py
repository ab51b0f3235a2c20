"""Texts for translation: taken from the code, compared with the catalogs, and put into them.

``python -m tests.translation`` adds what is new to ``webapp/translations/*.po``, not translated, and drops
what is gone; ``tests/webapp/test_translation.py`` fails until everything is translated.
"""

from __future__ import annotations

import ast
import io
import re
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_javascript
from babel.messages.pofile import write_po
from jinja2 import Environment, nodes
from jinja2.ext import babel_extract

from assistant.tools.registry import not_set_up, registry
from store.core import translation
from store.core.settings import ToolsSettings
from webapp.core import languages
from webapp.pages.tools import does

ROOT = Path(__file__).parents[1]
_MARKS = ("gettext", "_", "N_", "ngettext", "pgettext", "count", "t")
_JINJA = Environment(extensions=["jinja2.ext.i18n", "jinja2.ext.do"], trim_blocks=True, lstrip_blocks=True)


@cache
def messages() -> Catalog:
    """Every text that the code marks, English."""
    found = Catalog()
    for path in sorted(ROOT.glob("templates/**/*.html")):
        _add(found, _of_template(path), path)
    for room in ("capture", "store", "ingest", "assistant", "webapp"):
        for path in sorted((ROOT / room).glob("**/*.py")):
            _add(found, _of_python(path), path)
    for path in sorted(path for pattern in _FAILING for path in ROOT.glob(pattern)):
        _add(found, _of_errors(path), path)
    for path in sorted((ROOT / "static" / "js").glob("**/*.js")):
        _add(found, _of_script(path), path)
    tools = [*registry(ToolsSettings()).values(), *(tool for tool, _ in not_set_up(ToolsSettings()))]
    _add(found, (("gettext", (does(tool),)) for tool in tools), ROOT / "assistant" / "tools")
    return found


Found = tuple[str, tuple[str | None, ...]]
"""A function that marks texts, and its arguments; None where one is no constant."""


def _of_template(path: Path) -> Iterator[Found]:
    source = path.read_bytes()
    options = {"trimmed": "true", "trim_blocks": "true", "lstrip_blocks": "true", "silent": "false"}
    for _, function, given, _ in babel_extract(io.BytesIO(source), _MARKS, [], options):
        yield function or "gettext", given if isinstance(given, tuple) else (given,)
    for node in _JINJA.parse(source.decode()).find_all(nodes.Filter):
        if node.name == "count":
            yield (
                "count",
                (None, *(each.value if isinstance(each, nodes.Const) else None for each in node.args)),
            )


def _of_python(path: Path) -> Iterator[Found]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            function = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            if function in _MARKS:
                yield function, tuple(_text(each, function == "N_") for each in node.args)


_FAILING = (
    "capture/daemon.py", "capture/screens/*.py", "capture/systems/*.py", "capture/windows/*.py",
    "engines/**/*.py", "ingest/core/validation.py", "ingest/core/xml_elements.py", "ingest/importers/**/*.py",
    "ingest/documents/*.py",
)  # fmt: skip
"""Modules whose errors a page shows: another process or an engine says them, in English."""


def _of_errors(path: Path) -> Iterator[Found]:
    """The sentences of the errors that a module raises."""
    import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    names = {each.__name__ for each in _errors(Exception)}
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            for given in (*node.args, *(keyword.value for keyword in node.keywords)):
                text = _text(given, filled=True)
                if text and " " in text and len(_WORD.findall(_PLACE.sub("", text))) > 1:
                    yield "gettext", (text,)


def _errors(kind: type[Exception]) -> Iterator[type[Exception]]:
    for each in kind.__subclasses__():
        if each.__module__.partition(".")[0] in ("capture", "engines", "ingest", "store"):
            yield each
        yield from _errors(each)


def _text(node: ast.expr, filled: bool) -> str | None:
    """A constant; or, of one that is `filled` in, the text with places named for what stands there."""
    if not (filled and isinstance(node, ast.JoinedStr)):
        return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
    text, names = "", set[str]()
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            last = re.findall(r"[a-z_]+", ast.unparse(part.value).lower()) or ["value"]
            name = last[-1].strip("_") if isinstance(part.value, ast.Name | ast.Attribute) else "value"
            name = name if name not in names else f"{name}{len(names)}"
            names.add(name)
            text += f"%({name})s"
        else:
            text += str(ast.literal_eval(part)).replace("%", "%%")
    return text


def _of_script(path: Path) -> Iterator[Found]:
    with path.open("rb") as source:
        for _, function, given, _ in extract_javascript(source, {mark: None for mark in _MARKS}, [], {}):
            yield function, given if isinstance(given, tuple) else (given,)


def _add(found: Catalog, texts: Iterator[Found], path: Path) -> None:
    for function, given in texts:
        context, identity = None, given[:1]
        if function == "ngettext":
            identity = given[:2]
        elif function == "pgettext":
            context, identity = given[0], given[1:2]
        elif function == "count":  # (number, noun, plural)
            noun, plural = (*given[1:3], None, None)[:2]
            identity = (
                (f"%(number)s {noun}", f"%(number)s {plural or f'{noun}s'}") if isinstance(noun, str) else ()
            )
        if identity and all(isinstance(text, str) for text in identity):
            key = identity[0] if len(identity) == 1 else identity
            found.add(key, locations=[(path.relative_to(ROOT).as_posix(), 0)], context=context)


_WORD = re.compile(r"[^\W\d_]{2,}")
_PLACE = re.compile(r"%\(\w+\)s")
_SHOWN = {"title", "aria-label", "aria-description", "placeholder", "alt", "label", "data-confirm"}
_NOT_TEXT = {"kbd", "code", "pre", "script", "style", "samp", "textarea"}


class Shown(HTMLParser):
    """The words that a person reads in HTML, attributes included; none of code or marked English."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._within: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _NOT_TEXT or {("translate", "no"), ("lang", "en")} & {*attrs}:
            self._within.append(tag)
        self.words += [text for name, text in attrs if name in _SHOWN and text and _WORD.search(text)]

    def handle_endtag(self, tag: str) -> None:
        if self._within and self._within[-1] == tag:
            self._within.pop()

    def handle_data(self, data: str) -> None:
        if not self._within and _WORD.search(data):
            self.words.append(" ".join(data.split()))


def unmarked(source: str) -> list[str]:
    """The texts of a template that no catalog knows of: in its HTML, and in its expressions.

    What stands in a macro as an address, and what a block adds to a class, is none.
    """
    shown, tokens, marked = Shown(), [], False
    for _, kind, value in _JINJA.lexer.tokeniter(source, None):
        if kind == "name" and value in ("trans", "endtrans") and tokens[-1:] == ["block_begin"]:
            marked = value == "trans"
        tokens = [kind] if kind != "whitespace" else tokens
        if kind == "data":
            shown.feed("" if marked else value)
        elif kind == "variable_end":
            shown.feed("\N{WHITE SQUARE}")
    shown.close()
    tree = _JINJA.parse(source)
    told = {id(leaf) for call in _calls(tree) for leaf in call.find_all(nodes.Const)}
    told |= {id(pair.key) for pair in tree.find_all(nodes.Pair)}
    return [words for words in shown.words if not _NO_TEXT.match(words)] + [
        leaf.value
        for leaf in tree.find_all(nodes.Const)
        if id(leaf) not in told and isinstance(leaf.value, str) and _SENTENCE.match(leaf.value)
    ]


_NO_TEXT = re.compile(r"""/|[^"]*="|"|[a-z]+-page$|· Recollect$""")
_SENTENCE = re.compile(r"[A-Z][a-z]+(?: |$)|[a-z]+ [a-z]+ [a-z]+")


def _calls(tree: nodes.Template) -> Iterator[nodes.Node]:
    """Where constants are marked, or are no text: names of templates, tests and what is looked up."""
    for call in tree.find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name in (*_MARKS, "asset"):
            yield call
    for each in tree.find_all(
        (nodes.Filter, nodes.Compare, nodes.Getitem, nodes.Include, nodes.Import, nodes.Extends)
    ):
        if not isinstance(each, nodes.Filter) or each.name in ("count", "replace", "format", "strftime"):
            yield each


def sentences_of_the_code() -> set[str]:
    """Runs of five words in texts of the code, whether they are marked or not; docstrings are none."""
    found = set[str]()
    for room in ("capture", "store", "engines", "ingest", "assistant", "webapp"):
        for path in (ROOT / room).glob("**/*.py"):
            tree = ast.parse(path.read_bytes())
            said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            if "demo" not in path.parts:
                for node in ast.walk(tree):
                    if (
                        isinstance(node, ast.Constant)
                        and isinstance(node.value, str)
                        and id(node) not in said
                    ):
                        found |= runs(node.value)
    return found


def runs(text: str) -> set[str]:
    """Every five English words in a row."""
    return {
        " ".join(words[at : at + 5])
        for row in _ROW.findall(text)
        if (words := row.split())
        for at in range(len(words) - 4)
    }


_ROW = re.compile(r"[A-Za-z'’]+(?:,?[ \n]+[A-Za-z'’]+){4,}")


def update(language: str) -> list[str]:
    """Write the language's catalog anew; what has no translation, in English."""
    old, new, missing = languages.read(language), Catalog(locale=language), []
    for message in messages():
        if not message.id:
            continue
        known = old.get(message.id, message.context)
        string = known.string if known else ""
        scripts = [(path, 0) for path, _ in message.locations if path.startswith("static/")]
        # Which texts a page brings along for its scripts is told by these; others may move at will.
        new.add(message.id, string, locations=scripts, context=message.context)
        if not _is_whole(string):
            missing.append(message.id if isinstance(message.id, str) else message.id[0])
    with languages.path(language).open("wb") as file:
        write_po(file, new, width=110, omit_header=True, sort_output=True, include_lineno=False)
    return missing


def _is_whole(string: Any) -> bool:
    return bool(string) if isinstance(string, str) else all(string)


if __name__ == "__main__":
    for each in languages.LANGUAGES:
        if each != translation.ENGLISH:
            left = update(each)
            sys.stdout.write("\n  ".join([f"{each}: {len(left)} not translated", *left]) + "\n")
