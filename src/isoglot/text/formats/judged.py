"""Queries with relevant documents: a table of pairs, or the files of a TREC or BEIR collection.

A table has a query and a relevant document on each line, separated by a tab; all documents of the table are searched.
A folder has queries (``queries.tsv`` or ``.jsonl``), documents (``documents`` or ``corpus``, ``.tsv`` or ``.jsonl``)
and judgments (``qrels.txt``, ``qrels.tsv``, ``qrels``, or ``qrels/test.tsv``). Rows of ``.tsv`` files are an id and a
text. A judgment is ``query iteration document grade`` as in TREC, or ``query document grade`` with a header as in BEIR;
a grade above 0 is relevant.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from isoglot.core.errors import InputError, shown
from isoglot.core.progress import counted
from isoglot.text.formats.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_QUERIES = ("queries.tsv", "queries.jsonl")
_DOCUMENTS = ("documents.tsv", "documents.jsonl", "corpus.tsv", "corpus.jsonl")
_JUDGMENTS = ("qrels.txt", "qrels.tsv", "qrels/test.tsv", "qrels/test.txt", "qrels/dev.tsv", "qrels")


@dataclass(frozen=True, kw_only=True)
class JudgedQueries:
    """Queries, documents, and which documents are relevant to each query.

    Attributes:
        name: The file or folder.
        queries: Texts of the queries with a relevant document.
        documents: Texts of all documents.
        relevant: Grades of the relevant documents of each query, by their numbers.
    """

    name: str
    queries: tuple[str, ...]
    documents: tuple[str, ...]
    relevant: tuple[Mapping[int, int], ...]


def read_judged(path: str | Path) -> JudgedQueries:
    """Read a table of pairs, or the folder of a collection.

    Raises:
        InputError: A line cannot be read, a judgment names what is not there, or nothing is relevant.
        StorageError: A file cannot be read.
    """
    path = Path(path)
    if not path.is_dir():
        pairs = [cells for _, cells in _rows(path, 2, "a query and a document")]
        texts = [{text: text for text in side} for side in zip(*pairs, strict=True)] or [{}, {}]
        return _joined(path, texts[0], texts[1], ((query, document, 1) for query, document in pairs))
    queries, documents = (dict(_texts(_one_of(path, names))) for names in (_QUERIES, _DOCUMENTS))
    return _joined(path, queries, documents, _judgments(_one_of(path, _JUDGMENTS)))


def _joined(
    path: Path, queries: Mapping[str, str], documents: Mapping[str, str], judged: Iterable[tuple[str, str, int]]
) -> JudgedQueries:
    number = {name: at for at, name in enumerate(documents)}
    grades: dict[str, dict[int, int]] = defaultdict(dict)
    for query, document, grade in judged:
        for what, name, there in (("query", query, queries), ("document", document, documents)):
            if name not in there:
                problem = f"a judgment of the {what} {shown(name)}, which has no text"
                raise InputError(problem, f"add the {what}, or remove the judgment", "no-match", file=path)
        if grade > 0:
            grades[query][number[document]] = grade
    if not grades:
        raise InputError("no query has a relevant document", "give judgments with grades above 0", "empty", file=path)
    return JudgedQueries(
        name=path.name,
        queries=tuple(queries[name] for name in grades),
        documents=tuple(documents.values()),
        relevant=tuple(grades.values()),
    )


def _one_of(folder: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise InputError(f"no {names[0]} in this folder", f"add one of {', '.join(names)}", "no-match", file=folder)


def _rows(path: Path, columns: int, what: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in read_lines(path):
        cells = [cell.strip() for cell in line.split("\t")]
        if not line.strip():
            continue
        if len(cells) != columns or not all(cells):
            there = counted(len([cell for cell in cells if cell]), "columns")
            problem = f"expected {what}, separated by a tab; found {there}"
            raise InputError(problem, "correct or remove the line", "column-count", file=path, line=number)
        yield number, cells


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    """Ids and texts; a title is put before the text, as in BEIR."""
    if path.suffix == ".tsv":
        for _, (name, text) in _rows(path, 2, "an id and a text"):
            yield name, text
        return
    for number, line in read_lines(path):
        try:
            entry = json.loads(line)
            name, parts = str(entry["_id"]), (entry.get("title"), entry["text"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            problem, remedy = "not an entry with _id and text", "correct or remove the line"
            raise InputError(problem, remedy, "malformed-json", file=path, line=number) from error
        yield name, " ".join(str(part) for part in parts if part)


def _judgments(path: Path) -> Iterator[tuple[str, str, int]]:
    for number, line in read_lines(path):
        cells = line.split()
        if not cells or (number == 1 and cells[0] in ("query-id", "qid", "query_id")):
            continue
        try:
            query, document, grade = cells if len(cells) == 3 else (cells[0], cells[2], cells[3])
            yield query, document, int(grade)
        except (ValueError, IndexError) as error:
            problem, remedy = "expected query, iteration, document and grade", "correct or remove the line"
            raise InputError(problem, remedy, "column-count", file=path, line=number) from error
