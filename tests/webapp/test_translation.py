"""Every text is there in every language, and no text of a page stands outside the catalogs."""

from __future__ import annotations

import json
import re
from contextvars import copy_context
from pathlib import Path

import pytest

from assistant.core.texts import answer_language
from store.chats import personas
from store.core import translation as translated
from tests import translation
from tests.tables import for_each
from tests.webapp.conftest import Actor, page
from webapp.core import languages

TEMPLATES = sorted((translation.ROOT / "templates").glob("**/*.html"))
_PLACES = re.compile(r"%\((\w+)\)[#0 +-]*[\d.]*([a-z])|</?\w+")
_LANGUAGES = [language for language in languages.LANGUAGES if language != "en"]


@pytest.mark.parametrize("language", _LANGUAGES)
def test_every_text_is_translated_with_its_places(language: str) -> None:
    known, wrong = languages.read(language), []
    for message in translation.messages():
        if not message.id:
            continue
        there = known.get(message.id, message.context)
        forms = (
            [there.string]
            if there and isinstance(there.string, str)
            else list(there.string)
            if there
            else [""]
        )
        english = message.id if isinstance(message.id, str) else message.id[-1]
        if not all(forms) or any(
            set(_PLACES.findall(form)) != set(_PLACES.findall(english)) for form in forms
        ):
            wrong.append((message.id, forms))
    assert wrong == []


def test_chinese_has_no_blank_beside_latin() -> None:
    """What stands in a place may be Chinese, too; the style sheet spaces the two scripts."""
    forms = ((message.id, str(message.string)) for message in languages.read("zh_Hans") if message.id)
    spaced = re.compile("[\u3400-\u9fff] [%A-Za-z0-9`]|[A-Za-z0-9`)%] [\u3400-\u9fff]")
    assert [said for said, form in forms if spaced.search(re.sub("<code>.*?</code>", "", form))] == []


@pytest.mark.parametrize("language", _LANGUAGES)
def test_a_page_brings_the_texts_of_its_scripts_along(language: str, browser: Actor) -> None:
    marked = {
        message.id
        for message in translation.messages()
        if any(path.startswith("static/") for path, _ in message.locations)
    }
    source = page(browser, "/settings/display", **{"Accept-Language": language.replace("_", "-")})
    told = json.loads(re.findall(r'id="script-texts">([^<]+)<', source)[0])
    assert set(told) == marked
    assert all(told.values())
    assert "script-texts" not in page(browser, "/settings/display")


@pytest.mark.parametrize("language", _LANGUAGES)
def test_no_translation_is_left_of_a_text_that_is_gone(language: str) -> None:
    used = {(message.id, message.context) for message in translation.messages()}
    assert [
        each.id for each in languages.read(language) if each.id and (each.id, each.context) not in used
    ] == []


@for_each("path", TEMPLATES, ids=lambda path: path.relative_to(translation.ROOT).as_posix())
def test_no_text_of_a_template_is_outside_the_catalogs(path: Path) -> None:
    assert translation.unmarked(path.read_text()) == []


def test_no_text_of_a_script_is_outside_the_catalogs() -> None:
    says = re.compile(r"(?:\b(?:announce|say|tell)\(|\b(?:textContent|ariaLabel|title) = )['`][A-Z].*")
    scripts = sorted((translation.ROOT / "static" / "js").glob("**/*.js"))
    assert [found for path in scripts for found in says.findall(path.read_text())] == []


def test_a_voice_that_came_along_keeps_its_name_when_its_prompt_is_changed() -> None:
    def named() -> list[str]:
        translated.speak("zh_Hans", languages.catalog("zh_Hans"))
        built_in = personas.BUILT_IN["journal"]
        changed = personas.Persona(
            1, "journal", built_in.name, "Mine.", f"{built_in.system_prompt} Short.", 2, None, 0, 0
        )
        return [personas.shown("Journal"), changed.shown_name, changed.shown_description]

    assert copy_context().run(named) == ["手记", "手记", "Mine."]
    assert personas.shown("Journal") == "Journal"


def test_a_template_s_plural_takes_values_and_escapes_them(browser: Actor) -> None:
    app = browser.client.application
    text = '{{ ngettext("%(num)s frame of %(app)s", "%(num)s frames of %(app)s", n, app=app) }}'
    with app.test_request_context():
        drawn = [app.jinja_env.from_string(text).render(n=n, app="<b>") for n in (1, 2)]
    assert drawn == ["1 frame of &lt;b&gt;", "2 frames of &lt;b&gt;"]


def test_a_question_that_tells_no_language_of_ours_is_answered_in_that_of_the_page() -> None:
    def asked() -> list[str]:
        translated.speak("zh_Hans", languages.catalog("zh_Hans"))
        questions = ("HAR-318", "Was habe ich gestern gemacht?", "What did I do?", "我昨天做了什么？")
        return [answer_language(question) for question in questions]

    assert copy_context().run(asked) == ["zh", "zh", "en", "zh"]
    assert answer_language("HAR-318") == "en"


def test_a_page_speaks_the_browser_s_language_or_the_chosen_one(browser: Actor) -> None:
    def spoken(header: str) -> str:
        source = page(browser, "/settings/display", **{"Accept-Language": header})
        return re.findall(r'<html lang="([^"]+)"', source)[0]

    assert [spoken(header) for header in ("zh-CN,zh;q=0.9", "de,zh;q=0.5", "fr", "")] == [
        "zh-Hans",
        "zh-Hans",
        "en",
        "en",
    ]
    browser.client.set_cookie(languages.LANGUAGE_COOKIE, "en", domain="127.0.0.1")
    assert spoken("zh-CN") == "en"
