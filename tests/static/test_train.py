"""From shards to vectors: the same bits twice and after an interruption, and one line where there is nothing to learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from isoglot.core.errors import IsoglotError
from isoglot.core.files import read_json, write_json
from isoglot.core.optional import version_of
from isoglot.model import TableEncoder, load_encoder
from isoglot.static import FastTextConfig, GloveConfig, Learned, Word2VecConfig, train_static
from isoglot.static.config import StaticConfig
from isoglot.vocab import Shards, Vocabulary, build_shards
from tests.errors import raises

Given = tuple[dict[str, Shards], Vocabulary]

needs_gensim = pytest.mark.skipif(version_of("gensim") is None, reason="gensim is not installed")
GLOVE = GloveConfig(dimensions=12, epochs=4, min_count=2, checkpoint_every=3, chunk_size=500)
SKIP_GRAM = Word2VecConfig(dimensions=12, epochs=3, min_count=2)
FASTTEXT = FastTextConfig(dimensions=12, epochs=3, min_count=2, buckets=500)
CONFIGS = [
    GLOVE,
    pytest.param(SKIP_GRAM, marks=needs_gensim),
    pytest.param(Word2VecConfig(dimensions=12, epochs=3, min_count=2, objective="cbow"), marks=needs_gensim),
    pytest.param(FASTTEXT, marks=needs_gensim),
]
NAMES = ["glove", "skip-gram", "cbow", "fasttext"]


def learn(*inputs: Any, **options: Any) -> Learned:
    learned = train_static(*inputs, **options)
    assert learned is not None
    return learned


@pytest.mark.parametrize("config", CONFIGS, ids=NAMES)
def test_one_worker_gives_the_same_bits_twice_and_after_a_stop(given: Given, config, tmp_path: Path):
    one, two = (learn(config, *given, tmp_path / name) for name in ("one", "two"))
    assert torch.equal(one.table.weight, two.table.weight)
    assert train_static(config, *given, tmp_path / "three", stop_after=2) is None
    assert not (tmp_path / "three" / "static.json").exists()
    three = learn(config, *given, tmp_path / "three", resume=True)
    assert torch.equal(one.table.weight, three.table.weight)
    assert one.facts == three.facts
    other = learn(config.model_copy(update={"seed": 1}), *given, tmp_path / "four")
    assert not torch.equal(one.table.weight, other.table.weight)


OTHERS: dict[type[StaticConfig], dict[str, Any]] = {
    StaticConfig: {"dimensions": 13, "window": 4, "boundary": "sentence", "min_count": 3, "epochs": 5, "seed": 1},
    GloveConfig: {
        "weighting": "flat",
        "learning_rate": 0.1,
        "x_max": 5.0,
        "alpha": 0.5,
        "gradient_clip": 0.001,
        "vectors": "words",
    },
    Word2VecConfig: {
        "objective": "cbow",
        "negative": 3,
        "sample": 0.0,
        "learning_rate": 0.05,
        "learning_rate_end": 0.01,
    },
    FastTextConfig: {"min_ngram": 2, "max_ngram": 4, "buckets": 50},
}
"""Another value for every setting that is to change what is learned."""
KEPT = {"checkpoint_every", "chunk_size"}
"""And those that are not to."""


def test_every_setting_is_said_to_change_the_vectors_or_not():
    for kind in (GloveConfig, FastTextConfig):
        others = {name for above in kind.__mro__ for name in OTHERS.get(above, {})}
        assert set(kind.model_fields) == others | (KEPT & set(kind.model_fields))


@pytest.fixture(scope="module")
def bases(given: Given, tmp_path_factory: pytest.TempPathFactory) -> dict[type[StaticConfig], TableEncoder]:
    """What a few settings give for each kind."""
    there = [GLOVE] if version_of("gensim") is None else [GLOVE, SKIP_GRAM, FASTTEXT]
    return {type(config): learn(config, *given, tmp_path_factory.mktemp("base")).table for config in there}


@pytest.mark.parametrize(
    ("config", "name", "value"),
    [
        pytest.param(config, name, value, id=f"{kind}-{name}", marks=[] if kind == "glove" else needs_gensim)
        for kind, config, of in (
            ("glove", GLOVE, (StaticConfig, GloveConfig)),
            ("word2vec", SKIP_GRAM, (StaticConfig, Word2VecConfig)),
            ("fasttext", FASTTEXT, (FastTextConfig,)),
        )
        for above in of
        for name, value in OTHERS[above].items()
    ],
)
def test_every_setting_changes_the_vectors(given: Given, bases, config, name, value, tmp_path: Path):
    assert getattr(config, name) != value
    other = learn(config.model_copy(update={name: value}), *given, tmp_path / "out").table
    assert not torch.equal(other.weight, bases[type(config)].weight)


@pytest.mark.parametrize("name", sorted(KEPT))
def test_these_settings_do_not_change_the_vectors(given: Given, bases, name, tmp_path: Path):
    other = learn(GLOVE.model_copy(update={name: 2000}), *given, tmp_path / "out").table
    assert torch.equal(other.weight, bases[GloveConfig].weight)


@pytest.mark.parametrize("config", CONFIGS, ids=NAMES)
def test_frequent_subwords_have_vectors_and_others_do_not(given: Given, config, tmp_path: Path):
    shards, vocabulary = given
    learned = learn(config, shards, vocabulary, tmp_path / "out")
    counts = torch.zeros(len(vocabulary), dtype=torch.int64)
    for one in shards.values():
        counts += torch.bincount(torch.tensor(one.ids().astype(int)), minlength=len(vocabulary))
    wanted = counts >= 2
    wanted[list(vocabulary.special.values())] = False
    assert torch.equal(learned.table.known, wanted)
    assert torch.isfinite(learned.table.weight).all()
    assert ((learned.table.weight != 0).any(dim=1) == wanted).all()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "provenance.json",
        "run.json",
        "static.json",
        "static.safetensors",
        "training.json",
        "vocabulary",
    ]
    record = read_json(tmp_path / "out" / "run.json")
    assert (record["status"], record["config"]["dimensions"]) == ("finished", 12)
    left = tmp_path / "out" / "work" / "pairs"  # by a run that was killed when its vectors were written
    left.mkdir(parents=True)
    (left / "block-000.pairs").write_bytes(b"pairs")
    again = learn(config, shards, vocabulary, tmp_path / "out", resume=True)
    assert not left.parent.exists()
    assert torch.equal(again.table.weight, learned.table.weight)
    assert torch.equal(load_encoder(tmp_path / "out", device="cpu").weight, learned.table.weight)  # type: ignore[attr-defined]


def test_workers_change_nothing_about_glove(given: Given, tmp_path: Path):
    one, two = (learn(GLOVE, *given, tmp_path / str(workers), workers=workers) for workers in (1, 2))
    assert torch.equal(one.table.weight, two.table.weight)
    losses = one.facts["losses"]
    assert losses == sorted(losses, reverse=True)
    assert len(losses) == 4


def test_the_folder_must_be_the_same_work(given: Given, tmp_path: Path, each_damage):
    train_static(GLOVE, *given, tmp_path / "out", stop_after=1)
    for _ in each_damage(tmp_path / "out" / "training.json"):
        with pytest.raises(IsoglotError):
            train_static(GLOVE, *given, tmp_path / "out")
    with raises("config.run-exists"):
        train_static(GLOVE, *given, tmp_path / "out")
    with raises("config.other-settings", 12, 13):
        train_static(GLOVE.model_copy(update={"dimensions": 13}), *given, tmp_path / "out", resume=True)
    shards, vocabulary = given
    with raises("config.other-settings", "shards.fr"):
        train_static(GLOVE, {"en": shards["en"]}, vocabulary, tmp_path / "out", resume=True)


@pytest.mark.parametrize(
    "theirs", ["work/a", "checkpoints/step-00000100/a", "encoder.json", "pretrain.json", "static.json"]
)
def test_a_folder_of_something_else_is_not_touched(given: Given, theirs, tmp_path: Path):
    path = tmp_path / "out" / theirs
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    with raises("config.would-overwrite", theirs.partition("/")[0]):
        train_static(GLOVE, *given, tmp_path / "out")
    assert path.read_text() == "mine"
    assert not (tmp_path / "out" / "training.json").exists()


def test_only_what_learning_made_is_removed_at_the_end(given: Given, tmp_path: Path):
    out = tmp_path / "out"
    train_static(GLOVE, *given, out, stop_after=1)
    mine = [out / "work" / "notes", out / "checkpoints" / "old" / "notes"]
    for path in mine:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    learn(GLOVE, *given, out, resume=True)
    assert sorted(
        path for folder in ("work", "checkpoints") for path in (out / folder).rglob("*") if path.is_file()
    ) == (sorted(mine))


@pytest.mark.parametrize("resume", [False, True])
def test_a_run_that_failed_before_its_first_checkpoint_is_begun_anew(given: Given, resume, tmp_path: Path):
    whole = learn(GLOVE, *given, tmp_path / "whole")
    bad = GLOVE.model_copy(update={"learning_rate": 1e30, "gradient_clip": 1e30, "window": 2})
    with raises("config.diverged"):
        train_static(bad, *given, tmp_path / "out")
    assert (tmp_path / "out" / "work" / "pairs" / "pairs.json").exists()
    learned = learn(GLOVE, *given, tmp_path / "out", resume=resume)
    assert torch.equal(learned.table.weight, whole.table.weight)  # and not with the pairs of the smaller window


def test_a_run_that_may_still_be_running_is_left_alone(given: Given, tmp_path: Path):
    with raises("config.diverged"):
        train_static(GLOVE.model_copy(update={"learning_rate": 1e30, "gradient_clip": 1e30}), *given, tmp_path / "out")
    record = read_json(tmp_path / "out" / "run.json")
    write_json(tmp_path / "out" / "run.json", {**record, "status": "running"})
    with raises("config.run-exists"):
        train_static(GLOVE, *given, tmp_path / "out")


DEGENERATE = {
    "one word": "the\n",
    "a repeated word": "the the the the\n\nthe the\n",
    "two words": "the cat\n",
    "blank documents": "\n\n\nthe cat\n\n\n\nthe cat the\n\n",
}


@pytest.mark.parametrize("config", CONFIGS, ids=NAMES)
@pytest.mark.parametrize("text", DEGENERATE.values(), ids=DEGENERATE)
def test_tiny_corpora_give_finite_vectors(given: Given, config, text, tmp_path: Path):
    _, vocabulary = given
    path = tmp_path / "text.txt"
    path.write_text(text)
    shards = build_shards([path], vocabulary, "en", tmp_path / "shards", dev_share=0)
    config = config.model_copy(update={"min_count": 1, "epochs": 30})
    if isinstance(config, GloveConfig) and text == "the\n" and len(shards.ids()) == 1:
        with raises("input.too-few", 1):
            train_static(config, {"en": shards}, vocabulary, tmp_path / "out")
        assert read_json(tmp_path / "out" / "run.json")["status"] == "failed"
        return
    learned = learn(config, {"en": shards}, vocabulary, tmp_path / "out")
    assert torch.isfinite(learned.table.weight).all()
    assert learned.table.known.any()


def test_no_text_is_one_line(given: Given, tmp_path: Path):
    _, vocabulary = given
    path = tmp_path / "text.txt"
    path.write_text("the cat\n")
    shards = build_shards([path], vocabulary, "en", tmp_path / "shards", dev_share=0)
    with raises("input.too-few", 5):
        train_static(GloveConfig(), {"en": shards}, vocabulary, tmp_path / "out")
    assert not (tmp_path / "out").exists()
