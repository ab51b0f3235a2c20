"""What a Chinese browser is served: no English sentence of ours, on any page of the sample week."""

from __future__ import annotations

from contextvars import copy_context

from assistant.core.models import ChatModels
from store.core import translation as translated
from store.core.database import open_database
from store.core.settings import Settings
from tests import translation
from tests.demo_week import DemoHome
from tests.tables import for_each
from tests.webapp.conftest import PORT
from tests.webapp.served import Walk
from webapp import create_app
from webapp.core import languages

_HEARD = {
    "nothing answers at http://127.0.0.1:9/v1 (refused)": "http://127.0.0.1:9/v1没有响应（refused）",
    "There is no folder /a b. Trying again after 30 s.": "没有文件夹“/a b”。30秒后重试。",
    "nothing in it can be imported; line 3: it has no text": "其中没有可导入的内容；line 3：没有文字",
    "Looked at Slack, Terminal.": "查看了Slack, Terminal。",
    "a server's own words": "a server's own words",
    "it has no text": "没有文字",
}


def _in_chinese(text: str) -> str:
    def heard() -> str:
        translated.speak("zh_Hans", languages.catalog("zh_Hans"))
        return translated.translated(text)

    return copy_context().run(heard)


@for_each("english, chinese", _HEARD.items())
def test_a_sentence_of_another_process_is_read_back_with_its_values(english: str, chinese: str) -> None:
    assert _in_chinese(english) == chinese


def test_no_sentence_of_ours_is_english(demo_home: DemoHome) -> None:
    """None that a catalog knows, and none of those that stand in the code unmarked."""
    data_dir = demo_home.data_dir
    database = open_database(data_dir)
    now_ms = max(database.column("select max(captured_ms) from frames")) + 60_000
    app = create_app(
        Settings(), database, chat_models=ChatModels(Settings().chat, {}, data_dir), clock=lambda: now_ms
    )
    token = app.extensions["recollect"].token
    headers = {"Authorization": f"Bearer {token}", "Host": f"127.0.0.1:{PORT}", "Accept-Language": "zh-CN"}
    english, found, pages = translation.sentences_of_the_code(), dict[str, str](), 0
    asked = database.column("select distinct question from turns")
    for address, _, source in Walk(app, headers, ["/search?q=zzzz", "/days/2026-11-01"]):
        shown = translation.Shown()
        shown.feed(source)
        pages += 1
        for text in shown.words:
            if (
                text.count(" ") > 1  # two words may be anybody's
                and text not in found
                and not any(each in text for each in asked)
                and (_in_chinese(text) != text or translation.runs(text) & english)
            ):
                found[text] = address
    database.close_thread()
    assert found == {}
    assert pages > 80
