from __future__ import annotations

from engines.ocr.languages import code_of, of_person
from tests.tables import for_each


@for_each(
    ("named", "code"),
    [
        ("de_DE.UTF-8", "deu"), ("de_AT@euro", "deu"), ("fr", "fra"), ("nl_BE", "nld"), ("pt-BR", "por"),
        ("ro_RO", "ron"), ("lv", "lav"), ("ar_EG", "ara"), ("sk", "slk"), ("nb_NO.UTF-8", "nor"),
        ("zh_CN.UTF-8", "chi_sim"), ("zh-TW", "chi_tra"), ("zh_Hant_HK", "chi_tra"), ("ast", "ast"),
        ("C.UTF-8", ""), ("POSIX", ""), ("*", ""), ("", ""),
    ],
)  # fmt: skip
def test_a_locale_has_its_code_of_tesseract(named: str, code: str) -> None:
    assert code_of(named) == code


def test_a_person_reads_what_system_and_browser_name() -> None:
    environ = {"LANGUAGE": "de:fr", "LC_TIME": "it_IT.UTF-8", "LANG": "de_DE.UTF-8", "HOME": "/home/es"}
    found = of_person(["es-MX", "de"], environ)
    assert [code for code in found if code != "eng"] == ["deu", "fra", "ita", "spa"]
