"""Damage every kind of file that isoglot writes and reads back: is each change refused, or without effect?

    python benchmarks/damage.py --changes 1000 --seed 0

Every kind is made once at nano size. Then bits are flipped and files are cut at random places, one change at a time. A
change must raise an error that the command line shows in one line with exit code 2, or the result must be the same.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoglot.align import Procrustes, train_aligner
from isoglot.align.alignment import METRICS
from isoglot.align.apply import read_maps
from isoglot.align.words.word_aligner import WordAligner
from isoglot.core.artifact import write_sealed
from isoglot.core.errors import IsoglotError
from isoglot.core.files import file_hash
from isoglot.languages import documents
from isoglot.model import Encoder, encoder_config, save_encoder
from isoglot.model.folder import open_encoder, read_about
from isoglot.model.static_table import TableEncoder, open_table, save_table
from isoglot.pretrain.run_folder import Checkpoints, open_folder
from isoglot.represent import Representations
from isoglot.represent.extraction import extract
from isoglot.steer import LEACE, LanguageMeans, TokenSets
from isoglot.transfer import TuneConfig, find_task, load_tuned
from isoglot.transfer.experiment import compare_experiments, run_experiment
from isoglot.transfer.map_protocol import MapPoint, MapPoints
from isoglot.transfer.tuning.tuned_encoder import KeptEpochs
from isoglot.transfer.tuning.tuned_folder import check_begun
from isoglot.vocab import Shards, Vocabulary, build_shards, train_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Kind:
    """Files of one kind: how they are made in a folder, and what reading them gives."""

    name: str
    make: Callable[[Path], object]
    read: Callable[[Path], object]


def fingerprint(value: Any) -> str:
    """A hash of a result, numbers and all."""
    digest = hashlib.sha256()

    def take(each: Any) -> None:
        if isinstance(each, torch.Tensor):
            take(each.detach().cpu().float().numpy())
        elif isinstance(each, np.ndarray):
            digest.update(f"{each.dtype}{each.shape}".encode() + each.tobytes())
        elif isinstance(each, dict):
            for key, inner in sorted(each.items(), key=str):
                take(str(key))
                take(inner)
        elif isinstance(each, list | tuple):
            for inner in each:
                take(inner)
        else:
            digest.update(repr(each).encode())

    take(value)
    return digest.hexdigest()


def texts(folder: Path) -> dict[str, list[Path]]:
    """A little built-in text of two languages."""
    found = {}
    for code in ("en", "fr"):
        path = folder / f"{code}.txt"
        lines = [s.text for document in islice(documents(code, seed=1), 12) for s in document]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        found[code] = [path]
    return found


def kinds(place: Path) -> list[Kind]:
    """Every kind of file that is written and read back."""
    given = texts(place)
    vocabulary = train_vocabulary(given, mode="union", size=400)
    special = vocabulary.special
    config = encoder_config(
        "paper",
        "nano",
        vocabulary_size=len(vocabulary),
        languages=("en", "fr"),
        pad_id=special["[PAD]"],
        unk_id=special["[UNK]"],
    )
    encoder = Encoder(config, vocabulary).eval()
    lines = {code: paths[0].read_text(encoding="utf-8").splitlines()[:20] for code, paths in given.items()}
    rows = {code: extract(encoder, some, language=code)[1] for code, some in lines.items()}
    X, Y = rows["en"][:12], rows["fr"][:12]
    pairs = [(one.split(), other.split()) for one, other in zip(*lines.values(), strict=True)]
    task = find_task("topic")
    data = {split: {"en": task.builtin("en", split, 12)} for split in ("train", "dev", "test")}
    tuning = TuneConfig(epochs=1, batch_size=4, unseen_labels="count")
    about = {"steps": 3}
    known_V = torch.ones(len(vocabulary), dtype=torch.bool)
    identity = {"format": 1, "config": {"seed": 1}, "data": {"vocabulary": vocabulary.hash}}
    weights = {"head.weight": torch.arange(6.0), "head.bias": torch.ones(3, dtype=torch.bfloat16)}
    point = MapPoint(
        {"models": "monolingual", "layer": 1, "seed": 0, "maps": {"fr": "00"}, "tests": []},
        {"fr/mapped": np.arange(8.0).reshape(4, 2)},
    )
    return [
        Kind("vocabulary", vocabulary.save, lambda at: whole_vocabulary(Vocabulary.load(at))),
        Kind(
            "vocabulary, compressed",
            lambda at: vocabulary.save(at, compression="zstd"),
            lambda at: whole_vocabulary(Vocabulary.load(at)),
        ),
        Kind(
            "shards",
            lambda at: build_shards(given["en"], vocabulary, "en", at),
            lambda at: whole_shards(Shards.open(at)),
        ),
        Kind("encoder", lambda at: save_encoder(encoder, at, about=about), whole_encoder),
        Kind("encoder, packed", lambda at: save_encoder(encoder, at, about=about, form="packed"), whole_encoder),
        Kind(
            "static vectors",
            lambda at: save_table(TableEncoder(torch.randn(len(vocabulary), 4), known_V, vocabulary), at),
            lambda at: [(found := open_table(at)).state_dict(), found.about, whole_vocabulary(found.vocabulary)],
        ),
        Kind(
            "representations, one file",
            lambda at: extract(encoder, lines["en"], language="en", out=at / "x.safetensors"),
            lambda at: whole_rows(at / "x.safetensors"),
        ),
        Kind(
            "representations, folder",
            lambda at: extract(encoder, lines["en"], language="en", pool="words", out=at),
            whole_rows,
        ),
        Kind(
            "language means",
            lambda at: LanguageMeans.fit(encoder, lines).save(at / "means.safetensors"),
            lambda at: means_of(LanguageMeans.load(at / "means.safetensors")),
        ),
        Kind(
            "token sets",
            lambda at: TokenSets.from_text(vocabulary, lines).save(at / "token_sets.json"),
            lambda at: [(found := TokenSets.load(at / "token_sets.json")).counts, found.about(), found.vocabulary],
        ),
        Kind(
            "token sets, compressed",
            lambda at: TokenSets.from_text(vocabulary, lines).save(at / "token_sets.json", compression="zstd"),
            lambda at: [(found := TokenSets.load(at / "token_sets.json")).counts, found.about(), found.vocabulary],
        ),
        Kind(
            "eraser",
            lambda at: LEACE().fit(np.concatenate([X, Y]), ["en"] * len(X) + ["fr"] * len(Y)).save(at),
            lambda at: LEACE.load(at).transform(X),
        ),
        Kind("maps with metrics", lambda at: save_maps(at, X, Y), lambda at: mapped(at, X)),
        Kind(
            "word aligner",
            lambda at: train_aligner(pairs, languages=("en", "fr")).save(at),
            lambda at: list(WordAligner.load(at).stream(pairs)),
        ),
        Kind(
            "experiment",
            lambda at: run_experiment(encoder, task, data["train"], data["dev"], data["test"], tuning, at),
            experiment,
        ),
        Kind("weights of an epoch", lambda at: KeptEpochs(at).put(1, weights), lambda at: KeptEpochs(at).get(1)),
        Kind(
            "point of map transfer",
            lambda at: MapPoints(at).put(point),
            lambda at: vars(MapPoints(at).get("monolingual", 1, 0)),
        ),
        Kind(
            "checkpoint",
            lambda at: Checkpoints(at).save(3, weights, weights, {"losses": [0.5]}),
            lambda at: (found := Checkpoints(at).at(3)).state | found.tensors("model.safetensors"),
        ),
        Kind(
            "identity of a run",
            lambda at: open_folder(at, identity, resume=False),
            lambda at: open_folder(at, identity, resume=True),
        ),
    ]


def whole_vocabulary(found: Vocabulary) -> list[Any]:
    counts = {code: found.counts(code) for code in found.languages}
    ids = {code: found.ids_of(code) for code in found.languages}
    return [found.hash, found.mode, found.languages, found.pieces, counts, ids, found.about]


def whole_shards(found: Shards) -> list[Any]:
    return [found.index, found.ids("train"), found.ids("dev"), *found.sentences()]


def whole_encoder(at: Path) -> list[Any]:
    found = open_encoder(at)
    told = [found.config.model_dump(mode="json"), found.provenance.facts()]
    return [
        told,
        dict(found.state_dict()),
        read_about(at),
        whole_vocabulary(found.vocabulary),
        found.provenance.facts(),
    ]


def whole_rows(at: Path) -> list[Any]:
    found = Representations.open(at)
    return [found.header, found.offsets, *(np.array(found[layer]) for layer in found.layers)]


def means_of(found: LanguageMeans) -> list[Any]:
    return [found.layers, *({code: found.mean(code, layer) for code in found.languages} for layer in found.layers)]


def save_maps(at: Path, X: np.ndarray, Y: np.ndarray) -> None:
    file = Procrustes().fit(X, Y).save(at / "layer-1.safetensors")
    layer = {"layer": 1, "file": file.name, "sha256": file_hash(file)}
    write_sealed(at / METRICS, {"languages": ["en", "fr"], "layers": [layer]})


def mapped(at: Path, X: np.ndarray) -> dict[int | None, np.ndarray]:
    return {layer: found.to_target(X) for layer, found in read_maps(at).items()}


def experiment(at: Path) -> list[Any]:
    """What is read back of an experiment: the model with its labels, the counts of sentences, the identity of a run."""
    compared = compare_experiments(at, at)
    run = next(at.glob("seed-*/*"))
    check_begun(run, {"task": "topic", "config": {}, "data": {}} | begun(run))
    found = load_tuned(run, device="cpu")
    kept = {number: found.epochs.get(number) for number in found.epochs.numbers()}
    head, own = dict(found.head.state_dict()), dict(found.encoder.state_dict())  # type: ignore[attr-defined]
    return [head, own, found.labels.names, found.history, found.languages, kept, [each.facts() for each in compared]]


def begun(run: Path) -> dict[str, Any]:
    from isoglot.core.files import read_json
    from isoglot.transfer.tuning.tuned_folder import IDENTITY

    try:
        found = read_json(run / IDENTITY)
    except IsoglotError:
        return {}
    return {key: found[key] for key in ("task", "config", "data") if isinstance(found, dict) and key in found}


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The same with one bit flipped, or cut short."""
    if rng.random() < 0.2 or not data:
        return data[: rng.randrange(max(len(data), 1))]
    at = rng.randrange(len(data))
    if rng.random() < 0.5:  # headers are short and numbers are many: half of all flips are near the beginning
        at = rng.randrange(min(len(data), 400))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


READ_BACK = {".json", ".safetensors", ".npy", ".bin", ".zst"}


def try_kind(kind: Kind, place: Path, changes: int, rng: random.Random) -> Counter[str]:
    """Damage one kind again and again; how often it was refused, had no effect, or went wrong."""
    folder = place / kind.name.replace(" ", "-").replace(",", "")
    folder.mkdir()
    kind.make(folder)
    whole = fingerprint(kind.read(folder))
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix in READ_BACK]
    seen: Counter[str] = Counter()
    for _ in range(changes):
        path = rng.choice(files)
        data = path.read_bytes()
        changed = damaged(data, rng)
        path.write_bytes(changed)
        try:
            after = fingerprint(kind.read(folder))
            outcome = "no effect" if after == whole else "CHANGED"
        except IsoglotError as error:
            outcome = "refused" if error.exit_code == 2 and "\n" not in str(error) else "BADLY SAID"
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            outcome = f"CRASHED {type(error).__name__}: {str(error)[:80]}"
        finally:
            path.write_bytes(data)
        seen[outcome if outcome in ("refused", "no effect") else f"{outcome} ({path.name})"] += 1
    return seen


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changes", type=int, default=1000, help="how many changes in all")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = random.Random(given.seed)  # noqa: S311 - no secret
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        every = kinds(Path(place))
        for number, kind in enumerate(every):
            count = given.changes * (number + 1) // len(every) - given.changes * number // len(every)
            seen = try_kind(kind, Path(place), count, rng)
            print(f"{kind.name}: " + ", ".join(f"{outcome} {n}" for outcome, n in seen.items()), flush=True)
            total += seen
    print("in all: " + ", ".join(f"{outcome} {n}" for outcome, n in total.items()))
    return 0 if set(total) <= {"refused", "no effect"} else 1


if __name__ == "__main__":
    sys.exit(main())
