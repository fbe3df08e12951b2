"""Training of static vectors (Word2Vec, GloVe, fastText) on shards, from top to bottom.

The folder of a run::

    training.json            settings and hashes of the data, written first: --resume must be given the same
    run.json                 the run record
    work/                    the token stream and GloVe's co-occurrences; removed at the end
    checkpoints/             the newest states between epochs; removed at the end
    static.json, …           the vectors, written at the end
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch

from isoglot.core.artifact import read_sealed, write_sealed
from isoglot.core.errors import ConfigError, InputError
from isoglot.core.files import file_hash, writable_folder
from isoglot.core.folders import sweep
from isoglot.core.optional import COMPILED
from isoglot.core.progress import SILENT, Progress, Say, say_nothing
from isoglot.core.run import RECORD, read_record, record_run
from isoglot.model.static_table import INDEX as FINISHED
from isoglot.model.static_table import TableEncoder, open_table, save_table
from isoglot.pretrain.config import check_shards
from isoglot.pretrain.run_folder import FOLDER, MODEL, Checkpoints, check_same
from isoglot.static.config import FastTextConfig, GloveConfig, StaticConfig, Word2VecConfig
from isoglot.static.counting import count_pairs, merged
from isoglot.static.gensim_models import GensimModel
from isoglot.static.glove import Blocks, Glove, open_blocks, write_blocks
from isoglot.static.token_stream import Stream, frequent, read_stream
from isoglot.text.provenance import merged as merged_provenance
from isoglot.vocab.shards import INDEX as SHARDS_INDEX

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from isoglot.vocab import Shards, Vocabulary

IDENTITY = "training.json"
WORK = "work"
_STREAM, _RUNS, _PAIRS = "stream.bin", "runs", "pairs"
_OF_OTHERS = (WORK, FOLDER, FINISHED, "encoder.json", "pretrain.json")
"""Names that show, without ``training.json``, that a folder holds another run."""
_FORMAT = 1
KINDS: dict[str, type[StaticConfig]] = {"word2vec": Word2VecConfig, "glove": GloveConfig, "fasttext": FastTextConfig}


@dataclass(frozen=True)
class Learned:
    """Result of training static vectors."""

    table: TableEncoder
    """The vectors, as an encoder with layer 0 only."""
    out: Path
    """The folder they were written to."""
    facts: dict[str, Any]
    """Settings, losses and sizes, as JSON values."""


@dataclass(frozen=True)
class _Training:
    """Input of a training method."""

    stream: Stream
    names: list[str]
    folder: Path
    checkpoints: Checkpoints
    workers: int
    stop_after: int | None
    progress: Progress

    def train(
        self,
        config: StaticConfig,
        model: Glove | GensimModel,
        restore: Callable[[dict[str, np.ndarray], dict[str, Any]], None],
        learn: Callable[[], object],
    ) -> bool:
        """Train from the newest checkpoint on, with a checkpoint where one is due; returns whether all is done."""
        last = self.checkpoints.newest()
        if last is not None:
            restore({name: tensor.numpy() for name, tensor in last.tensors(MODEL).items()}, last.state)
        end = config.epochs if self.stop_after is None else min(config.epochs, self.stop_after)
        while model.epoch < end:
            learn()
            if model.epoch % config.checkpoint_every == 0 or model.epoch == self.stop_after:
                tensors = {name: torch.from_numpy(array) for name, array in model.arrays().items()}
                self.checkpoints.save(model.epoch, tensors, {}, model.state())
        return model.epoch >= config.epochs


def train_static(
    config: StaticConfig,
    shards: Mapping[str, Shards],
    vocabulary: Vocabulary,
    out: str | Path,
    *,
    workers: int = 1,
    resume: bool = False,
    stop_after: int | None = None,
    progress: Progress = SILENT,
    say: Say = say_nothing,
) -> Learned | None:
    """Train a vector for every frequent subword, on all languages together.

    Args:
        config: A :class:`GloveConfig`, :class:`Word2VecConfig` or :class:`FastTextConfig`.
        shards: The shards of each language.
        vocabulary: The vocabulary they were built with.
        out: The folder of the run.
        workers: Number of threads. GloVe's result does not depend on it; gensim's is reproducible with one only.
        resume: Resume the run in the folder; with one worker it ends with the same bits as an uninterrupted one.
        stop_after: Number of epochs after which to stop with a checkpoint.
        progress: Progress reporter.
        say: Receives messages for the user.

    Returns:
        The result; None if it was stopped before the end.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from isoglot.vocab import build_shards, train_vocabulary
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder, text = Path(name), Path(name) / "en.txt"
    ...     _ = text.write_text("the house is old " * 20, encoding="utf-8")
    ...     vocabulary = train_vocabulary({"en": [text]}, mode="joint", size=300)
    ...     shards = build_shards([text], vocabulary, "en", folder / "shards", window=8)
    ...     config = GloveConfig(dimensions=4, min_count=1, epochs=1)
    ...     learned = train_static(config, {"en": shards}, vocabulary, folder / "glove")
    >>> learned.table.hidden_size, learned.table.depth
    (4, 0)

    Raises:
        ConfigError: The folder holds another run, or shards do not fit their names or the vocabulary.
        InputError: There is no text to train on.
        MissingPartError: gensim is needed and not installed.
        StorageError: The folder cannot be written to.
    """
    out = Path(out)
    check_shards(shards, vocabulary)
    if isinstance(config, GloveConfig) and not COMPILED:
        say("numba is not installed, so this takes a hundred times as long; pip install 'isoglot[static]'")
    counts = frequent(shards, vocabulary, config.min_count)
    method = next(name for name, kind in KINDS.items() if type(config) is kind)
    identity = {
        "format": _FORMAT,
        "config": {"method": method, **config.model_dump(mode="json")},
        "data": {
            "vocabulary": vocabulary.hash,
            "shards": {code: file_hash(one.folder / SHARDS_INDEX) for code, one in shards.items()},
        },
    }
    _open_folder(out, identity, resume=resume)
    if (out / FINISHED).exists():
        table = open_table(out)
        _clear(out)  # left by a run killed between its last two steps
        return Learned(table, out, dict(table.about))
    with record_run(out, seed=config.seed, config=config, device="cpu") as run:
        for one in shards.values():
            run.add_input(one.folder / SHARDS_INDEX)
        folder = writable_folder(out / WORK)
        stream = read_stream(shards, counts, boundary=config.boundary, file=folder / _STREAM)
        names = [vocabulary.pieces[index] for index in stream.ids_V.tolist()]
        work = _Training(stream, names, folder, Checkpoints(out), workers, stop_after, progress)
        found = _train_glove(config, work) if isinstance(config, GloveConfig) else _train_gensim(config, work)
        for line in work.checkpoints.rejected:
            say(line)
        if found is None:
            return None
        vectors_VD, facts = found
        languages = {code: int(one.index["counts"]["train"]["tokens"]) for code, one in shards.items()}
        about = {**identity["config"], "tokens": languages, "known": len(stream.ids_V), **facts}  # type: ignore[dict-item]
        table = _as_encoder(vectors_VD, stream, vocabulary, about)
        table.provenance = merged_provenance([vocabulary.provenance, *(one.provenance for one in shards.values())])
        for file in save_table(table, out):
            run.add_output(file)
    del stream, work, found
    _clear(out)
    return Learned(table, out, about)


def _open_folder(out: Path, identity: Mapping[str, Any], *, resume: bool) -> None:
    """Start a run in a folder or resume the same run; files of anything else are not touched."""
    path = writable_folder(out) / IDENTITY
    if not path.exists():
        for name in _OF_OTHERS:
            if (out / name).exists():
                raise ConfigError(f"{out} holds {name} of another run", "name another --out", "would-overwrite")
        write_sealed(path, identity)
        return
    there = read_sealed(path, {"config": dict, "data": dict}, remedy="name another --out")
    if _has_no_checkpoint(out):
        if there != identity:
            _clear(out)
            write_sealed(path, identity)
        return
    if not resume:
        state = "already" if (out / FINISHED).exists() else "of an unfinished run"
        problem = f"{out} holds static vectors {state}"
        raise ConfigError(problem, "resume with --resume, or name another --out", "run-exists")
    parts = {"config": "was begun with other settings: ", "data": "was begun with other data: "}
    check_same(out, there, identity, parts)
    sweep(out / FOLDER)


def _has_no_checkpoint(out: Path) -> bool:
    """Whether an earlier run ended before its first checkpoint; one that may still be running has not ended."""
    if (out / FINISHED).exists() or any((out / FOLDER).glob("step-*")) or not (out / RECORD).exists():
        return False
    return (read_record(out) or {}).get("status") != "running"


def _clear(out: Path) -> None:
    """Remove the intermediate files of a run, and nothing else."""
    made = [out / WORK / name for name in (_STREAM, _RUNS, _PAIRS)]
    for path in (*made, *(out / FOLDER).glob("step-*")):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    for folder in (out / WORK, out / FOLDER):
        with suppress(OSError):  # not there, or something else is in it
            folder.rmdir()


def _train_glove(config: GloveConfig, work: _Training) -> tuple[np.ndarray, dict[str, Any]] | None:
    blocks = _cooccurrences(config, work)
    glove = Glove.begin(blocks.types, config.dimensions, config.seed)
    learn = partial(glove.learn_epoch, blocks, config, workers=work.workers, progress=work.progress)
    if not work.train(config, glove, glove.restore, learn):
        return None
    return glove.vectors(config.vectors), {"pairs": len(blocks), "losses": glove.losses}


def _cooccurrences(config: GloveConfig, work: _Training) -> Blocks:
    """Count co-occurrences, or open those of an interrupted run."""
    folder = work.folder / _PAIRS
    blocks = open_blocks(folder)
    if blocks is None:
        runs = work.folder / _RUNS
        counts = count_pairs(
            work.stream,
            runs,
            window=config.window,
            weighting=config.weighting,
            chunk=config.chunk_size,
            workers=work.workers,
            progress=work.progress,
        )
        weighed = {"x_max": config.x_max, "alpha": config.alpha}
        write_blocks(merged(counts), len(work.stream.ids_V), folder, **weighed, progress=work.progress)
        shutil.rmtree(runs, ignore_errors=True)
        blocks = open_blocks(folder)
    if not blocks:
        problem = f"no co-occurrences among {len(work.stream):,} subwords"
        raise InputError(problem, "give text with longer documents", "too-few")
    return blocks


def _train_gensim(config: StaticConfig, work: _Training) -> tuple[np.ndarray, dict[str, Any]] | None:
    model = GensimModel(work.stream, work.names, cast("Word2VecConfig", config), workers=work.workers)
    learn = partial(model.learn_epoch, progress=work.progress)
    return (model.vectors(), {}) if work.train(config, model, model.restore, learn) else None


def _as_encoder(
    vectors_VD: np.ndarray, stream: Stream, vocabulary: Vocabulary, about: Mapping[str, Any]
) -> TableEncoder:
    whole = torch.zeros(len(vocabulary), vectors_VD.shape[1])
    whole[stream.ids_V] = torch.from_numpy(np.ascontiguousarray(vectors_VD))
    known = torch.zeros(len(vocabulary), dtype=torch.bool)
    known[stream.ids_V] = True
    return TableEncoder(whole, known, vocabulary, about).eval()
