"""The head that reads whole texts: by hand, whatever is padded, and learned over static vectors of built-in text."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from isoglot.core.config import build_config, load_recipe
from isoglot.core.errors import StorageError
from isoglot.core.files import read_json
from isoglot.languages import documents
from isoglot.model import load_encoder
from isoglot.model.static_table import TableEncoder, save_table
from isoglot.static.config import GloveConfig
from isoglot.static.train import train_static
from isoglot.transfer import TuneConfig, evaluate, find_task, fine_tune, load_tuned
from isoglot.transfer.tasks.task import TaskRow, TaskRows
from isoglot.transfer.tuning.batches import TaskBatch
from isoglot.transfer.tuning.heads import HeadConfig, PooledHead
from isoglot.vocab import build_shards, train_vocabulary
from tests.errors import raises

PLAIN = HeadConfig(pool="attention", dropout=0.0, mlp_dropout=0.0, pool_size=6, pool_heads=2)


def given(mask: Any, targets: Any = None, parts: Any = None) -> TaskBatch:
    nothing: Any = None
    return TaskBatch(nothing, nothing, mask, targets, parts)


def shaken(texts: int) -> PooledHead:
    head = PooledHead(5, 3, PLAIN, texts)
    chance = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=chance))
    return head.eval()


def vectors(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def test_a_text_is_the_weighted_mean_of_its_tokens():
    head, x = shaken(2), vectors(1, 5, 5)
    mask, parts = torch.ones(1, 5, dtype=torch.bool), torch.tensor([[0, 0, 0, 1, 1]])
    texts = []
    for some in (slice(0, 3), slice(3, 5)):
        normed = F.layer_norm(x[0, some], (5,))
        weights, values = head.attention(normed).softmax(dim=0), F.gelu(head.values(normed))
        texts.append(torch.cat([weights[:, 0] @ values[:, :3], weights[:, 1] @ values[:, 3:]]))
    both = torch.cat([*texts, (texts[0] - texts[1]).abs(), texts[0] * texts[1]])
    expected = head.scores(F.gelu(head.hidden(both)))
    torch.testing.assert_close(head.label_scores(x, given(mask, None, parts))[0, 0], expected)
    targets = torch.full((1, 5, 1), -100)
    targets[0, 0] = 2
    loss = F.cross_entropy(expected[None], torch.tensor([2]))
    torch.testing.assert_close(head.loss(x, given(mask, targets, parts)), loss)
    assert head.decode(x, given(mask, None, parts)).tolist() == [[[int(expected.argmax())]]]


@pytest.mark.parametrize("texts", [1, 2])
def test_padding_and_other_rows_change_nothing(texts):
    head, x = shaken(texts), vectors(2, 4, 5)
    mask, parts = torch.ones(2, 4, dtype=torch.bool), torch.tensor([[0, 0, texts - 1, texts - 1]] * 2)
    wide = torch.cat([x, torch.full((2, 3, 5), 9.0)], dim=1)
    there = torch.cat([mask, torch.zeros(2, 3, dtype=torch.bool)], dim=1)
    where = torch.cat([parts, torch.zeros(2, 3, dtype=torch.long)], dim=1)
    torch.testing.assert_close(
        head.label_scores(x, given(mask, None, parts)), head.label_scores(wide, given(there, None, where))
    )
    torch.testing.assert_close(
        head.label_scores(x, given(mask, None, parts))[1:], head.label_scores(x[1:], given(mask[1:], None, parts[1:]))
    )


def test_neither_scale_nor_an_absent_text_is_a_problem():
    head, x = shaken(2), vectors(1, 3, 5)
    mask = torch.ones(1, 3, dtype=torch.bool)
    parts = torch.tensor([[0, 0, 1]])
    scores = head.label_scores(x, given(mask, None, parts))
    torch.testing.assert_close(head.label_scores(100 * x, given(mask, None, parts)), scores, atol=1e-3, rtol=1e-3)
    assert head.label_scores(x, given(mask, None, torch.ones_like(parts))).isfinite().all()


def test_every_token_of_both_texts_is_a_place(vocabulary):
    target = np.array([[1]])
    texts: tuple[tuple[list[int], list[int]], ...] = (([7, 8], [9]), ([], []))
    rows = TaskRows(
        [
            TaskRow(
                np.array(vocabulary.layout.framed(pair)), np.zeros(1), target, index, texts=(len(pair[0]), len(pair[1]))
            )
            for index, pair in enumerate(texts)
        ]
    )
    pair, nothing = shaken(2).placed(rows, vocabulary).rows
    assert pair.places_W.tolist() == [1, 2, 4]
    assert pair.parts_W is not None
    assert pair.parts_W.tolist() == [0, 0, 1]
    assert pair.targets_WK is not None
    assert pair.targets_WK[:, 0].tolist() == [1, -100, -100]
    assert nothing.places_W.tolist() == [0]


# --- over static vectors ---


@pytest.fixture(scope="module")
def glove(tmp_path_factory: pytest.TempPathFactory) -> str:
    """GloVe of built-in English, small; its folder."""
    folder = tmp_path_factory.mktemp("glove")
    file = folder / "en.txt"
    found = islice(documents("en", seed=1), 150)
    file.write_text("\n\n".join("\n".join(s.text for s in one) for one in found) + "\n", encoding="utf-8")
    vocabulary = train_vocabulary({"en": [file]}, mode="joint", size=900)
    shards = {"en": build_shards([file], vocabulary, "en", folder / "shards", dev_share=0.02)}
    config = build_config(GloveConfig, settings=["dimensions=32", "epochs=5", "min_count=2"])
    made = train_static(config, shards, vocabulary, folder / "vectors")
    assert made is not None
    return str(folder / "vectors")


def learned(encoder: Any, out: Path | None = None, *settings: str) -> Any:
    task = find_task("nli")
    recipe = load_recipe("static-nli", room="transfer")
    config = build_config(TuneConfig, recipe=recipe, settings=["epochs=8", "head_learning_rate=4e-3", *settings])
    train, dev = {"en": task.builtin("en", "train", 600)}, {"en": task.builtin("en", "dev", 60)}
    return fine_tune(encoder, task, train, dev, config, out, source=encoder.about.get("folder") if out else None)


def test_inference_is_learned_from_frozen_static_vectors(glove, tmp_path: Path):
    table = load_encoder(glove, device="cpu")
    assert isinstance(table, TableEncoder)
    before = table.weight.clone()
    table.about["folder"] = glove
    tuned = learned(table, tmp_path / "run")
    assert torch.equal(table.weight, before)
    test = {"en": tuned.task.builtin("en", "test", 150)}
    accuracy = evaluate(tuned, tuned.task, test)["en"].scores.main
    assert accuracy > 50  # a third is chance
    again = load_tuned(tmp_path / "run", device="cpu")  # the vectors are found again by their folder
    assert evaluate(again, again.task, test)["en"].scores.main == accuracy
    order = again.predict([replaced(one) for one in test["en"].examples], "en")[0]
    assert [one.label for one in order] != [one.label for one in again.predict(test["en"].examples, "en")[0]]


def test_vectors_are_found_from_elsewhere(nano, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Where they were, whatever the working directory; or as they were typed, where all has moved together."""
    vocabulary, task = nano().vocabulary, find_task("pos")
    vectors_VD = torch.randn(len(vocabulary), 8, generator=torch.Generator().manual_seed(1))
    table = TableEncoder(vectors_VD, torch.ones(len(vocabulary), dtype=torch.bool), vocabulary)
    data = {"en": task.builtin("en", "train", 20)}
    config = build_config(TuneConfig, settings=["tune=head", "epochs=1"])
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    monkeypatch.chdir(here)
    save_table(table, "vectors")
    tuned = fine_tune(table, task, data, data, config, "run", source="vectors")
    fine_tune(table, task, data, data, config, "named", source="some/model")
    fine_tune(nano(), task, data, data, config, "ours", source="vectors")
    assert read_json(here / "run/tuned.json")["source"] == "vectors"
    assert not any("source_folder" in read_json(here / name / "tuned.json") for name in ("named", "ours"))

    wanted = tuned.predict(data["en"].examples, "en")[0]
    monkeypatch.chdir(tmp_path)
    assert load_tuned("here/run", device="cpu").predict(data["en"].examples, "en")[0] == wanted
    here.rename(there)
    monkeypatch.chdir(there)
    assert load_tuned("run", device="cpu").predict(data["en"].examples, "en")[0] == wanted
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError) as gone:
        load_tuned("there/run", device="cpu")
    problem = "the encoder that there/run was tuned from no longer exists; restore it, or fine-tune again"
    assert str(gone.value) == f"{here.resolve() / 'vectors'}: {problem}"
    assert load_tuned("there/run", encoder=table).predict(data["en"].examples, "en")[0] == wanted


def replaced(example: Any) -> Any:
    """The pair turned round: it matters which text is which."""
    return type(example)(example.texts[::-1], example.label)


def test_an_encoder_has_the_same_head(nano):
    """Held vectors or not, it learns the same; and the encoder stays."""
    task = find_task("nli")
    recipe = load_recipe("static-nli", room="transfer")
    config = build_config(TuneConfig, recipe=recipe, settings=["epochs=1", "head.pool_size=16"])
    data = {"en": task.builtin("en", "train", 40)}
    encoder = nano()
    held = fine_tune(encoder, task, data, data, config)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("isoglot.transfer.tuning.tuned_encoder.HELD", 0)
        fresh = fine_tune(encoder, task, data, data, config)
    for name, tensor in held.head.state_dict().items():
        torch.testing.assert_close(fresh.head.state_dict()[name], tensor)
    assert not any(parameter.grad is not None for parameter in encoder.parameters())


def test_what_does_not_fit(glove, nano):
    table = load_encoder(glove, device="cpu")
    with raises("config.not-supported"):
        learned(table, None, "tune=all")
    task = find_task("pos")
    data = {"en": task.builtin("en", "train", 20)}
    config = build_config(TuneConfig, settings=["head.pool=attention"])
    with raises("config.conflicting-options", "head.pool=attention"):
        fine_tune(nano(), task, data, data, config)
