"""Token translation where the truth is known: built-in English and its twin in a private script, a word for each word.

A small encoder learns both by guessing masked words, never a pair of sentences that say the same. Then other English is
shifted towards the twin by more and more, and every switched token is looked up in the gold dictionary. To be learned
in three minutes, the text has only the most frequent words, and some of them are the same in both languages; those
are left out of the count, being tokens of both.

    python benchmarks/steer_twin.py [--steps 3000] [--kept 0.4] [--words 300] [--seed 0]

What must hold: the convert rate never falls as alpha grows (but for 0.02), and at the best cell most switched tokens
are right. With fewer steps it does not: after 2000 the languages have not met, and 40 % are right at the best cell.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isoglot.core.config import build_config, load_recipe
from isoglot.languages.corpus import documents
from isoglot.languages.twins import twin, twin_code
from isoglot.model import load_encoder
from isoglot.pretrain.config import PretrainConfig
from isoglot.pretrain.train import pretrain
from isoglot.steer import LanguageMeans, TokenSets, sweep_shifts
from isoglot.steer.masked_decoding import masked_languages
from isoglot.text.formats.plain import write_documents
from isoglot.vocab import build_shards, train_vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ALPHAS = (-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
CODES = ("en", twin_code("en", "shift"))


def common_words(count: int) -> frozenset[str]:
    """The most frequent words of English."""
    some = (sentence.words for text in islice(documents("en", seed=99), 2000) for sentence in text)
    return frozenset(word for word, _ in Counter(chain.from_iterable(some)).most_common(count))


def running_text(sentences: int, known: frozenset[str], seed: int) -> Iterator[list[list[str]]]:
    """Documents with only those words, so many sentences in all."""
    count = 0
    for text in documents("en", seed=seed):
        kept = [sentence.words for sentence in text if known.issuperset(sentence.words)]
        count += len(kept)
        if kept:
            yield kept
        if count >= sentences:
            return


def train(
    folder: Path, known: frozenset[str], *, kept: float, steps: int, settings: list[str], seed: int
) -> tuple[Path, float]:
    """An encoder of English and the twin of other English; its folder, and the processor's seconds of training."""
    texts = {}
    for side, code in enumerate(CODES):
        made: Iterable[list[list[str]]] = running_text(20_000, known, seed=2 * seed + side)
        if side:
            made = ([other.tokens for other in twin(text, "shift", kept=kept)] for text in made)
        texts[code] = folder / f"{code}.txt"
        write_documents(texts[code], ([" ".join(words) for words in text] for text in made))
    vocabulary = train_vocabulary({code: [path] for code, path in texts.items()}, mode="union", size=1000)
    shards = {code: build_shards([path], vocabulary, code, folder / code) for code, path in texts.items()}
    config = build_config(
        PretrainConfig,
        recipe=load_recipe("micro", room="pretrain"),
        values={"seed": seed, "budget": f"{steps}steps"},
        settings=settings,
    )
    begin = time.process_time()
    pretrain(config, shards, vocabulary, folder / "encoder", device="cpu")
    return folder / "encoder", time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--kept", type=float, default=0.4)
    parser.add_argument("--words", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", dest="settings", action="append", default=[])
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    known = common_words(given.words)
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.out or Path(scratch)
        folder.mkdir(exist_ok=True, parents=True)
        path, seconds = train(
            folder, known, kept=given.kept, steps=given.steps, settings=given.settings, seed=given.seed
        )
        encoder = load_encoder(path, device="cpu")
        lines = {code: (folder / f"{code}.txt").read_text().split("\n") for code in CODES}
    texts = {code: [line for line in some if line.strip()] for code, some in lines.items()}
    sets = TokenSets.from_text(encoder.vocabulary, texts)
    means = LanguageMeans.fit(encoder, {code: some[:3000] for code, some in texts.items()})
    words = list(islice(chain.from_iterable(running_text(300, known, seed=1000 + given.seed)), 300))
    others = [other.tokens for other in twin(words, "shift", kept=given.kept)]
    gold = {word: {other} for one, two in zip(words, others, strict=True) for word, other in zip(one, two, strict=True)}
    english = [" ".join(sentence) for sentence in words]
    swept = sweep_shifts(
        encoder,
        english,
        *CODES,
        means,
        alphas=ALPHAS,
        sets=sets,
        dictionary=gold,
        references=[" ".join(sentence) for sentence in others],
    )
    about = sets.about()
    print(f"trained in {seconds:.0f} s of the processor; token sets {about['sizes']}, shared {about['shared']}")
    for figure in ("convert_rate", "precision", "headline", "distinct", "kept", "harmonic", "bleu", "neither"):
        print(f"{figure:13} alpha " + "".join(f"{alpha:8g}" for alpha in swept.alphas))
        for layer, row in zip(swept.layers, swept.grid(figure), strict=True):
            print(f"        layer {layer:5d} " + "".join(f"{value:8.3f}" for value in row))
    for alpha in (0.0, 1.0, -1.0):
        found = masked_languages(
            encoder, english, CODES[0], sets, means=means, target=CODES[1], alpha=alpha, layer=-1, seed=given.seed
        )
        print(
            f"one token masked, alpha {alpha:g}: own {found.own:.3f}, other {found.other:.3f}, right {found.right:.3f}"
        )
    rates = swept.grid("convert_rate")
    best = swept.best("headline")
    assert best is not None
    precision = swept.value("precision", *best[0]) or 0.0
    print(f"best headline {best[1]:.3f} at layer {best[0].layer}, alpha {best[0].alpha:g}: precision {precision:.3f}")
    assert (np.diff(rates[:, 1:]) >= -0.02).all(), "the convert rate falls"
    assert precision > 0.5, "most switched tokens are wrong"


if __name__ == "__main__":
    main()
