"""Keys of steps: what they depend on, what they do not, and that they stay what they are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import ConfigError
from isoglot.study.steps import SourceFile, Step, canonical, ordered, step_key
from tests.errors import raises

TEXT = SourceFile("en.txt", "ab" * 32)

PINNED: dict[str, tuple[int, dict[str, Any], dict[str, str], str]] = {
    "cut-text": (1, {"language": "en"}, {"text.0": TEXT.key}, "f35b8cd0420a36b6893f"),
    "builtin-text": (1, {"language": "de", "sentences": 1000, "seed": 1}, {}, "cb864f233fe51d924bca"),
    "builtin-dictionary": (1, {"source": "en", "target": "de"}, {}, "afac1bf39d93c80e7dcc"),
    "vocabulary": (
        1,
        {"mode": "joint", "size": 800},
        {"text.de": "1" * 20, "text.en": "2" * 20},
        "ce33734b2697ca2dc7d3",
    ),
    "shards": (1, {"language": "en", "domain": "main", "dev_share": 0.01}, {"text": "1" * 20}, "85aad8fefab9e3f0466b"),
    "pretrain": (
        1,
        {"config": {"budget": "500Mtokens", "seed": 3}, "moments": True},
        {"vocabulary": "1" * 20},
        "42dbdb9234aad820db26",
    ),
    "transfer": (
        1,
        {"task": "ner", "config": {"epochs": 4}, "source": "en"},
        {"encoder": "1" * 20},
        "67b40716483299bd481b",
    ),
    "first-sentences": (1, {"language": "en", "sentences": 200_000}, {"text": "1" * 20}, "a241cf7fc0b11d1c5435"),
    "static": (
        1,
        {"method": "glove", "config": {"dimensions": 384}},
        {"vocabulary": "1" * 20, "shards.en": "2" * 20},
        "e1185b20473282699f11",
    ),
    "shifted-transfer": (
        1,
        {"task": "nli", "config": {"epochs": 4}, "source": "en", "targets": ["de"], "alphas": [0.5, 1]},
        {"encoder": "1" * 20, "means": "2" * 20},
        "86c48eeef17d26c6f5c5",
    ),
    "word-vectors": (
        1,
        {"language": "en", "sentences": 100_000, "contexts": 20, "length": 256},
        {"encoder": "1" * 20, "text": "2" * 20},
        "0bdb9ebc6b8c9d6a917a",
    ),
    "word-retrieval": (
        1,
        {"source": "en", "target": "de", "systems": {"glove-200000": {"system": "glove", "sentences": 200_000}}},
        {"dictionary": "1" * 20},
        "6cf6a9483495930699a9",
    ),
    "language-means": (
        1,
        {"sentences": 10_000, "token_sentences": 200_000},
        {"encoder": "1" * 20, "text.en": "2" * 20},
        "65ba9f87799a53533193",
    ),
    "steering": (
        1,
        {"languages": ["en", "de"], "alphas": [-1, 1, 2, 3], "count": 1000},
        {"encoder": "1" * 20, "means": "2" * 20},
        "b7b996e6e95f2fc50aac",
    ),
    "masked-language": (
        1,
        {"language": "en", "languages": ["en", "de"], "count": 1000},
        {"encoder": "1" * 20, "means": "2" * 20},
        "4f7708d193a63b5c9cc4",
    ),
    "fasttext": (
        1,
        {"language": "en", "config": {"dimensions": 300}, "words": 200000},
        {"text": "1" * 20},
        "8f8026697ce9a03a15d1",
    ),
    "mapped-embeddings": (
        1,
        {"languages": ["en", "de"]},
        {"encoder": "1" * 20, "other": "2" * 20},
        "fb372aa32163692b0a40",
    ),
    "mapped-contexts": (
        1,
        {"languages": ["en", "de"], "sentences": 100},
        {"encoder": "1" * 20},
        "c275dbe3ccd2e0795281",
    ),
    "word-links": (1, {"languages": ["de", "en"], "count": 10000}, {"pairs.table": TEXT.key}, "d323071fdebb5c5c8dd4"),
    "layer-maps": (1, {"languages": ["de", "en"]}, {"encoder": "1" * 20, "bitext": "2" * 20}, "a35320542da9be25bf5c"),
    "mapped-transfer": (1, {"task": "ner", "config": {"epochs": 10}}, {"maps": "1" * 20}, "a637a27d252f647311f5"),
    "sentence-retrieval": (
        1,
        {"languages": ["en", "de"], "center": "mean"},
        {"encoder": "1" * 20},
        "969cfb6259bac96b05df",
    ),
    "similarity": (1, {"languages": ["en", "de"], "count": 1000}, {"encoder": "1" * 20}, "236882899e051be1c156"),
    "emergence": (
        1,
        {"languages": ["en", "de"], "tokens_per_step": 65024},
        {"encoder": "1" * 20},
        "eee6a1b5c9878413f89a",
    ),
    "language-probe": (
        1,
        {"languages": ["en", "de"], "tokens_per_step": 65024},
        {"encoder": "1" * 20},
        "ba87932f82e39bc619e8",
    ),
    "twin-text": (
        1,
        {
            "language": "en-x-twin",
            "seed": 0,
            "sentences": 40_000,
            "order": "verb-last",
            "anchors": 0.2,
            "domain": "other",
        },
        {},
        "00e8e40622899a608f37",
    ),
    "twin-retrieval": (
        1,
        {"order": "verb-last", "anchors": 0.2, "seed": 0, "count": 500, "tokens_per_step": 1920},
        {"encoder": "1" * 20, "untrained": "2" * 20},
        "54ce28bc59e1b4213d18",
    ),
}


@pytest.mark.parametrize("kind", PINNED)
def test_keys_do_not_change(kind: str) -> None:
    # A changed key orphans every result that anybody has. Raise the kind's version instead if it computes something else.
    version, settings, inputs, key = PINNED[kind]
    assert step_key(kind, version, settings, inputs) == key


def test_a_key_depends_on_settings_and_on_the_content_of_files() -> None:
    step = Step("cut-text", {"language": "en"}, {"text.0": TEXT})
    assert step.key == Step("cut-text", {"language": "en"}, {"text.0": SourceFile("moved.txt", TEXT.sha256)}).key
    assert step.key != Step("cut-text", {"language": "de"}, {"text.0": TEXT}).key
    assert step.key != Step("cut-text", {"language": "en"}, {"text.0": SourceFile("en.txt", "cd" * 32)}).key


def test_a_key_does_not_depend_on_titles_execution_or_missing_values() -> None:
    step = Step("vocabulary", {"mode": "joint"}, {})
    other = Step("vocabulary", {"mode": "joint", "sentences": None}, {}, execution={"x": 1}, title="t", heavy=("a",))
    assert step.key == other.key
    assert step == other


def test_a_key_changes_with_the_keys_of_inputs() -> None:
    texts = [Step("builtin-text", {"language": "en", "sentences": n, "seed": 0}) for n in (10, 20)]
    first, second = (Step("vocabulary", {"mode": "joint"}, {"text.en": text}) for text in texts)
    assert first.key != second.key


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=3), JSON, max_size=4))
def test_the_canonical_form_does_not_depend_on_order(settings: dict[str, object]) -> None:
    turned = dict(reversed(settings.items()))
    assert canonical(settings) == canonical(turned)


@pytest.mark.parametrize("value", [float("nan"), {1: 2}, {"a": object()}])
def test_what_has_no_canonical_form_is_refused(value: object) -> None:
    with pytest.raises(ConfigError):
        canonical({"x": value})


def test_steps_are_ordered_depth_first() -> None:
    text = Step("builtin-text", {"language": "en", "sentences": 1, "seed": 0})
    one, other = (Step("pretrain", {"config": {"seed": seed}}, {"vocabulary": text}) for seed in (0, 1))
    targets = [Step("similarity", {"of": str(step.key)}, {"encoder": step}) for step in (one, other)]
    assert ordered(targets) == [text, one, targets[0], other, targets[1]]


def test_an_unknown_kind_is_refused_with_the_nearest() -> None:
    with raises("config.unknown-name", "'pretrian'"):
        _ = Step("pretrian", {}).key
