"""Where the text of each row of a batch begins."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from isoglot.model.protocol import first_places
from isoglot.vocab.external_tokenizer import RowLayout


@pytest.mark.parametrize(("side", "expected"), [("right", [1, 1]), ("left", [1, 4])])
def test_text_begins_after_padding_on_the_left_and_what_stands_before_it(side: str, expected: list[int]):
    """Rows of 5 and 2 tokens in a batch that is 7 wide: [CLS] a b c d e [SEP], and three of padding for the other."""
    vocabulary: Any = SimpleNamespace(layout=RowLayout(before=(2,), after=(3,)), padding_side=side)
    assert first_places(vocabulary, np.array([5, 2]), 7).tolist() == expected
