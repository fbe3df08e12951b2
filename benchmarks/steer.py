"""The layer x alpha sweep at a vocabulary of 120,000 pieces, beside the naive one.

The naive sweep is what one writes first: for every cell the encoder runs from the bottom with the shift inside, and the
softmax scores every position, padding and special tokens too. Ours computes what is below a layer once, and decodes the
real tokens alone, in blocks that stay in the cache. Both have the same batches and the paper's grid, every layer from 1
with alpha 1, 2 and 3; they take turns, and the best round of each counts. Tokens are compared. Encoder and softmax
are random: what they cost does not depend on their weights.

    OMP_NUM_THREADS=2 python benchmarks/steer.py [--clock cpu] [--only sentence]

Targets, in one run: encoder time at most 0.55 x, in all at most 0.8 x. On a machine that has other things to do,
--clock cpu counts the processor's time, of all threads together.

Also: the time of one sentence through isoglot.translate with isoglot-mini, once it is loaded; at most 40 ms.
"""

from __future__ import annotations

import argparse
import time
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import torch

from isoglot.languages.corpus import documents
from isoglot.model import Encoder, batch_of_ids, encoder_config
from isoglot.represent.moments import LanguageMoments
from isoglot.represent.sentences import RowMaker
from isoglot.steer import LanguageMeans, shift, shifted_decoding
from isoglot.steer.shifted_decoding import Cell, decode_shifted
from isoglot.vocab import train_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CODES = ("en", "fr")
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}


def text(code: str, count: int) -> list[str]:
    """Sentences of many lengths: one, two or three of the built-in ones each."""
    every = [sentence.text for document in islice(documents(code, seed=5), count) for sentence in document]
    found: list[str] = []
    start = 0
    while len(found) < count:
        size = 1 + len(found) % 3
        found.append(" ".join(every[start : start + size]))
        start += size
    return found


def random_encoder(folder: Path, pieces: int) -> Encoder:
    """An encoder of 8 x 384 with a vocabulary of that size, most of it never used."""
    paths = {}
    for code in CODES:
        paths[code] = folder / f"{code}.txt"
        paths[code].write_text("\n".join(text(code, 2000)), encoding="utf-8")
    vocabulary = train_vocabulary({code: [path] for code, path in paths.items()}, mode="joint", size=3000)
    # The pieces beyond the learned ones stand for those of a larger text: they are scored like any other.
    vocabulary.__dict__["pieces"] = (
        *vocabulary.pieces,
        *(f"unused{n}" for n in range(pieces - len(vocabulary.pieces))),
    )
    config = encoder_config("modern", "mini", vocabulary_size=pieces, languages=CODES)
    return Encoder(config, vocabulary).eval()


def random_means(encoder: Encoder) -> LanguageMeans:
    """Means far enough apart that a shift changes what is decoded."""
    chance = np.random.default_rng(0)
    layers = tuple(range(encoder.depth + 1))
    shape = (len(layers), encoder.hidden_size)
    spread = np.zeros((len(layers), encoder.hidden_size, encoder.hidden_size))
    moments = {code: LanguageMoments(layers, 1, chance.normal(size=shape), spread, {}) for code in CODES}
    return LanguageMeans(moments, {"depth": encoder.depth, "hidden_size": encoder.hidden_size})


@torch.inference_mode()
def naive(
    encoder: Encoder,
    sentences: list[str],
    means: LanguageMeans,
    layers: list[int],
    alphas: list[float],
    clock: Callable[[], float],
) -> tuple[dict[Cell, list[np.ndarray]], float, float]:
    """Every cell from the bottom, every position decoded: the tokens, and seconds of the encoder and of decoding."""
    rows = RowMaker(encoder.vocabulary, "en", "text", encoder.max_length).rows(sentences)
    groups = list(rows.batches(1024))
    special = list(encoder.vocabulary.special.values())
    made: dict[Cell, list[np.ndarray]] = {}
    encoding = decoding = 0.0
    for layer in layers:
        for alpha in alphas:
            out = [np.empty(0, dtype=np.int64)] * len(sentences)
            for group in groups:
                begin = clock()
                batch = batch_of_ids(encoder.vocabulary, [rows.ids[row] for row in group], length=encoder.max_length)
                with shift(encoder, means, "en", "fr", alpha=alpha, layers=layer, other_encoder="allow"):
                    last_BTD = encoder.layers(batch, "en")[-1]
                middle = clock()
                logits_BTV = encoder.logits(last_BTD, "fr")
                logits_BTV[..., special] = -torch.inf
                ids_BT = logits_BTV.argmax(dim=-1)
                decoding += clock() - middle
                encoding += middle - begin
                for row, ids_T in zip(group, ids_BT.numpy(), strict=True):
                    out[row] = ids_T[1 : 1 + len(rows.ids[row])]
            made[Cell(layer, alpha)] = out
    return made, encoding, decoding


def one_sentence(clock: Callable[[], float], count: int = 20) -> None:
    """Print the median time that isoglot.translate takes for one sentence, with the model loaded."""
    from isoglot import translate

    sentences = text("en", count)
    seconds = []
    for sentence in sentences:
        begin = clock()
        translate(sentence, "en", "de", device="cpu").texts  # noqa: B018 - decoding to text is part of it
        seconds.append(clock() - begin)
    median = 1000 * float(np.median(seconds[1:]))
    print(f"one sentence: {median:.1f} ms {'<=' if median <= 40 else '> !!'} 40")


def main() -> None:
    from pathlib import Path
    from tempfile import TemporaryDirectory

    parser = argparse.ArgumentParser()
    parser.add_argument("--sentences", type=int, default=60)
    parser.add_argument("--pieces", type=int, default=120_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall")
    parser.add_argument("--only", choices=["sentence"])
    given = parser.parse_args()
    clock = CLOCKS[given.clock]
    one_sentence(clock)
    if given.only:
        return
    shifted_decoding.CLOCK = clock
    alphas = [1.0, 2.0, 3.0]
    with TemporaryDirectory() as folder:
        encoder = random_encoder(Path(folder), given.pieces)
    means, sentences = random_means(encoder), text("en", given.sentences)
    layers = list(range(1, encoder.depth + 1))
    ours, theirs = [], []
    for _ in range(given.rounds):
        begin = clock()
        plain, encoding, decoding = naive(encoder, sentences, means, layers, alphas, clock)
        theirs.append((clock() - begin, encoding, decoding))
        begin = clock()
        found = decode_shifted(encoder, sentences, "en", "fr", means, layers=layers, alphas=alphas)
        ours.append((clock() - begin, found.seconds.encoder, found.seconds.decoding))
    tokens = sum(map(len, found.given))
    pairs = [(one, other) for cell in plain for one, other in zip(plain[cell], found.made[cell], strict=True)]
    same = sum(int((one == other).sum()) for one, other in pairs) / (tokens * len(plain))
    size = f"{len(sentences)} sentences, {tokens:,} tokens, {len(plain)} cells, {given.pieces:,} pieces"
    print(f"{size}; seconds ({given.clock})")
    print(f"{'':10}{'naive':>9}{'ours':>9}{'ratio':>9}")
    ratios = {}
    for name, at in (("encoder", 1), ("decoding", 2), ("in all", 0)):
        slow, fast = min(one[at] for one in theirs), min(one[at] for one in ours)
        ratios[name] = fast / slow
        print(f"{name:10}{slow:9.2f}{fast:9.2f}{ratios[name]:9.3f}")
    print(f"the same token at {same:.4%} of the positions")
    assert same > 0.999
    for name, most in (("encoder", 0.55), ("in all", 0.8)):
        print(f"{name}: {ratios[name]:.3f} {'<=' if ratios[name] <= most else '> !!'} {most}")


if __name__ == "__main__":
    main()
