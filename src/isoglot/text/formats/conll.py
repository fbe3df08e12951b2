"""CoNLL files: treebanks in CoNLL-U, and named entities in columns of a token and its BIO tag.

**CoNLL-U** has ten columns per word and a blank line after each sentence (universaldependencies.org/format.html).
Everything in the file is kept, so that reading and writing gives the same bytes. The reader checks that ids count from
1 and that the heads form a tree, with one root and no cycle; missing heads and heads that form no tree are options.

**Tagged columns** have a token and its tag per line. Columns between the two are ignored (CoNLL-2003 has parts of
speech and chunks there), and so is ``-DOCSTART-``. WikiAnn writes the language before every token, ``en:Paris``; the
option ``prefix`` removes or adds it.
"""

from __future__ import annotations

import re
from dataclasses import astuple, dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from isoglot.core.errors import InputError, shown
from isoglot.text.formats.lines import Skip, line_writer, malformed, parsed, read_blocks
from isoglot.text.provenance import Provenance, recorded_writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path


# --- treebanks ---


Heads = Literal["needed", "optional", "any"]
"""``needed``: the heads of a sentence must form a tree; ``optional``: or all are missing (``_``); ``any``: every word
has a head in the sentence, but they need not form a tree."""
NO_HEAD = -1  # the head of a word whose head is missing
COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")

_MAY_HAVE_BLANKS = frozenset({"FORM", "LEMMA", "MISC"})
_WORD = re.compile(r"[1-9][0-9]{0,8}")
_RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_EMPTY = re.compile(r"(0|[1-9][0-9]{0,8})\.([1-9][0-9]{0,8})")
_HEAD = re.compile(r"0|[1-9][0-9]{0,8}")


@dataclass(frozen=True, slots=True)
class TreeWord:
    """Syntactic word; ``_`` is a missing value."""

    id: int
    form: str
    lemma: str = "_"
    upos: str = "_"
    xpos: str = "_"
    feats: str = "_"
    head: int = 0  # the id of its head; 0 for the root, :data:`NO_HEAD` if it is missing
    deprel: str = "_"
    deps: str = "_"
    misc: str = "_"


@dataclass(frozen=True, slots=True)
class MultiwordToken:
    """Multiword token, as written for the words ``first`` to ``last``: French ``du`` for ``de le``."""

    first: int
    last: int
    form: str
    feats: str = "_"
    misc: str = "_"


@dataclass(frozen=True, slots=True)
class EmptyNode:
    """Empty node of enhanced dependencies: the ``index``-th, from 1, after the word ``after``."""

    after: int
    index: int
    form: str = "_"
    lemma: str = "_"
    upos: str = "_"
    xpos: str = "_"
    feats: str = "_"
    deps: str = "_"
    misc: str = "_"


@dataclass(frozen=True, slots=True)
class Tree:
    """Sentence with its dependency tree."""

    words: tuple[TreeWord, ...]
    multiwords: tuple[MultiwordToken, ...] = ()
    empties: tuple[EmptyNode, ...] = ()
    comments: tuple[str, ...] = ()  # the comment lines, including the ``#``

    def value(self, key: str) -> str | None:
        """The value of a key in the comments, or None.

        >>> Tree((), comments=("# sent_id = 7", "# text = It rains.")).value("text")
        'It rains.'
        """
        for comment in self.comments:
            name, equals, value = comment.removeprefix("#").partition("=")
            if equals and name.strip() == key:
                return value.strip()
        return None


def read_conllu(path: str | Path, *, heads: Heads = "needed", skip: Skip | None = None) -> Iterator[Tree]:
    """Read the trees of a treebank, one at a time.

    Args:
        path: The treebank.
        heads: Whether there must be heads, and whether they must form a tree.
        skip: Tolerance for malformed trees. Default: raise at the first.

    Raises:
        InputError: A line does not have ten columns, an id is out of order, or the heads form no tree.
        StorageError: The file cannot be read.
    """
    return parsed(read_blocks(path, skip=skip), lambda block: _parse_tree(block, path, heads), skip)


def write_conllu(path: str | Path, trees: Iterable[Tree]) -> int:
    """Write trees; returns their number.

    Raises:
        InputError: A tree is invalid, or a column contains a tab or a line end.
        StorageError: The file cannot be written.
    """
    count = 0
    with line_writer(path) as writer:
        for count, tree in enumerate(trees, start=1):
            lines = _format_tree(tree)
            # The reader decides what is valid.
            _parse_tree(list(enumerate(lines, start=writer.lines + 1)), path, "optional")
            if len(lines) != len(tree.comments) + len(tree.words) + len(tree.multiwords) + len(tree.empties):
                problem = f"a multiword token or empty node of tree {count} has an invalid or duplicate position"
                raise writer.refusal(problem, remedy="number them as the words are")
            for line in lines:
                writer.write(line)
            writer.write("")
    return count


# --- reading one tree ---


def _parse_tree(block: Iterable[tuple[int, str]], path: str | Path, heads: Heads) -> Tree:
    parser = _TreeParser(path, heads)
    for number, line in block:
        parser.add(number, line)
    return parser.finish()


class _TreeParser:
    """Parser of the lines of a sentence."""

    def __init__(self, path: str | Path, heads: Heads) -> None:
        self.path, self.heads = path, heads
        self.number = 0
        self.comments: list[str] = []
        self.words: list[TreeWord] = []
        self.multiwords: list[MultiwordToken] = []
        self.empties: list[EmptyNode] = []
        self.places: list[int] = []  # the line of each word

    def add(self, number: int, line: str) -> None:
        self.number = number
        if line.startswith("#"):
            if self.words or self.multiwords or self.empties:
                raise self._error("a comment among the words", "put comments before the first word")
            self.comments.append(line)
            return
        cells = self._split(line)
        name = cells[0]
        if _WORD.fullmatch(name):
            self._add_word(cells)
        elif match := _RANGE.fullmatch(name):
            self._add_multiword(cells, int(match[1]), int(match[2]))
        elif match := _EMPTY.fullmatch(name):
            self._add_empty(cells, int(match[1]), int(match[2]))
        else:
            problem = f"{shown(name)} is not an id"
            raise self._error(problem, "write 1 for a word, 1-2 for a range, 1.1 for an empty node")

    def finish(self) -> Tree:
        if not self.words:
            raise self._error("a sentence without words", "remove it, its comments too")
        if self.multiwords and self.multiwords[-1].last > len(self.words):
            token = self.multiwords[-1]
            problem = f"the sentence ends at word {len(self.words)}, inside the range {token.first}-{token.last}"
            raise self._error(problem, "end the range at a word of the sentence")
        if self.words[0].head != NO_HEAD:
            self._check_heads()
        return Tree(tuple(self.words), tuple(self.multiwords), tuple(self.empties), tuple(self.comments))

    def _error(self, problem: str, remedy: str, line: int | None = None) -> InputError:
        return malformed(problem, remedy, self.path, self.number if line is None else line)

    def _split(self, line: str) -> list[str]:
        cells = line.split("\t")
        if len(cells) != len(COLUMNS):
            plural = "" if len(cells) == 1 else "s"
            problem = f"{len(cells)} column{plural} where CoNLL-U has 10"
            raise self._error(problem, "separate the columns with one tab each")
        for column, cell in zip(COLUMNS, cells, strict=True):
            if not cell:
                raise self._error(f"the column {column} is empty", "write _ where nothing is known")
            if " " in cell and column not in _MAY_HAVE_BLANKS:
                raise self._error(f"a blank in {column}: {shown(cell)}", "only FORM, LEMMA and MISC may have blanks")
        return cells

    def _add_word(self, cells: list[str]) -> None:
        due = len(self.words) + 1
        name, form, lemma, upos, xpos, feats, head, deprel, deps, misc = cells
        if int(name) != due:
            raise self._error(f"word {name} where {due} is expected", "number the words from 1 without gaps")
        unknown = head == "_" and self.heads == "optional"
        if not unknown and not _HEAD.fullmatch(head):
            raise self._error(f"the head {shown(head)} is not a number", "give the id of the head, 0 for the root")
        if self.words and unknown != (self.words[-1].head == NO_HEAD):
            problem = f"the head {shown(head)} after a word {'with' if unknown else 'without'} one"
            raise self._error(problem, "give all or none")
        number = NO_HEAD if unknown else int(head)
        self.words.append(TreeWord(due, form, lemma, upos, xpos, feats, number, deprel, deps, misc))
        self.places.append(self.number)

    def _add_multiword(self, cells: list[str], first: int, last: int) -> None:
        due = len(self.words) + 1
        taken = self.multiwords[-1].last if self.multiwords else 0
        if first != due or first <= taken or last < first:
            problem = f"the range {cells[0]} before word {due}"
            raise self._error(problem, "put a range right before its first word; ranges do not overlap")
        self._check_unused(cells, ("LEMMA", "UPOS", "XPOS", "HEAD", "DEPREL", "DEPS"))
        self.multiwords.append(MultiwordToken(first, last, form=cells[1], feats=cells[5], misc=cells[9]))

    def _add_empty(self, cells: list[str], after: int, index: int) -> None:
        here = len(self.words)
        due = self.empties[-1].index + 1 if self.empties and self.empties[-1].after == here else 1
        behind_range = bool(self.multiwords) and self.multiwords[-1].first > here
        if (after, index) != (here, due) or behind_range:
            problem = f"the empty node {cells[0]} after word {here}"
            raise self._error(problem, "put it right after its word, before any range, numbered from .1")
        self._check_unused(cells, ("HEAD", "DEPREL"))
        self.empties.append(EmptyNode(after, index, *cells[1:6], *cells[8:]))

    def _check_unused(self, cells: list[str], columns: tuple[str, ...]) -> None:
        for column in columns:
            cell = cells[COLUMNS.index(column)]
            if cell != "_":
                raise self._error(f"{column} is {shown(cell)} in {cells[0]}", f"write _ in {', '.join(columns)} there")

    def _check_heads(self) -> None:
        size = len(self.words)
        roots = []
        for word, place in zip(self.words, self.places, strict=True):
            if word.head > size:
                problem = f"word {word.id} has head {word.head} in a sentence of {size} words"
                raise self._error(problem, f"give a head from 1 to {size}, or 0 for the root", place)
            if word.head == 0 and self.heads != "any":
                roots.append(word.id)
                if len(roots) > 1:
                    problem = f"word {word.id} is a second root, after word {roots[0]}"
                    raise self._error(problem, "give head 0 to one word", place)
        stuck = 0 if self.heads == "any" else _find_cycle([word.head for word in self.words])
        if stuck:
            problem = f"the heads of word {stuck} form a cycle"
            raise self._error(problem, "attach every word to the root, directly or indirectly", self.places[stuck - 1])


def _find_cycle(heads: list[int]) -> int:
    """A word, from 1, on a cycle of heads; 0 if there is none."""
    seen_by = [0] * len(heads)  # the word from which it was first reached
    for start in range(1, len(heads) + 1):
        at = start
        while at and not seen_by[at - 1]:
            seen_by[at - 1] = start
            at = heads[at - 1]
        if at and seen_by[at - 1] == start:
            return at
    return 0


# --- writing one tree ---


def _format_tree(tree: Tree) -> list[str]:
    ranges = {token.first: token for token in tree.multiwords}
    behind: dict[int, list[EmptyNode]] = {}
    for node in tree.empties:
        behind.setdefault(node.after, []).append(node)
    lines = [*tree.comments, *map(_format_empty, behind.get(0, ()))]
    for word in tree.words:
        if token := ranges.get(word.id):
            lines.append(f"{token.first}-{token.last}\t{token.form}\t_\t_\t_\t{token.feats}\t_\t_\t_\t{token.misc}")
        shown = replace(word, head="_") if word.head == NO_HEAD else word  # type: ignore[arg-type]
        lines.append("\t".join(map(str, astuple(shown))))
        lines += map(_format_empty, behind.get(word.id, ()))
    return lines


def _format_empty(node: EmptyNode) -> str:
    after, index, *cells, deps, misc = astuple(node)
    return "\t".join([f"{after}.{index}", *cells, "_", "_", deps, misc])


# --- tagged columns ---


# Whether I-X follows B-X or I-X is not checked: WikiAnn itself violates it.
_TAG = re.compile(r"O|[BI]-\S+")
_LAYOUT = "write token<tab>tag, and a blank line between sentences"


def read_tagged(
    path: str | Path, *, prefix: str | None = None, skip: Skip | None = None
) -> Iterator[list[tuple[str, str]]]:
    """Read the sentences of a file, each a list of (token, tag): the first and the last column.

    Args:
        path: Columns are separated by a tab, or else by a blank; tags are ``O``, ``B-PER``, ``I-PER``, ...
        prefix: The language before every token, such as ``en`` for ``en:Paris``; it is removed.
        skip: Tolerance for sentences with a malformed line. Default: raise at the first.

    Raises:
        InputError: A line is not a token and a tag, has another number of columns than the first, or lacks the prefix.
        StorageError: The file cannot be read.
    """
    layout = _Layout(path, prefix)

    def parse(block: list[tuple[int, str]]) -> list[tuple[str, str]]:
        return [layout.tagged(number, line) for number, line in block]

    return parsed(token_blocks(path, skip=skip), parse, skip)


def read_tokens(path: str | Path, *, prefix: str | None = None) -> Iterator[list[str]]:
    """Read the tokens, whatever the other columns are.

    Raises:
        InputError: A line has one column, another number than the first line, or lacks the prefix.
        StorageError: The file cannot be read.
    """
    layout = _Layout(path, prefix)
    return ([layout.cells(number, line)[0] for number, line in block] for block in token_blocks(path))


def token_blocks(path: str | Path, *, skip: Skip | None = None) -> Iterator[list[tuple[int, str]]]:
    """The numbered lines of each sentence, without ``-DOCSTART-``."""
    for block in read_blocks(path, skip=skip):
        if kept := [(number, line) for number, line in block if _cells(line)[0] != "-DOCSTART-"]:
            yield kept


def find_prefix(path: str | Path, language: str) -> str | None:
    """The language before the first token of a file, if there is one."""
    first = next(token_blocks(path), [(0, "")])[0][1]
    return language if first.startswith(f"{language}:") else None


def ends_in_tag(line: str) -> bool:
    """Whether a line has several columns, the last of which is a BIO tag.

    >>> ends_in_tag("EU NNP B-NP B-ORG"), ends_in_tag("O")
    (True, False)
    """
    return bool(len(cells := _cells(line)) > 1 and _TAG.fullmatch(cells[-1]))


def blank_columns(lines: Iterable[str]) -> int:
    """Guess the number of blank-separated columns; 0 if the lines are more likely sentences.

    Columns are assumed if all lines have the same number of words, at least two, several lines follow each other, and
    there are blank lines elsewhere or BIO tags at the ends of all lines.
    """
    kept = (line for line in lines if _cells(line)[0] != "-DOCSTART-")
    blocks = [list(block) for words, block in groupby(map(str.split, kept), key=bool) if words]
    rows = [words for block in blocks for words in block]
    alike = len({len(words) for words in rows}) == 1 and len(rows[0]) > 1
    apart = len(blocks) > 1 or all(_TAG.fullmatch(words[-1]) for words in rows)
    return len(rows[0]) if alike and apart and len(rows) > len(blocks) else 0


def _cells(line: str) -> list[str]:
    return line.split("\t" if "\t" in line else " ")


class _Layout:
    """Parser of lines; all must have as many columns as the first."""

    def __init__(self, path: str | Path, prefix: str | None) -> None:
        self.path, self.prefix = path, prefix
        self.columns = 0

    def tagged(self, number: int, line: str) -> tuple[str, str]:
        """Token and tag of a line."""
        token, *_, tag = self.cells(number, line)
        if not _TAG.fullmatch(tag):
            raise self._error(f"{shown(tag)} is not a BIO tag", "use O, B-PER, I-PER, ...", number)
        return token, tag

    def cells(self, number: int, line: str) -> list[str]:
        """All columns of a line, with the prefix removed from the token."""
        cells = _cells(line)
        if len(cells) < 2 or not cells[0]:
            raise self._error(f"{shown(line)} is not a token and its tag", _LAYOUT, number)
        self.columns = self.columns or len(cells)
        if len(cells) != self.columns:
            problem = f"{len(cells)} columns in {shown(line)}, {self.columns} in the lines before"
            raise self._error(problem, _LAYOUT, number)
        if self.prefix is not None:
            token = cells[0].removeprefix(f"{self.prefix}:")
            if token in ("", cells[0]):
                problem = f"{shown(cells[0])} does not begin with {shown(self.prefix + ':')}"
                raise self._error(problem, "omit the prefix, or name the one in the file", number)
            cells[0] = token
        return cells

    def _error(self, problem: str, remedy: str, number: int) -> InputError:
        return malformed(problem, remedy, self.path, number)


def write_tagged(
    path: str | Path,
    sentences: Iterable[Sequence[tuple[str, str]]],
    *,
    prefix: str | None = None,
    provenance: Provenance | None = None,
) -> int:
    """Write sentences as tab-separated token and tag; returns the number of sentences.

    Args:
        path: The file to write.
        sentences: Lists of (token, tag).
        prefix: Written before every token with a colon: ``en`` gives ``en:Paris``.
        provenance: Recorded beside the file. Default: no record.

    Raises:
        InputError: A sentence or a token is empty, a tag is not a BIO tag, or a token contains a tab or a line end.
        StorageError: The file cannot be written.
    """
    before = "" if prefix is None else f"{prefix}:"
    count = 0
    with recorded_writer(path, provenance) as writer:
        for count, sentence in enumerate(sentences, start=1):
            if not sentence:
                raise writer.refusal(f"sentence {count} is empty", remedy="remove it")
            if count > 1:
                writer.write("")
            for token, tag in sentence:
                if not token:
                    raise writer.refusal(f"an empty token in sentence {count}", remedy="remove it")
                if not _TAG.fullmatch(tag):
                    raise writer.refusal(f"{shown(tag)} is not a BIO tag", remedy="use O, B-PER, I-PER, ...")
                writer.write_cells(before + token, tag)
    return count
