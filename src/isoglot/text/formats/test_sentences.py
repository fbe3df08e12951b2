"""Sentences of test sets in any format: text, tables, treebanks, tagged words, inference pairs."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Literal

from isoglot.core.errors import ConfigError, shown
from isoglot.text.cleaning.scripts import written_with_blanks
from isoglot.text.formats.conll_columns import ends_in_tag, read_tagged
from isoglot.text.formats.conllu import Tree, read_conllu
from isoglot.text.formats.lines import malformed, read_lines
from isoglot.text.formats.nli import KEYS, LABELS, read_inference
from isoglot.text.formats.parallel import is_tmx, read_parallel

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

Layout = Literal["plain", "parallel", "conllu", "tagged", "inference"]


def held_out_sentences(
    path: str | Path, language: str, *, layout: Layout | None = None, columns: Sequence[str] | None = None
) -> Iterator[str]:
    """Read the sentences of a test set in one language.

    Args:
        path: The file.
        language: The column of a parallel table; also decides how the words of tagged files are joined.
        layout: The format. Default: guessed from the name and the first lines.
        columns: The languages of a parallel table that has no header.

    Raises:
        ConfigError: The table does not have the language.
        InputError: The file does not have that format.
        StorageError: It cannot be read.
    """
    layout = layout or ("parallel" if columns else guess_layout(path))
    blank = " " if written_with_blanks(language) else ""
    if layout == "conllu":
        for tree in read_conllu(path):
            yield tree.value("text") or blank.join(_forms(tree))
    elif layout == "tagged":
        for sentence in read_tagged(path):
            words = [word for word, _ in sentence]
            if all(word.startswith(f"{language}:") for word in words):
                words = [word.removeprefix(f"{language}:") for word in words]
            yield blank.join(words)
    elif layout == "inference":
        for pair in read_inference(path, language=language):
            yield pair.premise
            yield pair.hypothesis
    elif layout == "parallel":
        for row in read_parallel(path, languages=columns):
            if language not in row:
                raise ConfigError(
                    f"{path} has no column {shown(language)}", f"choose one of {', '.join(row)}", "unknown-language"
                )
            if row[language].strip():
                yield row[language]
    else:
        for number, line in read_lines(path):
            if "\t" in line:
                raise malformed("a tab in plain text", "name the layout, or the columns of a table", path, number)
            if line.strip():
                yield line


def guess_layout(path: str | Path) -> Layout:
    """Guess the format of a test set from its name and its first non-blank lines.

    Raises:
        InputError: A line is not UTF-8 text.
        StorageError: The file cannot be read.
    """
    if ".conllu" in str(path):
        return "conllu"
    if ".jsonl" in str(path):
        return "inference"
    if is_tmx(path):
        return "parallel"
    lines = list(islice((line for _, line in read_lines(path) if line.strip()), 2))
    cells = lines[0].split("\t") if lines else []
    certain = 1 if len(cells) > 1 else 2  # one sentence may end in O, but hardly the first two
    if sum(map(ends_in_tag, lines[:certain])) == certain:
        return "tagged"
    if len(cells) == 3 and (cells[2] in {*LABELS, "contradictory"} or cells[2].lower().endswith("label")):
        return "inference"
    if set(KEYS) <= {cell.lower() for cell in cells}:
        return "inference"
    return "parallel" if len(cells) > 1 else "plain"


def _forms(tree: Tree) -> list[str]:
    """The tokens as written."""
    ranges = {token.first: token for token in tree.multiwords}
    forms, last = [], 0
    for word in tree.words:
        if word.id in ranges:
            forms.append(ranges[word.id].form)
            last = ranges[word.id].last
        elif word.id > last:
            forms.append(word.form)
    return forms
