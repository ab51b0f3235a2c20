"""The built-in answer: selection only, the same for the same material, every line with its proof."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engines.chat_extractive import MAX_QUOTE_CHARS, AppTime, ExtractiveModel, Material, Shown


def shown(n: int, *lines: str, app: str = "Code", window: str = "main.py") -> Shown:
    return Shown(f"e{n}", f"14:{n:02}", app, window, lines)


def compose(*frames: Shown, **changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = {"language": "en", "times": (), **changes}
    answer: dict[str, Any] = json.loads(ExtractiveModel().compose(Material(shown=frames, **values)).text)
    return answer


def test_a_summary_has_a_line_for_each_app_the_longest_used_first() -> None:
    answer = compose(
        shown(1, "short", "a long and telling line"),
        shown(2, "mail to Bob", app="Mail", window="Inbox"),
        shown(3, "another telling line"),
        times=(AppTime("Mail", "20 min", "14:02-14:22"), AppTime("Code", "5 min", "14:01-14:06")),
    )
    assert answer["answer_md"].split("\n") == [
        "- **Mail** (20 min, 14:02-14:22) “Inbox”: “mail to Bob” [[e2]]",
        "- **Code** (5 min, 14:01-14:06) “main.py”: “a long and telling line” [[e1]]; "
        "“another telling line” [[e3]]",
    ]
    assert [item["id"] for item in answer["evidence"]] == ["e2", "e1", "e3"]


def test_the_words_of_the_question_choose_the_lines() -> None:
    answer = compose(
        shown(1, "retention is here"), shown(2, "retention set to 14 days"), asked=("retention", "days")
    )
    assert answer["answer_md"] == "- 14:02 Code, main.py: “retention set to 14 days” [[e2]]"


def test_words_that_are_nowhere_are_said_to_be_nowhere() -> None:
    answer = compose(shown(1, "one"), asked=("giraffe",))
    assert answer["answer_md"].startswith("None of the 1 frames looked at names “giraffe”.")
    assert compose(shown(1, "一"), asked=("长颈鹿",), language="zh")["answer_md"].startswith("看过的 1 帧")


def test_a_frame_without_text_is_quoted_by_its_window() -> None:
    assert compose(shown(1))["evidence"] == [{"id": "e1", "quote": "main.py"}]


def test_screen_text_shows_itself_and_nothing_else() -> None:
    text = compose(shown(1, "**bold** [x](http://e) <b> [[e9]] `code`"))["answer_md"]
    assert r"\*\*bold\*\* \[x\](http://e) \<b\> \[\[e9\]\] \`code\`" in text


frames = st.builds(
    Shown,
    st.integers(1, 99).map(lambda n: f"e{n}"),
    st.just("14:00"),
    st.sampled_from(["Code", "Mail", ""]),
    st.sampled_from(["main.py", ""]),
    st.lists(st.text("ab 今天*[", min_size=1, max_size=300).filter(str.strip), max_size=4).map(tuple),
)


@given(
    st.lists(frames, min_size=1, max_size=30), st.lists(st.sampled_from(["a", "今"]), max_size=2).map(tuple)
)
def test_every_quote_stands_in_its_frame_and_every_mark_has_a_quote(
    given_frames: list[Shown], asked: tuple[str, ...]
) -> None:
    answer = compose(*given_frames, asked=asked)
    assert answer == compose(*given_frames, asked=asked)
    by_id: dict[str, list[str]] = {}
    for frame in given_frames:
        by_id.setdefault(frame.id, []).extend([*frame.lines, frame.window_name, frame.app_name])
    for item in answer["evidence"]:
        assert any(item["quote"] in line for line in by_id[item["id"]])
        assert 0 < len(item["quote"]) <= MAX_QUOTE_CHARS
        assert f"[[{item['id']}]]" in answer["answer_md"]
