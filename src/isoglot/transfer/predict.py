"""Predictions for new text, written as CoNLL-U, BIO columns or JSON lines.

Input is text, one sentence per line, or words of a treebank (``.conllu``) or of tab-separated columns; for tasks on
pairs, two tab-separated texts. Running text is segmented into words by its language.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.errors import ConfigError, InputError, shown
from isoglot.core.files import read_text
from isoglot.core.progress import SILENT, Progress, Say, say_nothing
from isoglot.text.cleaning.segmentation import segmenter, word_method, word_spans
from isoglot.text.formats.conll import (
    NO_HEAD,
    Tree,
    TreeWord,
    blank_columns,
    find_prefix,
    read_conllu,
    read_tokens,
    write_conllu,
)
from isoglot.text.formats.lines import line_writer, read_lines
from isoglot.transfer.tasks.classification import Classification
from isoglot.transfer.tasks.task import Kind, Parsed, Passage, Tagged, Task
from isoglot.transfer.tasks.word_tasks import blanks_of
from isoglot.transfer.tuning.fine_tuning import events_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.transfer.tuning.tuned_encoder import Tuned

    Example = Passage | Tagged | Parsed

Format = Literal["conllu", "bio", "json"]
"""A treebank, one word and tag per line, or one JSON object per line."""
FORMATS: dict[Kind, tuple[Format, ...]] = {
    "classification": ("json",),
    "tagging": ("bio", "conllu", "json"),
    "parsing": ("conllu", "json"),
}
_WITH_WORDS: dict[Kind, type[Tagged | Parsed]] = {"tagging": Tagged, "parsing": Parsed}


def read_unlabeled(
    task: Task[Any], path: str | Path, language: str, *, counts: Counter[str] | None = None, say: Say = say_nothing
) -> list[Example]:
    """Read examples without labels from a file.

    Args:
        task: The task.
        path: Text, one sentence per line; or a treebank, or tab-separated columns, whose words are used as they are.
        language: Language of the text, which selects the word segmentation.
        counts: Counter to which skipped blank lines are added.
        say: Called with a remark if the lines of a text look like columns.

    Raises:
        InputError: The file is malformed or empty.
        StorageError: The file cannot be read.
    """
    if task.kind != "classification" and _is_treebank(path):
        found: list[Example] = [
            _WITH_WORDS[task.kind](tuple(word.form for word in tree.words), blanks=blanks_of(tree), tree=tree)
            for tree in read_conllu(path, heads="optional")
        ]
    elif task.kind == "classification":
        found = [_passage(task, line, path, number) for number, line in read_lines(path)]
    elif "\t" in next((line for _, line in read_lines(path) if line.strip()), ""):
        sentences = read_tokens(path, prefix=find_prefix(path, language))
        found = [_WITH_WORDS[task.kind](tuple(each)) for each in sentences]
    else:
        split = segmenter(language, word_method(language))
        lines = list(read_lines(path))
        there = [(number, line.strip()) for number, line in lines if line.strip()]
        found = [_of_text(task.kind, line, split(line), path, number) for number, line in there]
        if columns := blank_columns(line for _, line in lines):
            say(f"{path}: {columns} words a line, each read as a sentence; if they are columns, put tabs between them")
        if counts is not None:
            counts["blank, left out"] += len(lines) - len(there)
    if not found:
        raise InputError("there is nothing to predict", "give text, one sentence per line", "empty", file=path)
    return found


def _is_treebank(path: str | Path) -> bool:
    """Whether a file is a treebank, by its name or its first row: ten columns, the first a number."""
    if ".conllu" in Path(path).suffixes:
        return True
    first = next((line for _, line in read_lines(path) if line.strip() and not line.startswith("#")), "")
    return len(cells := first.split("\t")) == 10 and cells[0][:1].isdigit()


def of_line(task: Task[Any], text: str, language: str) -> Example:
    """Make one example from a text.

    Raises:
        InputError: The text is empty.
    """
    if not text.strip():
        raise InputError("there is nothing to predict", "give some text", "empty")
    if task.kind == "classification":
        return _passage(task, text, None, None)
    return _of_text(task.kind, text.strip(), segmenter(language, word_method(language))(text))


def _passage(task: Task[Any], line: str, path: str | Path | None, number: int | None) -> Passage:
    texts = tuple(line.split("\t"))
    wanted = task.texts if isinstance(task, Classification) else 1
    if len(texts) != wanted or not all(text.strip() for text in texts):
        problem = f"{shown(line)} is not {'two texts' if wanted == 2 else 'a text'}"
        remedy = "separate the two by a tab" if wanted == 2 else "write one per line"
        raise InputError(problem, remedy, "malformed-line", file=path, line=number)
    return Passage(texts)


def _of_text(
    kind: Kind, text: str, words: Sequence[str], path: str | Path | None = None, number: int | None = None
) -> Example:
    if "\t" in text:
        remedy = "write one sentence per line, or a word and a tab in every line"
        raise InputError(f"a tab in {shown(text)}", remedy, "malformed-line", file=path, line=number)
    spans = word_spans(text, words)
    blanks = tuple(text[end : end + 1].isspace() for _, end in spans)
    return _WITH_WORDS[kind](tuple(words), blanks=blanks)


def predict_text(
    tuned: Tuned,
    language: str,
    *,
    text: str | None = None,
    file: str | Path | None = None,
    form: Format | None = None,
    progress: Progress = SILENT,
    say: Say = say_nothing,
) -> tuple[list[Any], Format]:
    """Predict labels for a text or the examples of a file; returns them with the format to write them in.

    Args:
        tuned: The fine-tuned model.
        language: Language of the text.
        text: One text.
        file: File of text, in place of ``text``; as that of :func:`read_unlabeled`.
        form: Format. Default: the first that the task has.
        progress: Reports progress.
        say: Called with remarks for the user: lines that were left out, sentences that were split.

    Raises:
        ConfigError: The format cannot represent the predictions.
        InputError: The file is malformed, or there is no text.
        StorageError: The file cannot be read.
    """
    task, counts = tuned.task, Counter[str]()
    form = form or FORMATS[task.kind][0]
    check_format(task, form)
    if file is not None:
        given = read_unlabeled(task, file, language, counts=counts, say=say)
    else:
        given = [of_line(task, text or "", language)]
    found, rows = tuned.predict(given, language, progress=progress)
    counts.update(rows.counts)
    for what in ("blank, left out", "split", "truncated", "unread"):
        if counts[what]:
            say(events_in_words({what: counts[what]}))
    return found, form


# --- writing ---


def write_predictions(path: str | Path, task: Task[Any], examples: Sequence[Any], form: Format) -> int:
    """Write predictions to a file; returns their number.

    Raises:
        ConfigError: The format cannot represent the predictions.
        StorageError: The file cannot be written.
    """
    check_format(task, form)
    if form == "conllu":
        made = (tree_of(one) if task.kind == "parsing" else tagged_tree(task, one) for one in examples)
        return write_conllu(path, made)
    with line_writer(path) as writer:
        for number, example in enumerate(examples):
            if form == "json":
                writer.write(as_json(example))
                continue
            if number:
                writer.write("")
            for word, tag in zip(example.words, example.tags, strict=True):
                writer.write_cells(word, tag)
    return len(examples)


def predictions_text(task: Task[Any], examples: Sequence[Any], form: Format) -> str:
    """Predictions as the text of a file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "predictions"
        write_predictions(path, task, examples, form)
        return read_text(path).rstrip("\n")


def check_format(task: Task[Any], form: str) -> None:
    """Check that a format can represent the predictions of a task.

    Raises:
        ConfigError: It cannot.
    """
    if form not in FORMATS[task.kind]:
        problem = f"{task.title} cannot be written as {form}"
        raise ConfigError(problem, f"choose {' or '.join(FORMATS[task.kind])}", "not-supported")


def as_json(example: Example) -> str:
    """A prediction as one line of JSON.

    >>> as_json(Tagged(("Eva",), ("B-PER",)))
    '{"words": ["Eva"], "tags": ["B-PER"]}'
    """
    if isinstance(example, Passage):
        facts: dict[str, Any] = {"texts": example.texts, "label": example.label}
    elif isinstance(example, Tagged):
        facts = {"words": example.words, "tags": example.tags}
    else:
        facts = {"words": example.words, "heads": example.heads, "relations": example.relations}
    return json.dumps(facts, ensure_ascii=False)


def tree_of(example: Parsed) -> Tree:
    """A predicted tree; other columns are kept, except enhanced dependencies, which are the gold's."""
    if example.tree is not None:
        words = tuple(
            replace(word, head=head, deprel=relation, deps="_")
            for word, head, relation in zip(example.tree.words, example.heads, example.relations, strict=True)
        )
        empties = tuple(replace(node, deps="_") for node in example.tree.empties)
        return replace(example.tree, words=words, empties=empties)
    return Tree(
        tuple(
            replace(word, head=head, deprel=relation)
            for word, head, relation in zip(_words(example), example.heads, example.relations, strict=True)
        )
    )


def tagged_tree(task: Task[Any], example: Tagged) -> Tree:
    """A tree with predicted tags: parts of speech in UPOS, others in MISC."""
    tree = example.tree or Tree(_words(example))
    pairs = list(zip(tree.words, example.tags, strict=True))
    if task.name == "pos":
        return replace(tree, words=tuple(replace(word, upos=tag) for word, tag in pairs))
    key = "Entity" if task.name == "ner" else "Tag"
    return replace(tree, words=tuple(replace(word, misc=_misc(word.misc, key, tag)) for word, tag in pairs))


def _words(example: Tagged | Parsed) -> tuple[TreeWord, ...]:
    """Words without annotation except blanks."""
    blanks = example.blanks or (True,) * len(example.words)
    return tuple(
        TreeWord(place, form, head=NO_HEAD, misc="_" if blank else "SpaceAfter=No")
        for place, (form, blank) in enumerate(zip(example.words, blanks, strict=True), start=1)
    )


def _misc(misc: str, key: str, tag: str) -> str:
    """MISC with a tag added or replaced."""
    kept = [part for part in misc.split("|") if part != "_" and not part.startswith(f"{key}=")]
    return "|".join([*([] if tag == "O" else [f"{key}={tag}"]), *kept]) or "_"
