"""A model from its folder to a fixed one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from isoglot.compare.parallel_sentences import builtin_set
from isoglot.diagnose.ranking import _unknown_tokens
from isoglot.diagnose.repair.choice import FixConfig
from isoglot.diagnose.repair.fixing import check_spelling, fix
from isoglot.report.fix import fix_result
from isoglot.retrieve.parallel_sets import ParallelSet
from tests.errors import raises


def test_the_fixed_model_has_the_vectors_that_were_measured(tmp_path: Path):
    config = FixConfig(method="leace", resamples=50, copies=20)
    found = fix(
        "isoglot-mini", [builtin_set(["en", "fr"], 80, seed=0)], config=config, out=tmp_path / "fixed", device="cpu"
    )
    assert found.written is not None
    assert found.written.name == "leace"
    assert found.difference == pytest.approx(0, abs=1e-5)
    result = fix_result(found)
    assert result.value["written"] == {"layer": 8, "name": "leace"}
    assert {"index.html"} <= set(result.files([]))


def test_a_fix_that_needs_the_language_is_written_with_a_fallback(tmp_path: Path):
    config = FixConfig(method="means", languages="known", resamples=50, copies=20)
    given = [builtin_set(["en", "fr"], 80, seed=0)]
    found = fix("isoglot-mini", given, config=config, out=tmp_path / "fixed", device="cpu")
    assert found.written is not None
    assert found.choice.fallback is not None
    assert (found.written.name, found.choice.fallback.name) == ("means", "none")
    assert found.difference == pytest.approx(0, abs=1e-5)
    assert any("task=" in said for said in fix_result(found).value["findings"])


def test_a_language_that_the_tokenizer_cannot_spell_is_refused():
    """A tokenizer of Latin letters, that takes a text in another script for one unknown token."""
    vocabulary: Any = SimpleNamespace(
        special={"[UNK]": 0},
        encode_with_offsets=lambda texts, _: [
            SimpleNamespace(ids=[int(text.isascii())], offsets=[(0, len(text))]) for text in texts
        ],
    )
    with raises("input.no-match", "ru"):
        check_spelling(vocabulary, [ParallelSet.from_lists({"en": ["yes", "no"], "ru": ["да", "нет"]})])
    check_spelling(vocabulary, [ParallelSet.from_lists({"en": ["yes", "no", "so"], "de": ["ja", "nein", "für"]})])
    both = ParallelSet.from_lists({"en": ["yes", "no"], "ru": ["да", "нет"]})
    encoder: Any = SimpleNamespace(vocabulary=vocabulary)
    assert _unknown_tokens(encoder, [both, both]) == ["The tokenizer does not know 100 % of the ru tokens"]
