"""Bitext from files or built-in languages: its sentences, its words and links, and the dictionary in it.

What ``isoglot align links``, ``align words`` and ``align dictionary`` do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.align.words.bitext import (
    Bitext,
    Files,
    PairCounts,
    Segmenting,
    builtin_bitext,
    builtin_sentences,
    linked_bitext,
    read_bitext,
    read_gold_links,
    read_links,
    read_sentence_pairs,
    read_word_pairs,
)
from isoglot.align.words.diagonal_model import WordAlignConfig
from isoglot.align.words.encoder_aligner import fit_encoder_aligner
from isoglot.align.words.encoder_links import EncoderLinksConfig
from isoglot.align.words.induced_dictionary import DictionaryConfig, induce_dictionary
from isoglot.align.words.links import LinkScores, score_links
from isoglot.align.words.word_aligner import FILE, Aligner, load_aligner, train_aligner
from isoglot.core.errors import ConfigError
from isoglot.core.files import write_json, write_text
from isoglot.core.progress import SILENT, Progress
from isoglot.core.table import Table
from isoglot.languages.builtin import builtin_provenance
from isoglot.model import load_encoder
from isoglot.retrieve.leaks import refuse_leak
from isoglot.text.formats.dictionary import Entry, write_dictionary
from isoglot.text.formats.lines import line_writer
from isoglot.text.formats.parallel import GoldLinks, Links, write_pharaoh
from isoglot.text.provenance import Provenance, derived, merged, write_provenance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.align.words.encoder_links import LayerChoice
    from isoglot.align.words.links import Symmetry
    from isoglot.languages.corpus import Split
    from isoglot.model.protocol import EncoderLike

    Pairs = list[tuple[list[str], list[str]]]

TO_LINK = 10_000
"""Default number of built-in sentences to link."""
TO_MAP = 2000
"""Default number of built-in sentences to fit maps on; a quarter as many are scored."""
TO_CHOOSE_ON = 500
"""Number of built-in sentences that a layer is chosen on."""
LAYERS = "layers.csv"


@dataclass(frozen=True, kw_only=True)
class BitextSource:
    """Where sentence pairs come from.

    Attributes:
        languages: The two languages, in order.
        files: A file for each language, or a table. Default: sentences of built-in languages.
        test_files: Those to score on; built-in sentences have a test of their own.
        sentences: Maximum number of pairs to learn from. Default: all of files, some thousand built-in ones.
        segment: How text is segmented into words. Default: by language, or by spaces where there are links, since links
            count words.
        gold: File of sure and possible links of the pairs, to score on; built-in sentences have theirs.
        seed: Random seed of built-in sentences.

    >>> source = BitextSource(languages=("en", "de"), sentences=8)
    >>> train, test = source.sentence_pairs()
    >>> len(train), len(test)
    (8, 2)
    """

    languages: tuple[str, str]
    files: Files = field(default_factory=dict)
    test_files: Files = field(default_factory=dict)
    sentences: int | None = None
    segment: Segmenting | None = None
    gold: Path | None = None
    seed: int = 0

    @property
    def paths(self) -> list[Path]:
        """All files."""
        found = [path for each in (self.files, self.test_files) for path in files_of(each)]
        return found if self.gold is None else [*found, self.gold]

    def sentence_pairs(self) -> list[list[tuple[str, str]]]:
        """Sentence pairs to fit on and, if there are any, to score on.

        Raises:
            ConfigError: A language is not built in.
            InputError: A sentence is blank, or files have different numbers of lines.
            StorageError: A file cannot be read.
        """
        if self.files:
            found = [read_sentence_pairs(self.files, self.languages)[: self.sentences]]
            return found + ([read_sentence_pairs(self.test_files, self.languages)] if self.test_files else [])
        return [builtin_sentences(self.languages, *each, seed=self.seed) for each in self._splits()]

    def linked_words(
        self,
        *,
        links: Path | None = None,
        test_links: Path | None = None,
        aligner: Aligner | None = None,
        progress: Progress = SILENT,
    ) -> tuple[list[Bitext], dict[str, Any]]:
        """Linked words to fit on and, if there are any, to score on; and how they were linked.

        Args:
            links: Links of the pairs in the Pharaoh format. Default: an aligner finds them.
            test_links: Those of the test.
            aligner: The word aligner. Default: it is trained on the pairs.
            progress: Progress of each step.

        Raises:
            ConfigError: A language is not built in.
            InputError: Files or links have different numbers of lines, or a link is out of range.
            StorageError: A file cannot be read.
        """
        if not self.files:
            return [builtin_bitext(self.languages, *each, seed=self.seed) for each in self._splits()], {}
        found: list[Bitext] = []
        facts: dict[str, Any] = {}
        if links is not None:
            found.append(read_bitext(self.files, self.languages, links).first(self.sentences))
        else:
            segment = self.segment or "auto"
            given = [read_word_pairs(self.files, self.languages, segment, self.sentences)]
            if self.test_files and test_links is None:
                given.append(read_word_pairs(self.test_files, self.languages, segment))
            made = aligner or train_aligner(given[0], languages=self.languages, progress=progress)
            counts = PairCounts()
            found += [linked_bitext(each, made, counts=counts, progress=progress) for each in given]
            facts = {
                "method": "intersection",
                "config": made.config.model_dump(mode="json"),
                **made.origin(),
                "pairs": counts.facts(),
                "links": sum(len(each) for part in found for each in part.links),
            }
        if test_links is not None:
            found.append(read_bitext(self.test_files, self.languages, test_links))
        return found, facts

    def _splits(self) -> list[tuple[int, Split]]:
        count = self.sentences or TO_MAP
        return [(count, "train"), (max(1, count // 4), "test")]

    def words(self, links: Path | None = None, split: Split = "train") -> tuple[Pairs, list[GoldLinks] | None]:
        """Words of the pairs, and their links where a file has them or the sentences are built in.

        Args:
            links: File of links that are not gold.
            split: Split of built-in sentences.

        Raises:
            ConfigError: A language is not built in.
            InputError: Files or links have different numbers of lines, or a link is out of range.
            StorageError: A file cannot be read.
        """
        if not self.files:
            bitext = builtin_bitext(self.languages, self.sentences or TO_LINK, split, seed=self.seed)
            return list(zip(bitext.source, bitext.target, strict=True)), [GoldLinks(each, []) for each in bitext.links]
        segment = self.segment or ("blanks" if links or self.gold else "auto")
        pairs = read_word_pairs(self.files, self.languages, segment, self.sentences)
        if self.gold is not None:
            return pairs, read_gold_links(self.gold, pairs, self.files, self.languages, self.sentences)
        if links is None:
            return pairs, None
        found = read_links(links, pairs, self.files, self.languages, self.sentences)
        return pairs, [GoldLinks(each, []) for each in found]

    @property
    def provenance(self) -> Provenance:
        """Where a dictionary comes from that is induced from these sentences."""
        if self.files:
            return derived(files_of(self.files), {"step": "induce dictionary", "languages": list(self.languages)})
        return merged(builtin_provenance("built-in sentences", code, self.seed) for code in self.languages)


def files_of(files: Files) -> list[Path]:
    """The files of a bitext: one per language, or a table."""
    return [Path(path) for path in ([files] if isinstance(files, str | Path) else files.values())]


def open_aligner(
    path: Path | None, languages: tuple[str, str], *, model: str | None = None, device: str = "auto"
) -> Aligner | None:
    """Read an aligner, if one is named, and check its languages.

    Raises:
        ConfigError: It is for other languages, or for another model.
        StorageError: It cannot be read.
    """
    if path is None:
        return None
    found = load_aligner(path, model=model, device=device)
    if found.languages not in (None, languages):
        problem = f"the aligner is for {' and '.join(found.languages or ())}, the text is {' and '.join(languages)}"
        raise ConfigError(problem, "name the languages in the aligner's order, or train one", "other-language")
    return found


# --- links ---


@dataclass(frozen=True, kw_only=True)
class LinkedBitext:
    """Result of :func:`link_bitext`: the words of every pair, their links, and scores on gold links."""

    languages: tuple[str, str]
    pairs: Pairs
    links: list[Links]
    method: Symmetry
    aligner: Aligner
    is_new: bool
    """Whether the aligner was fitted here."""
    counts: PairCounts
    scores: LinkScores | None
    """None without gold links."""
    leaked: int | None
    """Number of scored pairs that the layer was chosen on; None if no layer was chosen."""

    @property
    def choice(self) -> LayerChoice | None:
        """The settings that were tried, where a layer was chosen."""
        return getattr(self.aligner, "choice", None)

    def facts(self) -> dict[str, Any]:
        """Counts and scores as JSON."""
        return {
            "pairs": self.counts.facts(),
            "method": self.method,
            "links": sum(map(len, self.links)),
            **self.aligner.facts(),
            "scores": None if self.scores is None else self.scores.facts(),
            "leaked": self.leaked,
        }

    def save(self, folder: Path) -> None:
        """Write the links (Pharaoh), the words of both sides separated by spaces, the aligner and metrics.

        Raises:
            StorageError: A file cannot be written.
        """
        links, *texts = link_files(folder, self.languages)
        write_pharaoh(links, self.links)
        for side, path in enumerate(texts):
            with line_writer(path) as writer:
                for pair in self.pairs:
                    writer.write(" ".join(pair[side]))
        if self.choice is not None:
            write_text(folder / LAYERS, Table.from_rows([each.facts() for each in self.choice.tried]).csv())
        if self.is_new:
            self.aligner.save(folder / FILE)
        write_json(folder / "metrics.json", self.facts())


def link_files(folder: Path, languages: tuple[str, str]) -> list[Path]:
    """Files of the links and of the words of either side."""
    return [folder / "links.txt", *(folder / f"{code}.txt" for code in languages)]


def link_bitext(
    source: BitextSource,
    config: WordAlignConfig | EncoderLinksConfig | None = None,
    *,
    encoder: EncoderLike | str | None = None,
    device: str = "auto",
    aligner: Aligner | None = None,
    dev: BitextSource | None = None,
    method: Symmetry | None = None,
    allow_leak: bool = False,
    scratch: Path | None = None,
    progress: Progress = SILENT,
) -> LinkedBitext:
    """Find which word translates which in bitext: learned from it, or by the vectors of an encoder.

    Args:
        source: The sentence pairs, with gold links to score on if there are any.
        config: Settings of the aligner: :class:`EncoderLinksConfig` with an encoder.
        encoder: Link by the vectors of an encoder, or of that with this name or folder, which the aligner then records.
            Default: a statistical model is trained on the pairs.
        device: Where an encoder is opened that is named.
        aligner: An aligner that is ready, instead of fitting one.
        dev: Pairs with gold links on which the encoder's layer is chosen; built-in ones if ``source`` is built in.
        method: Symmetrization. Default: that of the aligner.
        allow_leak: Whether pairs that the layer is chosen on may be scored.
        scratch: Folder for temporary vectors. Default: they are in memory.
        progress: Progress of each step.

    Returns:
        The links of every pair and, with gold, their scores.

    >>> from isoglot.align import BitextSource
    >>> found = link_bitext(BitextSource(languages=("en", "de"), sentences=20))
    >>> found.scores.sure > 0, len(found.links)
    (True, 20)

    Raises:
        ConfigError: A language is not built in, or a layer is to be chosen without gold links.
        InputError: Files or links have different numbers of lines, or the test leaks.
        StorageError: A file cannot be read.
    """
    pairs, right = source.words()
    leaked = None
    made = aligner
    if made is None and encoder is not None:
        if dev is None and not source.files:
            dev = BitextSource(languages=source.languages, sentences=TO_CHOOSE_ON, seed=source.seed)
        tried, known = (pairs, None) if dev is None else dev.words(split="dev")
        leaked = 0 if right is None or known is None else _leaked(tried, pairs, allow=allow_leak)
        sure, possible = (None, None) if known is None else _sure_and_possible(known)
        made = fit_encoder_aligner(
            load_encoder(encoder, device=device) if isinstance(encoder, str) else encoder,
            tried,
            sure,
            config if isinstance(config, EncoderLinksConfig) else None,
            possible=possible,
            languages=source.languages,
            model=_absolute_if_folder(encoder) if isinstance(encoder, str) else "",
            scratch=scratch,
            progress=progress,
        )
    if made is None:
        learned = config if isinstance(config, WordAlignConfig) else None
        made = train_aligner(pairs, learned, languages=source.languages, progress=progress)
    counts, how = PairCounts(), method or made.usual
    links = list(made.stream(pairs, how, counts=counts, progress=progress))
    return LinkedBitext(
        languages=source.languages,
        pairs=pairs,
        links=links,
        method=how,
        aligner=made,
        is_new=aligner is None,
        counts=counts,
        scores=None if right is None else score_links(links, *_sure_and_possible(right)),
        leaked=leaked,
    )


def _absolute_if_folder(model: str) -> str:
    path = Path(model).expanduser()
    return str(path.resolve()) if path.is_dir() else model


def _sure_and_possible(gold: Sequence[GoldLinks]) -> tuple[list[Links], list[Links]]:
    return [each.sure for each in gold], [each.possible for each in gold]


def _leaked(dev: Pairs, scored: Pairs, *, allow: bool) -> int:
    """Number of the scored pairs that a layer is chosen on; more than zero is an error unless allowed."""
    known, asked = (
        [f"{' '.join(one)} ||| {' '.join(other)}" for one, other in pairs if one and other] for pairs in (dev, scored)
    )
    refuse_leak(known, asked, "sentence pairs", allow=allow, where="among those a layer is chosen on")
    chosen_on = frozenset(known)
    return sum(each in chosen_on for each in asked)


# --- dictionaries ---


@dataclass(frozen=True, kw_only=True)
class BitextDictionaries:
    """Result of :func:`bitext_dictionaries`: a weighted dictionary in either direction."""

    entries: dict[str, list[Entry]]
    """By direction, such as ``en-fr``."""
    pairs: int
    links: int
    provenance: Provenance

    def facts(self) -> dict[str, Any]:
        """Counts as JSON."""
        counts = {
            name: {"words": len({entry.source for entry in found}), "entries": len(found)}
            for name, found in self.entries.items()
        }
        return {"pairs": self.pairs, "links": self.links, **counts}

    def save(self, folder: Path) -> None:
        """Write ``en-fr.tsv`` and ``fr-en.tsv``, each with a record of the bitext beside it.

        Raises:
            StorageError: A file cannot be written.
        """
        for name, found in self.entries.items():
            write_dictionary(folder / f"{name}.tsv", found, layout="weighted")
            write_provenance(folder / f"{name}.tsv", self.provenance)


def bitext_dictionaries(
    source: BitextSource,
    config: DictionaryConfig | None = None,
    *,
    links: Path | None = None,
    aligner: Aligner | None = None,
    progress: Progress = SILENT,
) -> BitextDictionaries:
    """Induce a dictionary from bitext, in both directions.

    Args:
        source: The sentence pairs.
        config: Settings of word alignment, and which translations are kept.
        links: Links of the pairs in the Pharaoh format. Default: an aligner finds them.
        aligner: The word aligner. Default: it is trained on the pairs.
        progress: Progress of each step.

    Returns:
        The dictionaries of both directions, and the counts they were made from.

    >>> from isoglot.align import BitextSource
    >>> found = bitext_dictionaries(BitextSource(languages=("en", "de"), sentences=200))
    >>> found.pairs, [entry.target for entry in found.entries["en-de"] if entry.source == "and"]
    (200, ['und'])

    Raises:
        ConfigError: A language is not built in.
        InputError: Files or links have different numbers of lines, or a link is out of range.
        StorageError: A file cannot be read.
    """
    config = config or DictionaryConfig()
    pairs, known = source.words(links)
    if links is not None and known is not None:
        found = [each.sure for each in known]
    else:
        made = aligner or train_aligner(pairs, config.align, languages=source.languages, progress=progress)
        found = list(made.stream(pairs, config.symmetry, progress=progress))
    one, other = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    first, second = source.languages
    turned = [[(j, i) for i, j in each] for each in found]
    entries = {
        f"{first}-{second}": induce_dictionary(one, other, found, config.keep),
        f"{second}-{first}": induce_dictionary(other, one, turned, config.keep),
    }
    return BitextDictionaries(
        entries=entries, pairs=len(pairs), links=sum(map(len, found)), provenance=source.provenance
    )
