"""The point of it all: what is learnt in English is known in its twin where weights are shared, and not where they are not.

The shared encoder meets both languages in one sentence, half of the words of each in the other's script, so that a few
hundred small steps are enough; the separated one has a layer and tables for each.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Literal

import pytest

from isoglot.core.config import build_config
from isoglot.languages import documents
from isoglot.languages.twins import twin
from isoglot.model import EncoderLike, load_encoder
from isoglot.pretrain import PretrainConfig, pretrain
from isoglot.transfer import TuneConfig, evaluate, find_task, fine_tune
from isoglot.vocab import build_shards, train_vocabulary

CODES = ("en", "en-x-shift")


def write_text(path: Path, code: str, *, switched: float, seed: int) -> None:
    """Documents of a language with some words in the script of the other."""
    chance = random.Random(1)  # noqa: S311 - not for secrets
    lines = []
    for document in islice(documents("en", seed=seed), 400):
        for sentence in document:
            sides = sentence.words, next(twin([sentence.words], "shift")).tokens
            mine, other = sides if code == "en" else sides[::-1]
            lines.append(" ".join(b if chance.random() < switched else a for a, b in zip(mine, other, strict=True)))
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module", params=["shared", "separated"])
def encoder(request, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, EncoderLike]:
    """An encoder of English and its twin, trained for a few seconds."""
    kind: Literal["shared", "separated"] = request.param
    folder = tmp_path_factory.mktemp(kind)
    for seed, code in enumerate(CODES):
        write_text(folder / f"{code}.txt", code, switched=0.5 if kind == "shared" else 0.0, seed=seed)
    texts = {code: [folder / f"{code}.txt"] for code in CODES}
    vocabulary = train_vocabulary(texts, mode="joint", size=2600)
    shards = {
        code: build_shards(paths, vocabulary, code, folder / code, dev_share=0.02) for code, paths in texts.items()
    }
    apart = ["model.plan=emb,pos,1,transform,softmax", "masking.random_from=language"]
    settings = [
        "model.size=micro",
        "model.dropout=0.0",
        "batch.rows=32",
        "batch.length=24",
        "budget=250steps",
        "optimiser.kind=adamw",
        "optimiser.rate=2e-3",
        "schedule.kind=trapezoid",
        "evaluation.every=0",
        "log.peak=off",
        *(apart if kind == "separated" else []),
    ]
    pretrain(build_config(PretrainConfig, settings=settings), shards, vocabulary, folder / "run", device="cpu")
    return kind, load_encoder(folder / "run", device="cpu")


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("pos", ["tune=head", "epochs=12", "head_rate=1e-2"]),
        ("pos", ["freeze=1", "epochs=4", "encoder_rate=1e-3", "head_rate=1e-2"]),
        ("parse", ["freeze=1", "epochs=4", "encoder_rate=2e-3", "head_rate=3e-3", "head.arc_width=64"]),
    ],
)
def test_what_is_shared_transfers(name, settings, encoder):
    kind, trained = encoder
    task = find_task(name)
    train = {"en": task.builtin("en", "train", 250, spaced=True)}
    dev = {"en": task.builtin("en", "dev", 60, spaced=True)}
    test = {code: task.builtin(code, "test", 100, spaced=True) for code in CODES}
    tuned = fine_tune(trained, task, train, dev, build_config(TuneConfig, settings=["batch=16", *settings]))
    scores = {code: found.scores.main for code, found in evaluate(tuned, task, test).items()}
    labels = Counter(label for example in test["en"].examples for label in task.labels(example))
    # Every word the most frequent tag; a parser that knows nothing is below 5.
    majority = 100 * labels.most_common(1)[0][1] / labels.total() if name == "pos" else 5.0
    assert scores["en"] > 2 * majority
    if kind == "shared":
        assert scores["en-x-shift"] > 1.5 * majority
    else:
        assert scores["en-x-shift"] < majority
