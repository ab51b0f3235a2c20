"""The frames under an answer: what of them is shown large."""

from __future__ import annotations

from assistant.core.records import Coverage, EvidenceItem, Scope, TurnResult
from store.core.database import Database
from store.core.paths import DataDir
from store.frames.media import Media
from store.ocr.readings import Box
from tests.factories import NOON_MS, picture, store_frame
from webapp.views.evidence import evidence_cards

NEAR, BELOW, FAR = Box(40, 20, 200, 20), Box(40, 60, 500, 20), Box(700, 500, 90, 20)


def test_every_quoted_line_is_in_a_crop_and_lines_near_each_other_share_one(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    frame = store_frame(database, data_dir, image=picture(size=(800, 600)))

    def crops(*boxes: Box) -> tuple[Box, ...]:
        item = EvidenceItem(1, frame.id, NOON_MS, state="found", quote="Rye, at noon", boxes=boxes)
        turn = TurnResult(1, 1, "evidence", "stub", "When?", "At noon [1]", 0, 1, "UTC", (item,), (),
                          Coverage(0, 0), Scope("", 0, 1))  # fmt: skip
        (card,) = evidence_cards(database, media, turn, [item], {}, NOON_MS)
        return card.crops

    assert crops() == ()
    (together,) = crops(BELOW, NEAR)
    apart = crops(FAR, BELOW, NEAR)
    assert apart[0] == together and len(apart) == 2
    for crop, box in ((together, NEAR), (together, BELOW), (apart[1], FAR)):
        assert crop.x <= box.x and box.x + box.w <= crop.x + crop.w
        assert crop.y <= box.y and box.y + box.h <= crop.y + crop.h
    assert all(crop.x + crop.w <= 800 and crop.y + crop.h <= 600 for crop in apart)
