"""Our scores of real files beside those of others: seqeval for entities, the CoNLL 2018 evaluation (udtools) for trees.

    python benchmarks/scorers.py DATA    # every CoNLL-U file and every file of BIO columns (.tsv) below DATA

Neither is part of isoglot; what is not installed (``pip install seqeval udtools``) is not asked. Predictions are the
gold with errors: a share of the tags resampled, proper BIO or not, scored as they are and repaired; the best trees of
noise with a number more for the gold head, and a share of the relations resampled. Any difference stops the program.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from importlib import import_module
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.core.errors import InputError
from isoglot.text.formats.conll import Tree, read_conllu, read_tagged, write_conllu
from isoglot.transfer.predict import tree_of
from isoglot.transfer.scoring.metrics import repaired, span_score, tree_score
from isoglot.transfer.scoring.trees import spanning_trees
from isoglot.transfer.tasks.task import Parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SHARES = (0.02, 0.2, 0.7)  # of tags and relations that are resampled
BONUS = (12.0, 5.0, 0.0)  # of gold heads over noise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="a folder")
    files = sorted(path for path in parser.parse_args().data.rglob("*") if path.is_file())
    seqeval, udeval = _peer("seqeval.metrics"), _peer("udtools.udeval")
    for path in files:
        if ".conllu" in path.suffixes and udeval:
            _compare_trees(path, udeval)
        elif ".tsv" in path.suffixes and seqeval:
            try:
                gold = [[tag for _, tag in sentence] for sentence in read_tagged(path)]
            except InputError:
                continue  # another kind of table
            _compare_spans(path, gold, seqeval)


def _peer(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        print(f"{name.partition('.')[0]} is not installed, and not asked")
        return None


def _compare_spans(path: Path, gold: list[list[str]], peer: Any) -> None:
    tags = sorted({tag for sentence in gold for tag in sentence})
    kinds = {tag[2:] for tag in tags if tag != "O"}
    for share in SHARES:
        chance = np.random.default_rng(0)
        drawn = [
            [tags[int(chance.integers(len(tags)))] if chance.random() < share else tag for tag in sentence]
            for sentence in gold
        ]
        for name, predicted in (("as they are", drawn), ("repaired", [repaired(sentence) for sentence in drawn])):
            ours, mine = _timed(span_score, gold, predicted)
            report, its = _timed(partial(peer.classification_report, output_dict=True), gold, predicted)
            for kind in (*sorted(kinds), "micro avg"):
                found, theirs = ours.by_kind.get(kind, ours.counts), report[kind]
                _same(path, kind, found.precision, 100 * theirs["precision"])
                _same(path, kind, found.recall, 100 * theirs["recall"])
                _same(path, kind, found.f1, 100 * theirs["f1-score"])
            print(
                f"{path.name}: {len(gold):,} sentences, {share:.0%} of tags drawn, {name}: "
                f"F1 {ours.counts.f1:.2f} in both, of {len(kinds)} kinds too; {mine:.2f} s, seqeval {its:.2f} s"
            )


def _compare_trees(path: Path, peer: Any) -> None:
    gold = list(read_conllu(path))
    relations = sorted({word.deprel for tree in gold for word in tree.words})
    for share, bonus in zip(SHARES, BONUS, strict=True):
        chance = np.random.default_rng(0)
        predicted = [_parsed(tree, relations, share, bonus, chance) for tree in gold]
        ours, mine = _timed(tree_score, gold, predicted)
        texts = [_written(trees) for trees in (gold, predicted)]
        found, its = _timed(_official, peer, *texts)
        _same(path, "UAS", ours.value("uas"), 100 * found["UAS"].f1)
        _same(path, "LAS", ours.value("las"), 100 * found["LAS"].f1)
        print(
            f"{path.name}: {len(gold):,} trees, {share:.0%} of relations drawn, gold heads + {bonus:g}: "
            f"UAS {ours.value('uas'):.2f}, LAS {ours.value('las'):.2f} in both; {mine:.2f} s, udtools {its:.2f} s"
        )


def _parsed(tree: Tree, relations: Sequence[str], share: float, bonus: float, chance: np.random.Generator) -> Tree:
    size = len(tree.words)
    scores_TT = 1.5 * chance.standard_normal((size + 1, size + 1))
    scores_TT[np.arange(1, size + 1), [word.head for word in tree.words]] += bonus
    heads = spanning_trees(scores_TT[None], np.array([size]))[0][1 : size + 1].tolist()
    labels = [
        relations[int(chance.integers(len(relations)))] if chance.random() < share else word.deprel
        for word in tree.words
    ]
    return tree_of(Parsed(tuple(word.form for word in tree.words), tuple(heads), tuple(labels), tree=tree))


def _written(trees: Sequence[Tree]) -> str:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trees.conllu"
        write_conllu(path, trees)
        return path.read_text(encoding="utf-8")


def _official(peer: Any, gold: str, predicted: str) -> Any:
    return peer.evaluate(*(peer.load_conllu(StringIO(text), "", {}) for text in (gold, predicted)))


def _timed(work: Callable[..., Any], *given: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    found = work(*given)
    return found, time.perf_counter() - start


def _same(path: Path, what: str, ours: float, theirs: float) -> None:
    assert abs(ours - theirs) < 1e-9, f"{path}: {what} is {ours} by ours and {theirs} by theirs"


if __name__ == "__main__":
    main()
