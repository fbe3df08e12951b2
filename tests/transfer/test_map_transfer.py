"""Map transfer: a planted rotation is undone by its inverse exactly, frozen is frozen, done layers are not run again."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import DistilBertConfig, DistilBertModel

from isoglot.align import Bitext, Procrustes, Ridge, align_words
from isoglot.core.config import build_config
from isoglot.model import HookedEncoder
from isoglot.model.protocol import EncoderLike, batch_of_ids, make_batch
from isoglot.represent.encoder_hash import encoder_hash
from isoglot.transfer import Data, find_task
from isoglot.transfer.map_protocol import MapTransfer, MapTransferConfig, Models, ModelsAndArm, lines_of, map_transfer
from isoglot.transfer.stacked_encoder import FrozenStates, LowerLayers, StackedEncoder, new_config
from isoglot.transfer.tasks.task import TaskRow
from tests.errors import raises

TWIN = "en-x-shift"


class Rotated(EncoderLike):
    """An encoder whose states are another's, turned in every layer by a rotation of that layer; it reads English.

    Text of any language is read as the first encoder reads English.
    """

    def __init__(self, encoder: Any, turns: Mapping[int, torch.Tensor]) -> None:
        self.own, self.turns = encoder, turns
        names = ("vocabulary", "hidden_size", "depth", "max_length", "device", "provenance")
        vars(self).update({name: getattr(encoder, name) for name in names})

    def layers(self, batch: Any, language: str | None = None) -> tuple[torch.Tensor, ...]:
        return tuple(states @ self.turns[layer] for layer, states in enumerate(self.own.layers(batch, "en")))

    def run_from(
        self, layer: int, hidden: torch.Tensor, batch: Any, language: str | None = None, to: int | None = None
    ) -> torch.Tensor:
        end = self.depth if to is None else to
        found: torch.Tensor = self.own.run_from(layer, hidden @ self.turns[layer].T, batch, "en", end)
        return found @ self.turns[end]

    def logits(self, hidden: torch.Tensor, language: str | None = None) -> torch.Tensor:
        raise NotImplementedError

    def edited(self, layer: int, change: Any) -> AbstractContextManager[None]:
        raise NotImplementedError


def shuffles(width: int, depth: int) -> dict[int, torch.Tensor]:
    """For every layer another order of the numbers, half of them negated: a rotation without rounding."""
    found = {}
    for layer in range(depth + 1):
        chance = np.random.default_rng(layer)
        signs = chance.choice([-1.0, 1.0], width)
        found[layer] = torch.from_numpy(np.eye(width)[chance.permutation(width)] * signs).float()
    return found


def inverses(turns: Mapping[int, torch.Tensor]) -> dict[int, Procrustes]:
    """The maps that undo them, as the room align has them."""
    found = {}
    for layer, turn in turns.items():
        mapping = Procrustes()
        mapping.W_, mapping.widths_ = turn.T.numpy().copy(), (len(turn), len(turn), len(turn))
        found[layer] = mapping
    return found


def config(*settings: str) -> MapTransferConfig:
    given = [
        "epochs=8",
        "batch_size=4",
        "encoder_learning_rate=5e-3",
        "head_learning_rate=1e-2",
        "new_layers=1",
        "new_dropout=0",
    ]
    given += ["head.dropout=0", "head.mlp_dropout=0", "head.arc_size=32", "head.relation_size=32"]
    return build_config(MapTransferConfig, settings=[*given, *settings])


@pytest.fixture(scope="module")
def examples():
    """A little English of a task, to learn from; some of it is also what is chosen by and tested on.

    What is asked here is whether another model reads the same, not whether anything was understood.
    """

    def make(name: str) -> dict[str, Any]:
        train = find_task(name).builtin("en", "train", 50, spaced=True)
        return {"train": train, "dev": train.head(10), "test": train.head(40)}

    return make


@pytest.fixture
def planted(nano):
    """English, and a twin of its model whose layers are turned; with the maps that turn them back."""
    english = nano()
    turns = shuffles(english.hidden_size, english.depth)
    return Models("monolingual", english, {TWIN: Rotated(english, turns)}, {TWIN: inverses(turns)})


def run(name: str, models: Any, examples: Any, *settings: str, **more: Any) -> MapTransfer:
    """The twin is tested on the English sentences themselves, some of those that were learned from."""
    found = examples(name)
    every = list(models) if isinstance(models, list) else [models]
    test = {"en": found["test"], TWIN: found["test"]}
    train, dev = {"en": found["train"]}, {"en": found["dev"]}
    return map_transfer(find_task(name), every, train, dev, test, config(*settings), allow_leak=True, **more)


def scores(result: MapTransfer, models: str = "monolingual") -> dict[tuple[str, int], float]:
    return {(line.arm, line.layer): line.estimate.value for line in result.lines if line.models == models}


# --- the planted case ---


@pytest.mark.parametrize("name", ["ner", "parse"])
def test_the_inverse_of_a_planted_rotation_gives_the_english_scores(name, planted, examples):
    """To the last bit, in every layer; without the map next to nothing is left."""
    result = run(name, planted, examples)
    found = scores(result)
    assert result.layers == (0, 1, 2)
    for layer in result.layers:
        assert found["source", layer] > 40
        assert found["mapped", layer] == found["source", layer]
        assert found["unmapped", layer] < found["source", layer] / 2
    for point in result.points:
        assert np.array_equal(point.ratios[f"{TWIN}/mapped/"], point.ratios["en/source/"])


def test_each_layer_has_its_own_map(planted, examples):
    """The map of another layer is no better than none."""
    wrong = {layer: planted.maps[TWIN][(layer + 1) % 3] for layer in range(3)}
    found = scores(
        run("pos", Models("monolingual", planted.source, planted.others, {TWIN: wrong}), examples, "epochs=4")
    )
    assert all(found["mapped", layer] < found["source", layer] / 2 for layer in range(3))


def test_maps_that_are_fitted_do_it_too(planted, examples):
    """The align room's own maps, from sentences whose words are linked to themselves."""
    sentences = [list(one.words) for one in examples("pos")["train"].examples]
    bitext = Bitext(source=sentences, target=sentences, links=[[(n, n) for n in range(len(s))] for s in sentences])
    aligned = align_words(planted.others[TWIN], planted.source, bitext, languages=(TWIN, "en"))
    fitted = {each.layer: each.mapping for each in aligned.layers if each.layer is not None}
    found = scores(
        run("pos", Models("monolingual", planted.source, planted.others, {TWIN: fitted}), examples, "epochs=4")
    )
    for layer in range(3):
        assert found["mapped", layer] == pytest.approx(found["source", layer], abs=10)
        assert found["mapped", layer] > 2 * found["unmapped", layer]


def test_the_bilingual_model_is_cut_and_mapped(nano, examples):
    """One encoder that shares all reads the twin as it reads English, and a map that turns it spoils that."""
    both = nano()
    turned = inverses(shuffles(both.hidden_size, both.depth))
    models = Models("bilingual", both, {TWIN: both}, {TWIN: turned})
    found = scores(run("pos", models, examples, "epochs=4"), "bilingual")
    for layer in range(3):
        assert found["unmapped", layer] == found["source", layer]
        assert found["mapped", layer] < found["source", layer] / 2


def test_a_model_of_another_width_needs_its_map(nano, examples):
    """Only the mapped score is there; here the map cannot know anything."""
    wide = nano(hidden_size=48, heads=2)
    maps = {layer: Ridge().fit(*np.random.default_rng(0).normal(size=(2, 60, 48))) for layer in range(3)}
    with raises("config.other-size", 0, TWIN, 48):
        run("ner", Models("monolingual", nano(), {TWIN: wide}, {TWIN: maps}), examples)
    chance = np.random.default_rng(0)
    maps = {layer: Ridge().fit(chance.normal(size=(60, 48)), chance.normal(size=(60, 32))) for layer in range(3)}
    result = run("ner", Models("monolingual", nano(), {TWIN: wide}, {TWIN: maps}), examples, "epochs=1", layers=[1])
    assert set(scores(result)) == {("source", 1), ("mapped", 1)}


# --- what learns and what does not ---


def test_frozen_is_frozen(nano, examples):
    english, other = nano(), nano("emb,1")
    before = encoder_hash(english), encoder_hash(other)
    modes = english.training, other.training
    run("ner", Models("monolingual", english, {TWIN: other}), examples, "epochs=1", layers=[1])
    assert (encoder_hash(english), encoder_hash(other)) == before
    assert (english.training, other.training) == modes
    assert all(parameter.requires_grad and parameter.grad is None for parameter in english.parameters())


def test_new_layers_learn_and_what_is_below_has_no_gradient(nano):
    english = nano()
    new = StackedEncoder(LowerLayers(FrozenStates(english, "en")), layers=3, dropout=0.0)
    batch = make_batch(english.vocabulary, ["The cat sleeps .", "It rains ."], "en")
    states = new.layers(batch, "en")
    assert len(states) == 4
    assert torch.equal(states[0], english.layers(batch, "en")[0].detach() * batch.mask_BT[:, :, None])
    states[-1][batch.mask_BT].square().sum().backward()
    assert all(parameter.grad is None for parameter in english.parameters())
    assert {name.split(".")[1] for name, p in new.named_parameters() if p.grad is not None} == {"0", "1", "2"}
    assert not set(map(id, english.parameters())) & set(map(id, new.parameters()))
    torch.testing.assert_close(new.run_from(1, states[1], batch, "en"), states[-1])
    copied = copy.deepcopy(new)
    assert copied.below is new.below
    assert copied.blocks[0] is not new.blocks[0]
    with raises("config.unknown-layer", 2, 1):
        new.run_from(2, states[2], batch, "en", 1)


@pytest.mark.parametrize("preset", ["paper", "modern"])
def test_new_layers_are_like_those_below(preset, nano_encoder, vocabulary):
    """And know the order of words where the embeddings do not."""
    english = nano_encoder(vocabulary, preset, languages=("en", TWIN, "zh")).eval()
    shape = new_config(english, 4, 0.1)
    assert (shape.norm, shape.positions, shape.mlp) == (
        english.config.norm,
        english.config.positions,
        english.config.mlp,
    )
    new = StackedEncoder(LowerLayers(FrozenStates(english, "en")), layers=1).eval()
    with torch.no_grad():
        for parameter in new.parameters():
            parameter.normal_(generator=torch.Generator().manual_seed(0))
    one, other = (make_batch(vocabulary, [text], "en") for text in ("the cat sees", "sees cat the"))
    here, there = (new.layers(batch)[-1][0, 0] for batch in (one, other))
    assert not torch.allclose(here, there, atol=1e-4)


def test_new_layers_on_foreign_encoders(encoders):
    shape = new_config(encoders["foreign"], 2, 0.0)
    assert (shape.heads, shape.intermediate_size, shape.positions, shape.layers) == (8, 64, "learned", 2)

    class Bare(EncoderLike):
        hidden_size, depth = 36, 0

    shape = new_config(Bare(), 2, 0.0)
    assert (shape.heads, shape.intermediate_size, shape.positions, shape.layers) == (2, 144, "rotary", 2)


# --- the cache ---


@pytest.fixture
def encoders(nano, nano_encoder, vocabulary):
    """One of each kind: with parts of its own for each language, of the other family, and one that is not ours."""
    torch.manual_seed(0)
    shape = DistilBertConfig(vocab_size=len(vocabulary), dim=16, n_layers=2, n_heads=2, hidden_dim=24)
    return {
        "separated": nano("emb,1"),
        "modern": nano_encoder(vocabulary, "modern", languages=("en", TWIN, "zh")).eval(),
        "foreign": HookedEncoder(DistilBertModel(shape), vocabulary).eval(),
    }


@pytest.mark.parametrize(
    ("kind", "memory"), [("separated", 1.0), ("separated", 1e-9), ("modern", 1.0), ("foreign", 1.0)]
)
def test_states_are_those_of_the_encoder_in_every_layer(kind, memory, encoders, tmp_path: Path):
    """In memory or in a file, of known rows and of new ones; the file has gone before anybody could see it."""
    english = encoders[kind]
    texts = ["The cat sleeps .", "It rains .", "Eva sees the old house ."]
    batch = make_batch(english.vocabulary, texts, "en")
    rows = [
        TaskRow(np.asarray(english.vocabulary.layout.framed([ids])), np.zeros(1, dtype=np.int64), None, place)
        for place, ids in enumerate(english.vocabulary.encode_batch(texts, "en"))
    ]
    held = FrozenStates(english, "en", rows[:2] * 2, memory=memory, scratch=tmp_path)
    assert not list(tmp_path.iterdir())
    with torch.no_grad():
        expected = english.layers(batch, "en")
    for layer in (0, 2):
        held.advance_to(layer)
        known = make_batch(english.vocabulary, texts[:2], "en")
        for some in (known, batch):
            wanted = expected[layer][: len(some), : some.ids_BT.shape[1]]
            torch.testing.assert_close(held.of(some)[some.mask_BT], wanted[some.mask_BT], rtol=1e-4, atol=1e-5)
            assert not held.of(some)[~some.mask_BT].any()
        filled = batch_of_ids(english.vocabulary, [rows[1].ids_N[1:-1].tolist(), []])
        assert bool(held.of(filled)[1, :2].any())
    with raises("config.unknown-layer", 2, 1):
        held.advance_to(1)


def test_the_encoder_reads_every_row_once(planted, examples, monkeypatch):
    """A whole curve costs one pass: the embeddings once, and every layer once."""
    english, seen = planted.source, []
    run_from, states = type(english).run_from, type(english).states

    def noted(self, layer, hidden, batch, language=None, to=None):
        seen.append((layer, to, int(batch.mask_BT.any(dim=1).sum())))
        return run_from(self, layer, hidden, batch, language, to)

    def noted_states(self, batch, language=None, to=None):
        seen.append((0, to, int(batch.mask_BT.any(dim=1).sum())))
        return states(self, batch, language, to)

    monkeypatch.setattr(type(english), "run_from", noted)
    monkeypatch.setattr(type(english), "states", noted_states)
    run("ner", Models("monolingual", english, {TWIN: english}), examples, "epochs=2")
    rows = {step: sum(count for *way, count in seen if tuple(way) == step) for step in {tuple(s[:2]) for s in seen}}
    assert set(rows) == {(0, 0), (0, 1), (1, 2)}
    # 50 sentences to learn from, some of which are dev and test too, and 40 of another language's test.
    assert set(rows.values()) == {90}


# --- the run ---


def test_done_layers_are_not_run_again(planted, examples, tmp_path: Path, monkeypatch):
    first = run("ner", planted, examples, "epochs=1", out=tmp_path, layers=[0, 2])
    with raises("config.run-exists"):
        run("ner", planted, examples, "epochs=1", out=tmp_path, layers=[0, 2])
    cut: list[int] = []
    original = StackedEncoder.__init__

    def noted(self, below, **more):
        cut.append(below.states.layer)
        original(self, below, **more)

    monkeypatch.setattr(StackedEncoder, "__init__", noted)
    again = run("ner", planted, examples, "epochs=1", out=tmp_path, layers=[0, 2], resume=True)
    assert (cut, again.facts()) == ([], first.facts())
    more = run("ner", planted, examples, "epochs=1", out=tmp_path, resume=True, seeds=2)
    assert cut == [0, 1, 1, 2]
    assert [line.facts()["seeds"] for line in more.lines] == [2] * 9
    whole = run("ner", planted, examples, "epochs=1", seeds=2)
    for facts in (whole.facts(), more.facts()):
        for one in facts["runs"]:
            del one["seconds"]
    assert whole.facts()["scores"] == more.facts()["scores"]
    with raises("config.other-settings", "config.epochs", 1, 2):
        run("ner", planted, examples, "epochs=2", out=tmp_path, resume=True)
    other = Models(
        "monolingual", planted.source, planted.others, {TWIN: inverses(shuffles(32, 3) | {2: torch.eye(32)})}
    )
    with raises("config.other-settings", TWIN, 2):
        run("ner", other, examples, "epochs=1", out=tmp_path, resume=True)
    (tmp_path / "points" / "monolingual-1-0.safetensors").write_bytes(b"no")
    with raises("corrupt-file", "monolingual-1-0.safetensors"):
        run("ner", planted, examples, "epochs=1", out=tmp_path, resume=True)


def test_lines_have_intervals_over_sentences_and_a_spread_over_seeds(planted, examples):
    result = run("ner", planted, examples, "epochs=1", layers=[1], seeds=2)
    lines = {line.arm: line.facts() for line in lines_of(result.points)}
    assert set(lines) == {"source", "unmapped", "mapped"}
    every = [next(t["f1"] for t in point.facts["tests"] if t["arm"] == "mapped") for point in result.points]
    assert lines["mapped"]["score"] == pytest.approx(sum(every) / 2, abs=1e-3)
    assert lines["mapped"]["seed_deviation"] == pytest.approx(float(np.std(every, ddof=1)), abs=1e-3)
    assert lines["mapped"]["low"] <= lines["mapped"]["score"] <= lines["mapped"]["high"]


def test_ways_are_compared_on_the_same_sentences(planted, examples, nano):
    both = Models("bilingual", planted.source, {TWIN: planted.source})
    result = run("pos", [planted, both], examples, "epochs=4", layers=[0, 1])
    found = {(pair.layer, pair.one, pair.other): pair for pair in result.pairs}
    map_: ModelsAndArm = ("monolingual", "mapped")
    none: ModelsAndArm = ("monolingual", "unmapped")
    shared: ModelsAndArm = ("bilingual", "unmapped")
    assert set(found) == {(layer, *ways) for layer in (0, 1) for ways in ((map_, none), (shared, map_))}
    for layer in (0, 1):
        helped = found[layer, map_, none]
        values = {
            line.arm: line.estimate.value
            for line in result.lines
            if (line.models, line.layer) == ("monolingual", layer)
        }
        assert helped.comparison.difference.value == pytest.approx(values["mapped"] - values["unmapped"])
        assert helped.comparison.p <= helped.comparison.p_corrected < 0.05
        same = found[layer, shared, map_].facts()  # the map undoes all that is between them
        assert (same["difference"], same["p_corrected"]) == (0.0, 1.0)
        assert (same["one"], same["other"]) == ("bilingual unmapped", "monolingual mapped")


def test_dev_is_the_ceiling_where_there_is_no_test_and_what_happens_is_said_once(planted, examples):
    found, told = examples("parse"), list[str]()
    result = map_transfer(
        find_task("parse"),
        [planted],
        {"en": found["train"]},
        {"en": found["dev"]},
        {TWIN: found["test"]},
        config("epochs=1", "max_length=12"),
        allow_leak=True,
        say=told.append,
    )
    assert result.facts()["ceiling"] == "en dev"
    assert {test["examples"] for test in result.points[0].facts["tests"] if test["arm"] == "source"} == {10}
    assert result.facts()["in_training"] == {"dev": {"en": 10}, "test": {}}
    assert told.pop(0) == "dev en: 10 of 10 examples are in training as well"
    starts = [line.partition(" ")[0] for line in told]
    assert starts == ["train", "tested", "tested"]
    assert " left out" in told[0]
    assert " split" in told[1]


# --- what does not fit ---


def test_languages_that_do_not_fit(planted, examples, nano):
    found = examples("ner")
    task, english = find_task("ner"), planted.source

    def attempt(models: Any, train: Any = None, test: Any = None) -> None:
        given = train or {"en": found["train"]}
        map_transfer(task, models, given, {"en": found["dev"]}, test or {TWIN: found["test"]}, allow_leak=True)

    two = {"en": found["train"], "zh": found["train"]}
    unmapped = {n: planted.maps[TWIN][n] for n in (0, 1)}
    cases: list[tuple[tuple[Any, ...], tuple[Any, ...]]] = [
        (([planted], two), ("config.other-language", "en", "zh")),
        (([planted], {"zh": found["train"]}), ("config.missing-data", "zh")),
        (([planted], None, {"zh": found["test"]}), ("config.other-language", "zh")),
        (([Models("monolingual", english, {TWIN: english, "zh": english})],), ("config.missing-data", "zh")),
        (([Models("monolingual", english, {TWIN: english, "en": english})],), ("config.other-language", "en")),
        (
            ([Models("monolingual", english, {TWIN: english}, {"zh": planted.maps[TWIN]})],),
            ("config.other-language", "zh"),
        ),
        (([planted, planted],), ("config.duplicate",)),
        (([Models("monolingual", english, {TWIN: english}, {TWIN: unmapped})],), ("config.unknown-layer", 2, TWIN)),
    ]
    for given, expected in cases:
        with raises(*expected):
            attempt(*given)
    with raises("config.unknown-language", "'sw'"):
        attempt([Models("monolingual", english, {"sw": nano("1")})], None, {"sw": found["test"]})
    with raises("input.empty", TWIN):
        attempt([planted], None, {TWIN: Data([])})
    with raises("input.empty", "en"):
        map_transfer(task, [planted], {"en": found["train"]}, {"en": Data([])}, {TWIN: found["test"]})


def test_what_is_learned_from_is_neither_chosen_by_nor_tested_on(planted, examples):
    found, task = examples("ner"), find_task("ner")
    others = Data(found["train"].examples[40:])
    train, dev, test = ({"en": some} for some in (found["train"].head(40), others, found["test"]))
    with raises("input.leak", 40, "en", "dev"):
        map_transfer(task, [planted], train, test, {TWIN: others})
    with raises("input.leak", 40, "en", "test"):
        map_transfer(task, [planted], train, dev, {**test, TWIN: others})


@pytest.mark.parametrize("setting", ["tune=head", "freeze=1", "layer=1", "grid.freeze=[1, 2]"])
def test_settings_that_mean_nothing_here(setting, planted, examples):
    key = setting.partition("=")[0].removeprefix("grid.")
    with raises("config.conflicting-options", key):
        run("ner", planted, examples, setting)


@pytest.mark.parametrize("key", ["max_length", "seed", "memory_gib"])
def test_a_grid_of_what_all_its_settings_share_is_refused(key, planted, examples):
    with raises("config.conflicting-options", key):
        run("ner", planted, examples, f"grid.{key}=[16, 32]")


def test_a_grid_reports_the_mean_of_the_two_settings_best_on_dev(planted, examples, tmp_path):
    rates = (5e-3, 1e-5, 2e-3)
    grid = f"grid.encoder_learning_rate={list(rates)}"
    result = run("ner", planted, examples, grid, out=tmp_path, layers=[1], seeds=2)
    alone = {
        rate: run("ner", planted, examples, f"encoder_learning_rate={rate}", layers=[1], seeds=2) for rate in rates
    }
    for point in result.points:
        seed = point.facts["seed"]
        single = {rate: next(p for p in one.points if p.facts["seed"] == seed) for rate, one in alone.items()}
        assert [s["dev"] for s in point.facts["settings"]] == [single[rate].facts["dev"] for rate in rates]
        ranked = sorted(rates, key=lambda rate: -single[rate].facts["dev"])
        chosen = {s["setting"] for s in point.facts["settings"] if s["chosen"]}
        assert chosen == {f"encoder_learning_rate={rate:g}" for rate in ranked[:2]}
        for rate in ranked[:2]:
            mine = point.ratios[f"{TWIN}/mapped/encoder_learning_rate={rate:g}"]
            assert np.array_equal(mine, single[rate].ratios[f"{TWIN}/mapped/"])
    line = next(line for line in result.lines if line.arm == "mapped")
    every = [t["f1"] for p in result.points for t in p.facts["tests"] if t["arm"] == "mapped"]
    assert (len(every), line.estimate.over_seeds.seeds) == (4, 2)
    assert line.estimate.value == pytest.approx(np.mean(every), abs=1e-3)
    again = run("ner", planted, examples, grid, out=tmp_path, layers=[1], seeds=2, resume=True)
    assert again.facts() == result.facts()
