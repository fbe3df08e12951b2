from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import ConfigError
from isoglot.core.language_codes import language_code
from tests.errors import raises


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("en", "en"), ("EN", "en"), ("eng", "en"), ("fra", "fr"), ("fre", "fr"), ("deu", "de"), ("ger", "de"),
        ("rus", "ru"), ("cmn", "zh"), ("zho", "zh"), ("chi", "zh"), ("zh_CN", "zh-CN"), ("ZH-hans-cn", "zh-Hans-CN"),
        ("swh", "sw"), ("swa", "sw"), ("ell", "el"), ("arb", "ar"), ("ceb", "ceb"), ("en-x-shift", "en-x-shift"),
    ],
)  # fmt: skip
def test_aliases(text: str, code: str):
    assert language_code(text) == code


@pytest.mark.parametrize("text", ["", "xx", "english", "e", "de-", "12", "en fr", "en.txt", "a/en", "日本"])
def test_no_such_language(text: str):
    with raises("config.language-code"):
        language_code(text)


@given(st.text(max_size=12))
def test_canonical_codes_are_fixed_points(text: str):
    try:
        code = language_code(text)
    except ConfigError:
        return
    assert language_code(code) == code
