"""Sentence vectors against ``sentence-transformers``, and all layers against the last alone, in the same run.

The model is a BERT with random weights, saved as a folder that both open; sentences have 5 to 100 tokens, evenly
spread. The peer sorts by length and pools by mean, too; special tokens take part there, which costs it nothing. Each
has one pass to warm up, then they take turns, the best of the rounds counts, and the numbers are compared.

    python benchmarks/represent.py [SENTENCES] [ROUNDS]
    python benchmarks/represent.py 5000 3 --device cuda --sizes small base

On a machine that has other things to do, CLOCK=cpu OMP_NUM_THREADS=1 measures the time of the processor instead.

Targets in float32 on two cores: 1.1 x the peer's speed for the last layer; all layers in 1.15 x the time of one.
On the CPU ours gives each core a batch of its own, and the peer all cores one batch: a busy machine slows it more,
so measure on a quiet one. On one core both take the same time within 5 %, nearly all of it in matrix products.

Target on a GPU, both in bfloat16: 1.5 x the peer's speed. The peer's weights are cast once, and it has the best of
several batch sizes; ours runs as it does by default, its other batch sizes stand below. Times are from text to arrays
on the host: how long the text alone takes, tokens and all, stands beside them, and so does the first pass, which
can take several times as long: the more batches, the longer, as if each new shape of one had to be prepared. The very
first of all loads libraries, too.

``sentence-transformers`` is no part of the project: install it somewhere (``pip install --target DIR``) and put that on
PYTHONPATH. Without it, only the second number is measured.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from isoglot.core.devices import choose_device
from isoglot.model import EncoderLike, load_encoder
from isoglot.represent import extract
from isoglot.represent.sentences import RowMaker
from isoglot.vocab.line_encoder import ahead
from isoglot.vocab.subword_scheme import SPECIAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

WORDS = 5000
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
PEER_BATCHES = {"cpu": (32,), "cuda": (64, 128, 256, 512, 1024, 2048)}
OUR_BATCHES = {"cpu": (), "cuda": (16_384, 65_536)}


class Size(NamedTuple):
    """Layers, width and heads of a BERT."""

    layers: int
    width: int
    heads: int


SIZES = {"tiny": Size(2, 64, 2), "small": Size(6, 384, 12), "base": Size(12, 768, 12)}


def save_model(folder: Path, size: Size) -> None:
    torch.manual_seed(0)
    pieces = {piece: index for index, piece in enumerate((*SPECIAL, *(f"w{i}" for i in range(WORDS))))}
    config = BertConfig(
        vocab_size=len(pieces),
        hidden_size=size.width,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=4 * size.width,
    )
    model: Any = BertModel
    model(config).save_pretrained(folder)
    tokenizer = Tokenizer(models.WordPiece(pieces, unk_token=SPECIAL[1]))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", pieces["[CLS]"]), ("[SEP]", pieces["[SEP]"])]
    )
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True))
    wrapped: Any = PreTrainedTokenizerFast
    wrapped(tokenizer_object=tokenizer, model_max_length=512, **names).save_pretrained(folder)


def open_peer(folder: Path, size: Size, device: torch.device, precision: str) -> Any:
    try:
        peer = import_module("sentence_transformers")
        modules = import_module("sentence_transformers.sentence_transformer.modules")
    except ModuleNotFoundError:
        return None
    word = modules.Transformer(str(folder), max_seq_length=512)
    pool = modules.Pooling(size.width, pooling_mode="mean")
    found = peer.SentenceTransformer(modules=[word, pool], device=str(device)).eval()
    return found.bfloat16() if precision == "bfloat16" else found


def timed(
    works: dict[str, Callable[[], np.ndarray]], rounds: int, clock: Callable[[], float]
) -> tuple[dict[str, list[float]], dict[str, np.ndarray]]:
    """Seconds of each pass, the first of which warms up; results are arrays on the host, so nothing is undone.

    After one round, of several batch sizes of a side only the fastest two go on.
    """
    times: dict[str, list[float]] = {name: [] for name in works}
    found: dict[str, np.ndarray] = {}

    def run(names: Iterable[str]) -> None:
        for name in names:
            start = clock()
            found[name] = works[name]()
            times[name].append(clock() - start)

    run(works)
    run(works)
    sides: dict[str, list[str]] = {}
    for name in sorted(works, key=lambda name: times[name][1]):
        sides.setdefault(name.split()[0], []).append(name)
    for _ in range(rounds - 1):
        run(name for side in sides.values() for name in side[:2])
    return times, found


def measure(name: str, options: argparse.Namespace, sentences: list[str]) -> None:
    size, device, count = SIZES[name], choose_device(options.device), options.sentences
    clock = CLOCKS[os.environ.get("CLOCK", "wall")]
    precision: Literal["float32", "bfloat16"] = "bfloat16" if device.type == "cuda" else "float32"
    precision = options.precision or precision
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        save_model(folder, size)
        encoder = load_encoder(folder, device=str(device))
        peer = open_peer(folder, size, device, precision)
    works: dict[str, Callable[[], np.ndarray]] = {
        "last": lambda: extract(encoder, sentences, layers=[-1], precision=precision)[-1],
        "all": lambda: extract(encoder, sentences, layers="all", precision=precision)[-1],
        "text": lambda: only_text(encoder, sentences),
    }
    for tokens in OUR_BATCHES.get(device.type, ()):
        works[f"ours {tokens}"] = lambda tokens=tokens: extract(  # type: ignore[misc]
            encoder, sentences, layers=[-1], precision=precision, batch_tokens=tokens
        )[-1]
    for batch in PEER_BATCHES.get(device.type, (32,)) if peer is not None else ():
        works[f"peer {batch}"] = lambda batch=batch: peer.encode(sentences, batch_size=batch, show_progress_bar=False)  # type: ignore[misc]
    times, found = timed(works, options.rounds, clock)
    best = {name: min(taken[1:]) for name, taken in times.items()}
    median = {name: float(np.median(taken[1:])) for name, taken in times.items()}
    said = {name: f"{best[name]:.3f} s (first pass {taken[0]:.3f} s)" for name, taken in times.items()}
    np.testing.assert_allclose(found["all"], found["last"], atol=1e-5)
    print(
        f"BERT of {size.layers} x {size.width} on {device} in {precision}: {count:,} sentences of 5 to 100 tokens, "
        f"{torch.get_num_threads()} threads, best of {options.rounds} rounds"
    )
    print(f"last layer: {said['last']}, {count / best['last']:,.0f} sentences/s; text alone {best['text']:.3f} s")
    print(
        f"all layers: {best['all']:.3f} s, {best['all'] / best['last']:.3f} x the time of one "
        f"(median {median['all'] / median['last']:.3f} x)"
    )
    for tokens in OUR_BATCHES.get(device.type, ()):
        print(f"  last layer in batches of {tokens:,} tokens: {said[f'ours {tokens}']}")
    if peer is None:
        print("sentence-transformers is not installed: nothing to compare with")
        return
    rivals = [name for name in works if name.startswith("peer")]
    for rival in rivals:
        print(f"  sentence-transformers in batches of {rival.split()[1]}: {said[rival]}")
    rival = min(rivals, key=lambda name: best[name])
    away = difference(whole_mean(encoder, sentences[:50]), np.asarray(found[rival][:50], dtype=np.float32))
    print(
        f"sentence-transformers: {best[rival]:.3f} s; last layer at {best[rival] / best['last']:.2f} x its speed "
        f"(median {median[rival] / median['last']:.2f} x); vectors differ by {away:.1e} of their length at most"
    )
    assert away < (0.05 if precision == "bfloat16" else 1e-4)


def only_text(encoder: EncoderLike, sentences: list[str]) -> np.ndarray:
    """What is done with text before the encoder sees it."""
    maker = RowMaker(encoder.vocabulary, None, "text", 512)
    chunks = [sentences[start : start + 4096] for start in range(0, len(sentences), 4096)]
    return np.array([len(rows.ids) for rows in ahead(maker.rows, chunks)])


def whole_mean(encoder: EncoderLike, sentences: list[str]) -> np.ndarray:
    """The peer's pooling by our encoder, in float32: special tokens take part."""
    from isoglot.model import make_batch

    found = []
    with torch.no_grad():
        for sentence in sentences:
            batch = make_batch(encoder.vocabulary, [sentence]).to(encoder.device)
            found.append(encoder.layers(batch)[-1][0].mean(dim=0).cpu().numpy())
    return np.stack(found)


def difference(expected_ND: np.ndarray, found_ND: np.ndarray) -> float:
    """The largest distance of two rows, in lengths of the first."""
    apart_N = np.linalg.norm(expected_ND - found_ND, axis=1) / np.linalg.norm(expected_ND, axis=1)
    return float(apart_N.max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sentences", type=int, nargs="?", default=1000)
    parser.add_argument("rounds", type=int, nargs="?", default=5)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", choices=("float32", "bfloat16"), help="by default bfloat16 on a GPU")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=["small"])
    options = parser.parse_args()
    chance = random.Random(1)  # noqa: S311 - no secrets here
    sentences = [
        " ".join(f"w{chance.randrange(WORDS)}" for _ in range(chance.randint(5, 100))) for _ in range(options.sentences)
    ]
    for name in options.sizes:
        measure(name, options, sentences)


if __name__ == "__main__":
    main()
