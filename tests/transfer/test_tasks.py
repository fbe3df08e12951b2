"""Tasks: gold in is 100 out, nothing is lost in silence, and what is wrong with a file is said in one line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isoglot.transfer.tasks.task import Data, Labels, Parsed, Passage, Tagged, find_task, known_tasks
from isoglot.transfer.tasks.word_tasks import Entities, PartOfSpeech
from isoglot.vocab.word_reader import Reader, written
from tests.errors import raises

NAMES = ("nli", "ner", "parse", "pos", "topic")


def gold_through(task, examples, reader: Reader):
    """The examples after what is to be learned of them was taken for what was decoded."""
    labels = task.learned_labels([Data(examples)])
    rows = task.rows(examples, reader, labels, purpose="learn")
    return task.predicted(examples, rows, [row.targets_WK for row in rows.rows], labels), rows


@pytest.mark.parametrize("language", ["en", "en-x-shift", "en-x-order", "fr", "zh"])
@pytest.mark.parametrize("name", NAMES)
def test_gold_decodes_to_a_hundred(name, language, vocabulary):
    task = find_task(name)
    examples = task.builtin(language, "train", 60, seed=3).examples
    reader = Reader(vocabulary, language if language in vocabulary.languages else "en", 64)
    predicted, rows = gold_through(task, examples, reader)
    assert task.score(examples, predicted).main == 100
    assert predicted == list(examples)
    assert len({row.example for row in rows.rows}) == 60


@pytest.mark.parametrize("name", ["ner", "pos"])
def test_long_sentences_are_tagged_in_windows(name, vocabulary):
    task = find_task(name)
    examples = task.builtin("en", "train", 60, seed=3).examples
    predicted, rows = gold_through(task, examples, Reader(vocabulary, "en", 9))
    assert predicted == list(examples)
    assert 0 < rows.counts["split"] < len(rows.rows) - 60 + rows.counts["split"]


def test_long_sentences_are_not_learned_but_parsed_in_pieces(vocabulary):
    task = find_task("parse")
    examples = task.builtin("en", "train", 40, seed=3).examples
    labels, reader = task.learned_labels([Data(examples)]), Reader(vocabulary, "en", 12)
    learned, tested = (task.rows(examples, reader, labels, purpose=purpose) for purpose in ("learn", "test"))
    assert learned.counts["left out"] == tested.counts["split"] > 0
    assert len(learned.rows) == 40 - learned.counts["left out"]
    chains = [np.array([(index, 0) for index in range(-1, len(row.places_W) - 1)]) for row in tested.rows]
    for example in task.predicted(examples, tested, chains, labels):
        assert example.heads.count(0) == 1
        assert len(example.heads) == len(example.words)
    pieces = [row for row in tested.rows if row.first]
    assert pieces
    joint = task.predicted(examples, tested, chains, Labels(("parataxis", "root")))[pieces[0].example]
    assert (joint.heads[pieces[0].first], joint.relations[pieces[0].first]) == (1, "parataxis")
    joint = task.predicted(examples, tested, chains, Labels(("root", "nsubj")))[pieces[0].example]
    assert joint.relations[pieces[0].first] == "dep"  # never root, which is another word's


def test_long_pairs_are_truncated_the_longer_first(vocabulary):
    task = find_task("nli")
    pair = Passage(("The old woman sees the small cat in the house .", "She sees ."), "neutral")
    rows = task.rows([pair], Reader(vocabulary, "en", 12), Labels(("neutral",)), purpose="learn")
    second = vocabulary.encode("She sees .", "en")
    assert rows.counts["truncated"] == 1
    assert len(rows.rows[0].ids_N) == 12
    assert rows.rows[0].ids_N.tolist()[-len(second) - 1 : -1] == second


@pytest.mark.parametrize("name", ["ner", "parse"])
def test_a_word_longer_than_a_window_is_truncated_and_counted(name, vocabulary):
    task, long = find_task(name), "Xyzzy" * 30
    examples = [
        Tagged(words, ("O",) * len(words))
        if name == "ner"
        else Parsed(words, (*range(len(words)),), ("root",) * len(words))
        for words in ((long,), ("Eva", long, "sees"), ("Eva",))
    ]
    rows = task.rows(examples, Reader(vocabulary, "en", 64), Labels(("O", "root")), purpose="test")
    assert (rows.counts["truncated"], rows.counts["split"]) == (2, 1)
    assert max(len(row.ids_N) for row in rows.rows) == 64
    rows = task.rows(examples, Reader(vocabulary, "en", 512), Labels(("O", "root")), purpose="test")
    assert (rows.counts["truncated"], rows.counts["split"]) == (0, 0)


@pytest.mark.parametrize("example", [Tagged(()), Parsed(())])
def test_empty_sentences_have_nothing_predicted(example, vocabulary):
    task = find_task("ner" if isinstance(example, Tagged) else "parse")
    full = type(example)(("Eva",), ("O",)) if isinstance(example, Tagged) else Parsed(("Eva",), (0,), ("root",))
    rows = task.rows([example, full], Reader(vocabulary, "en", 16), Labels(("O", "root")), purpose="test")
    assert (rows.counts["empty"], len(rows.rows)) == (1, 1)
    decoded = [np.zeros((len(rows.rows[0].places_W), 2), dtype=np.int64)]
    assert task.predicted([example, full], rows, decoded, Labels(("O", "root")))[0] == example


def test_labels_on_characters_move_to_tokens_and_back(vocabulary):
    """WikiAnn's Chinese: one character a word."""
    task = Entities()
    words = task.builtin("zh", "train", 80, seed=1).examples
    examples = [
        Tagged(tuple("".join(e.words)), tuple(task.ungrouped(e.tags, [len(word) for word in e.words]))) for e in words
    ]
    predicted, rows = gold_through(task, examples, Reader(vocabulary, "zh", 64))
    assert rows.counts["joined"] > 0
    assert len(rows.units) > 0
    score = task.score(examples, predicted)
    assert score.main >= 80
    grown = rows.counts["spans grown"] + rows.counts["spans lost"]
    assert score.main == 100 or grown > 0


def test_entities_are_predicted_as_they_are_scored(vocabulary):
    """A span that begins with I- gets its B-, also over the border of two windows."""
    task, labels = Entities(), Labels(("B-ORG", "I-LOC", "I-ORG", "O"))
    example = Tagged(("The", "old", "woman", "sees", "the", "small", "cat"))
    rows = task.rows([example], Reader(vocabulary, "en", 6), labels, purpose="test")
    assert rows.counts["split"] == 1
    found = dict(enumerate([3, 2, 1, 3, 0, 2, 2]))
    decoded = [np.array([[found[row.first + place]] for place in range(len(row.places_W))]) for row in rows.rows]
    (predicted,) = task.predicted([example], rows, decoded, labels)
    assert predicted.tags == ("O", "B-LOC", "I-LOC", "O", "B-ORG", "I-ORG", "I-ORG")


# --- files ---


def test_what_files_hold(tmp_path: Path):
    (tmp_path / "ner").write_text("en:Eva\tB-PER\nen:sleeps\tO\n\nen:Bonn\tB-LOC\n")
    (tmp_path / "nli").write_text("premise\thypothesis\tlabel\nIt rains.\tIt is wet.\tneutral\n")
    (tmp_path / "ud").write_text(
        "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\tde\tADP\t_\t_\t2\tcase:x\t_\t_\n"
        "2\tle\tle\tDET\t_\t_\t0\troot\t_\tSpaceAfter=No\n\n"
    )
    (tmp_path / "topic").write_text("The ship sails.\tsea\n")
    assert find_task("ner").read(tmp_path / "ner", "en").examples == (
        Tagged(("Eva", "sleeps"), ("B-PER", "O")),
        Tagged(("Bonn",), ("B-LOC",)),
    )
    assert find_task("nli").read(tmp_path / "nli", "en").examples == (Passage(("It rains.", "It is wet."), "neutral"),)
    (tree,) = find_task("parse").read(tmp_path / "ud", "fr").examples
    assert (tree.words, tree.heads, tree.relations) == (("de", "le"), (2, 0), ("case", "root"))
    assert find_task("pos").read(tmp_path / "ud", "fr").examples[0].tags == ("ADP", "DET")
    assert find_task("topic").read(tmp_path / "topic", "en").examples == (Passage(("The ship sails.",), "sea"),)


CONTRACTED = (
    "1-2\tdidn't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n1\tdid\tdo\tAUX\t_\t_\t0\troot\t_\t_\n"
    "2\tn't\tnot\tPART\t_\t_\t1\tadvmod\t_\t_\n3\t,\t,\tPUNCT\t_\t_\t1\tpunct\t_\t_\n"
    "4-6\tdámelo\t_\t_\t_\t_\t_\t_\t_\t_\n4\tda\tdar\tVERB\t_\t_\t1\tobj\t_\t_\n"
    "5\tme\tyo\tPRON\t_\t_\t4\tiobj\t_\t_\n6\tlo\tél\tPRON\t_\t_\t4\tobj\t_\t_\n"
    "7-8\tlet's\t_\t_\t_\t_\t_\t_\t_\t_\n7\tlet\tlet\tVERB\t_\t_\t1\tobj\t_\t_\n8\t's\twe\tPRON\t_\t_\t7\tobj\t_\t_\n\n"
)


@pytest.mark.parametrize("name", ["parse", "pos"])
def test_multiword_tokens_are_read_as_they_are_written(name, tmp_path: Path):
    (tmp_path / "ud").write_text(CONTRACTED)
    (found,) = find_task(name).read(tmp_path / "ud", "en").examples
    assert written(found.words, found.blanks)[0] == "didn't, da me lo let's"


def test_pairs_of_one_language_in_a_file_of_several(tmp_path: Path):
    path = tmp_path / "xnli.tsv"
    path.write_text("language\tgold_label\tsentence1\tsentence2\nfr\tneutral\ta\tb\nde\tcontradiction\tc\td\n")
    data = find_task("nli").read(path, "de")
    assert data.examples == (Passage(("c", "d"), "contradiction"),)
    with raises("input.unknown-label", path, "'contradiction'"):
        find_task("nli").unseen_labels(data, Labels(("neutral",)), "refuse")


@pytest.mark.parametrize(
    ("name", "text", "known", "line"),
    [
        ("ner", "A\tO\n\nB\tO\nC\tB-DATE\n", ("O", "B-PER"), 4),
        ("ner", "-DOCSTART- O\n\nA O\n\nB O\nC B-DATE\n", ("O", "B-PER"), 6),
        ("nli", "premise\thypothesis\tlabel\na\tb\tneutral\nc\td\tcontradiction\n", ("neutral", "entailment"), 3),
        ("topic", "a\tsea\nb\tsky\n", ("sea", "city"), 2),
        ("pos", "1\ta\ta\tADP\t_\t_\t2\tcase\t_\t_\n2\tb\tb\tNOUN\t_\t_\t0\troot\t_\t_\n", ("ADP", "X"), 2),
        ("parse", "1\ta\ta\tADP\t_\t_\t2\tcase\t_\t_\n2\tb\tb\tNOUN\t_\t_\t0\troot\t_\t_\n", ("case", "det"), 2),
    ],
)
def test_a_label_that_training_does_not_have(name, text, known, line, tmp_path: Path):
    path = tmp_path / "test.tsv"
    path.write_text(text)
    task = find_task(name)
    data = task.read(path, "en")
    with raises("input.unknown-label", "unseen_labels=count", file=path, line=line):
        task.unseen_labels(data, Labels(known), "refuse")
    assert sum(task.unseen_labels(data, Labels(known), "count").values()) == 1


def test_one_label_is_nothing_to_learn():
    with raises("input.too-few", "'O'"):
        find_task("ner").learned_labels([Data([Tagged(("a",), ("O",))])])
    with raises("input.too-few"):
        find_task("ner").learned_labels([Data([])])


def test_a_topic_without_a_tab(tmp_path: Path):
    (tmp_path / "a.tsv").write_text("The ship sails.\n")
    with raises("input.malformed-line", "a.tsv", "'The ship sails.'", line=1):
        find_task("topic").read(tmp_path / "a.tsv", "en")


def test_the_registry():
    assert set(NAMES) <= set(known_tasks())
    with raises("config.unknown-name", "'nre'", "'ner'"):
        find_task("nre")
    with raises("config.built-in-language", "sw"):
        list(find_task("ner").builtin("sw", "train", 1).examples)


def test_scores_need_a_prediction_for_each():
    with raises("input.row-count", 0, 1):
        find_task("topic").score([Passage(("a",), "b")], [])


def test_words_that_share_a_token_have_the_tag_of_the_first_unless_a_task_says_otherwise():
    task, sentence = PartOfSpeech(), Tagged(("a", "b", "c", "d"), ("X", "Y", "Z", "Y"))
    assert task.grouped(sentence, [1, 2, 1]) == (replace(sentence, tags=("X", "Y", "Y")), {})
    assert task.ungrouped(["X", "Y", "Y"], [1, 2, 1]) == ["X", "Y", "Y", "Y"]
