"""Files of predictions against gold files: the scorers' numbers, and files that do not belong together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from seqeval.metrics import f1_score  # type: ignore[import-untyped]

from isoglot.core.errors import InputError
from isoglot.text.formats.conll import write_tagged
from isoglot.transfer import find_task
from isoglot.transfer.scoring.evaluation import score_files
from tests.errors import raises

GOLD = """\
1\tEva\t_\tPROPN\t_\t_\t2\tnsubj:pass\t_\t_
2\tsleeps\t_\tVERB\t_\t_\t0\troot\t_\t_
3\twell\t_\tADV\t_\t_\t2\tadvmod\t_\t_
4\t.\t_\tPUNCT\t_\t_\t2\tpunct\t_\t_

"""


@pytest.fixture
def files(tmp_path: Path):
    """``files(gold, predicted)``: their paths."""

    def write(gold: str, predicted: str, suffix: str = "conllu") -> tuple[Path, Path]:
        paths = tmp_path / f"gold.{suffix}", tmp_path / f"predicted.{suffix}"
        for path, text in zip(paths, (gold, predicted), strict=True):
            path.write_text(text, encoding="utf-8")
        return paths

    return write


def test_subtypes_of_relations_are_a_switch(files):
    gold, predicted = files(GOLD, GOLD.replace("nsubj:pass", "nsubj"))
    parse = find_task("parse")
    universal = score_files(parse, gold, predicted, "en")
    full = score_files(parse, gold, predicted, "en", relations="full")
    assert (universal.scores.main, full.scores.main) == (100.0, 75.0)
    assert full.scores.values["uas"] == 100.0
    assert full.scores.values["las without punctuation"] == pytest.approx(100 * 2 / 3)


def test_parts_of_speech(files):
    gold, predicted = files(GOLD, GOLD.replace("ADV", "NOUN"))
    found = score_files(find_task("pos"), gold, predicted, "en")
    assert (found.metric, found.scores.main, found.sentences) == ("accuracy", 75.0, 1)


def test_entities_as_seqeval_counts_them(tmp_path: Path):
    gold = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-ORG", "I-ORG", "O"], ["B-LOC", "O"]]
    predicted = [["B-PER", "I-PER", "O", "B-ORG"], ["O", "B-ORG", "O", "O"], ["B-LOC", "B-PER"]]
    paths = bio_files(tmp_path, gold, predicted)
    found = score_files(find_task("ner"), paths[0], paths[1], "en")
    assert found.scores.main == pytest.approx(100 * f1_score(gold, predicted))
    assert found.interval.low <= found.scores.main <= found.interval.high


def bio_files(folder: Path, gold: list[list[str]], predicted: list[list[str]]) -> tuple[Path, Path]:
    paths = folder / "gold.tsv", folder / "predicted.tsv"
    for path, tags in zip(paths, (gold, predicted), strict=True):
        write_tagged(path, [[(f"w{n}", tag) for n, tag in enumerate(some)] for some in tags])
    return paths


def test_tags_that_are_no_proper_bio_are_scored_as_they_are_unless_repaired(isoglot, tmp_path: Path):
    gold = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-ORG", "I-ORG", "O"], ["B-LOC", "O"]]
    predicted = [["I-PER", "I-PER", "O", "B-LOC"], ["O", "B-LOC", "I-ORG", "O"], ["B-LOC", "I-PER"]]
    paths = bio_files(tmp_path, gold, predicted)
    ner = find_task("ner")
    raw, fixed = score_files(ner, *paths, language="en"), score_files(ner, *paths, language="en", repair="wu2020")
    assert raw.scores.main == pytest.approx(100 * f1_score(gold, predicted))
    repaired = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-ORG", "I-ORG", "O"], ["B-PER", "I-PER"]]
    assert fixed.scores.main == pytest.approx(100 * f1_score(gold, repaired))
    assert raw.scores.main != fixed.scores.main
    assert [(one.repair, one.malformed) for one in (raw, fixed)] == [("none", 3), ("wu2020", 3)]
    for options, kind in (((), "none"), (("--repair", "wu2020"), "wu2020")):
        verb = ("transfer", "score", "ner", *map(str, paths), *options)
        assert json.loads(isoglot(*verb, "--json").out)["repair"] == kind
        printed = isoglot(*verb).out
        assert ("as they are" in printed, "Wu et al." in printed) == (kind == "none", kind == "wu2020")
        assert "3 of 3" in printed
    with raises("config.conflicting-options", "wu2020", "pos"):
        score_files(find_task("pos"), *paths, language="en", repair="wu2020")


@pytest.mark.parametrize("change", [("0\troot", "1\troot"), ("2\tadvmod", "0\tadvmod")], ids=["a cycle", "two roots"])
def test_heads_that_are_no_tree_are_scored_word_by_word(isoglot, files, change):
    gold, predicted = files(GOLD, GOLD.replace(*change))
    found = score_files(find_task("parse"), gold, predicted, "en")
    assert (found.scores.main, found.scores.values["uas"], found.malformed) == (75.0, 75.0, 1)
    assert "1 of 1" in isoglot("transfer", "score", "parse", str(gold), str(predicted)).out
    with pytest.raises(InputError):  # the gold is a tree
        score_files(find_task("parse"), predicted, gold, "en")


@pytest.mark.parametrize("task", ["parse", "pos"])
@pytest.mark.parametrize(
    ("change", "code", "value"),
    [
        (lambda text: text.replace("well", "badly"), "input.other-data", "'badly'"),
        (lambda text: text + text, "input.line-count", 2),
        (lambda _: GOLD[:0], "input.line-count", 1),
    ],
)
def test_files_that_do_not_belong_together(task, change, code, value, files):
    gold, predicted = files(GOLD, change(GOLD))
    with raises(code, value) as caught:
        score_files(find_task(task), gold, predicted, "en")
    assert caught.value.file is not None


def test_the_verb(isoglot, files):
    gold, predicted = files(GOLD, GOLD.replace("2\tadvmod", "1\tadvmod"))
    result = isoglot("transfer", "score", "parse", str(gold), str(predicted))
    assert result.code == 0
    assert result.out.split()[:2] == ["score", "value"]
    assert "las" in result.out
    assert "75.0" in result.out
    wrong = isoglot("transfer", "score", "parse", str(gold), str(gold.parent / "none.conllu"))
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
