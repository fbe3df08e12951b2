"""What storing an encoder small costs: masked loss, divergence from the whole one, and retrieval, beside the bytes.

Masked positions and sentences are the same for all. The divergence is Kullback and Leibler's, of the guesses at masked
positions, from those of the encoder as it is. P@1 is of the last layer with each language's mean removed, the mean of
both directions and of all languages with English. With ``--alone``, parts by what their names have in them: each is
packed and the others stay whole, so that it shows where errors do harm. The masked positions are in the first 200
sentences of a language: with no more than these, loss and divergence stay and only P@1 is easier.

    python benchmarks/packing.py MODEL TATOEBA-FOLDER [--langs de,fr,ru,zh] [--steps 0.05 0.1 0.2]
                                                      [--alone embedding.tokens. attention.qkv.] [--sentences 200]
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from isoglot.model import load_encoder, make_batch
from isoglot.model.packed import FINER, STEP, pack, unpack
from isoglot.retrieve.parallel_sets import tatoeba_sets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoglot.model.encoder import Encoder

ENGLISH = "en"
BATCH, MASKED_ROWS, RATE = 100, 200, 0.15


@torch.inference_mode()
def measured(encoder: Encoder, sets: Mapping[str, Mapping[str, list[str]]]) -> tuple[torch.Tensor, torch.Tensor, float]:
    """Log-probabilities at masked positions, what was there, and P@1."""
    chance = torch.Generator().manual_seed(0)
    mask = encoder.vocabulary.special["[MASK]"]
    guesses, right, found = [], [], []
    for sides in sets.values():
        rows = {}
        for code, sentences in sides.items():
            pooled = []
            for start in range(0, len(sentences), BATCH):
                some = sentences[start : start + BATCH]
                batch = make_batch(encoder.vocabulary, some, code, length=encoder.max_length)
                words_BT = batch.mask_BT.clone()
                lengths_B = words_BT.sum(1)
                words_BT[:, 0] = False
                words_BT[torch.arange(len(lengths_B)), lengths_B - 1] = False
                last_BTD = encoder.layers(batch, code)[-1]
                pooled.append((last_BTD * words_BT[..., None]).sum(1) / words_BT.sum(1, keepdim=True))
                if start < MASKED_ROWS:
                    hidden_BT = (torch.rand(words_BT.shape, generator=chance) < RATE) & words_BT
                    ids_BT = batch.ids_BT.masked_fill(hidden_BT, mask)
                    states_BTD = encoder.layers(replace(batch, ids_BT=ids_BT), code)[-1]
                    guesses.append(encoder.logits(states_BTD[hidden_BT], code).log_softmax(-1))
                    right.append(batch.ids_BT[hidden_BT])
            X_ND = torch.cat(pooled)
            rows[code] = torch.nn.functional.normalize(X_ND - X_ND.mean(0), dim=1)
        one_ND, other_ND = rows.values()
        likeness_NN = one_ND @ other_ND.T
        place_N = torch.arange(len(one_ND))
        found += [float((likeness_NN.argmax(side) == place_N).float().mean()) for side in (0, 1)]
    return torch.cat(guesses), torch.cat(right), float(np.mean(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("tatoeba")
    parser.add_argument("--langs", default="de,fr,ru,zh")
    parser.add_argument("--steps", type=float, nargs="*", default=[STEP])
    parser.add_argument("--alone", nargs="*", default=[])
    parser.add_argument("--sentences", type=int, help="of a language, the first; by default all")
    options = parser.parse_args()
    encoder: Encoder = load_encoder(options.model, device="cpu")  # type: ignore[assignment]
    codes = options.langs.split(",")
    sets = {
        each.name: {code: side[: options.sentences] for code, side in each.sentences.items()}
        for each in tatoeba_sets(options.tatoeba, codes)
    }
    weights = {name: tensor.clone() for name, tensor in encoder.state_dict().items()}
    for part in options.alone:
        if not any(part in name for name in weights):
            parser.error(f"no weight has {part} in its name")
    whole, right, precision = measured(encoder, sets)
    place = torch.arange(len(right))
    print(
        f"float32: loss {-float(whole[place, right].mean()):.4f} ({len(right):,} positions), P@1 {precision:.2%}",
        flush=True,
    )

    def show(label: str, data: bytes) -> None:
        encoder.load_state_dict(weights | unpack(data))
        packed, _, precision = measured(encoder, sets)
        divergence = float((whole.exp() * (whole - packed)).sum(-1).mean())
        print(
            f"{label}: {len(data) / 1e6:.2f} MB, loss {-float(packed[place, right].mean()):.4f}, "
            f"divergence {divergence:.4f}, P@1 {precision:.2%}",
            flush=True,
        )

    for how, finer in ((", the same for all parts", {}), ("", FINER)):
        for step in options.steps:
            show(f"step {step:.3g}{how}", pack(weights, step=step, finer=finer))
    for part in options.alone:
        of_part = {name: tensor for name, tensor in weights.items() if part in name}
        for step in options.steps:
            show(f"step {step:.3g}, {part} alone", pack(of_part, step=step, finer={}))


if __name__ == "__main__":
    main()
