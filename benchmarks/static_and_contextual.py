"""Word2Vec, GloVe and an encoder on the same text, little or much of it: whose words are near their translations?

The first comparison of Liu et al. (2020): the mean reciprocal rank of MUSE's test dictionaries from English, by the
cosine, among the dictionary's own target words.

    python benchmarks/static_and_contextual.py DATA --out FOLDER --tokens 1M 10M --budget 2m 6m --workers 16

DATA has ``text/`` (NAME.en.txt.xz …, a paragraph a line, a blank line between documents) and ``muse/``
(en-fr.5000-6500.txt.xz, en-fr.0-5000.txt.xz …). Stages, each taken up where it was cut short, each a plain call:

    vocabulary  one, joint, for all sizes (--vocab: one you have), from the first --vocab-mb of the text
    text        parts of documents of all corpora of a language in one order, the corpora in equal shares, as sentences;
                its first so many tokens are a data size, so that the smaller is inside the larger
    shards      a folder a size and language, for all three
    word2vec, glove, encoder    learned from these shards, joint over the languages; and the encoder untrained, for what
                shared spelling alone gives
    contexts    sentences with words of the dictionaries, the same for all systems, from the largest size
    words       vectors of words, of every system in two ways: read alone (the mean of the subwords), and the mean over
                contexts. The paper takes the first for static vectors, the second for the encoder
    score       result.json, result.md, result.svg

A layer is chosen on other words (of MUSE 0-5000), one for all languages. Entries count if every system has both words
in both ways. Words that a dictionary gave to a model of --beside are left out for all systems.

Shape legend: ``N`` words, ``D`` width.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from same_text import SameText, amount, say  # type: ignore[import-not-found]  # it stands beside this file

from isoglot.core.config import build_config, load_recipe
from isoglot.core.devices import choose_device
from isoglot.core.errors import ConfigError, IsoglotError
from isoglot.core.files import read_bytes, read_json, write_bytes, write_json, write_text
from isoglot.core.progress import SILENT, choose_progress
from isoglot.model import load_encoder
from isoglot.model.static_table import TableEncoder
from isoglot.pretrain import PretrainConfig, pretrain
from isoglot.report.figures import Line
from isoglot.report.figures import lines as line_figure
from isoglot.report.rendering import rendered
from isoglot.represent import extract
from isoglot.retrieve import RetrievalConfig, VectorSet, WordLookup
from isoglot.retrieve.dictionaries import entry_sides, score_dictionary, words_by_language
from isoglot.retrieve.words import context_side
from isoglot.static import GloveConfig, Word2VecConfig, train_static, word_vectors
from isoglot.text.formats.dictionary import read_dictionary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.core.progress import Progress
    from isoglot.retrieve import PairScores
    from isoglot.text.formats.dictionary import Entry

    Entries = Mapping[tuple[str, str], list[Entry]]

ENGLISH = "en"
UNTRAINED = "untrained"
STAGES = ("vocabulary", "text", "shards", "word2vec", "glove", "encoder", "contexts", "words", "score")
WAYS = ("alone", "contexts")
PAPER = {"word2vec": "alone", "glove": "alone"}
"""The second paper's way to a word's vector; of all other systems it is the mean over contexts."""
CENTERS = {"none": "raw", "mean": "means removed"}


class System(NamedTuple):
    """One model to ask for words."""

    name: str
    size: str
    """The data size as it was written; empty for a model that was there before."""
    place: str
    """Its folder or name."""

    @property
    def label(self) -> str:
        """For files and readers."""
        return f"{self.name} {self.size}".strip()


class Comparison:
    """All stages; what each of them leaves behind is in the folder."""

    def __init__(self, options: argparse.Namespace, progress: Progress) -> None:
        self.options, self.progress, self.out = options, progress, Path(options.out)
        self.data, self.others = Path(options.data), options.langs.split(",")
        self.ways = WAYS if options.contexts else WAYS[:1]
        self.sizes: list[str] = sorted(options.tokens, key=amount)
        budgets = options.budget * len(self.sizes) if len(options.budget) == 1 else options.budget
        if len(budgets) != len(self.sizes):
            raise ConfigError(f"{len(budgets)} budgets for {len(self.sizes)} sizes", remedy="give one, or one a size")
        self.budgets = dict(zip(self.sizes, budgets, strict=True))
        self.text = SameText(
            corpora=self.data / "text",
            out=self.out,
            languages=[ENGLISH, *self.others],
            tokens=self.sizes,
            known=options.vocab,
            pieces=options.vocab_size,
            sample=int(1e6 * options.vocab_mb),
            seed=options.seed,
            progress=progress,
        )

    # --- models ---

    def word2vec(self, size: str) -> None:
        """Skip-gram, unless a setting says otherwise."""
        config = build_config(Word2VecConfig, values=self._static(), settings=self.options.word2vec)
        self._train_static("word2vec", size, config)

    def glove(self, size: str) -> None:
        """GloVe."""
        config = build_config(GloveConfig, values=self._static(), settings=self.options.glove)
        self._train_static("glove", size, config)

    def _static(self) -> dict[str, Any]:
        return {"dimensions": self.options.dimensions, "seed": self.options.seed}

    def _train_static(self, name: str, size: str, config: Word2VecConfig | GloveConfig) -> None:
        shards, vocabulary, out = self.text.shards(size), self.text.vocabulary(), self.out / size / name
        workers = self.options.workers
        train_static(config, shards, vocabulary, out, workers=workers, resume=True, progress=self.progress)

    def encoder(self, size: str) -> None:
        """An encoder by a recipe, for its budget; and the same before its first step: what spelling alone gives."""
        shards, vocabulary = self.text.shards(size), self.text.vocabulary()
        for name, budget in ((UNTRAINED, "0steps"), ("encoder", self.budgets[size])):
            out = self.out / (name if name == UNTRAINED else f"{size}/{name}")
            if name == UNTRAINED and size != self.sizes[0]:
                continue
            config = build_config(
                PretrainConfig,
                recipe=load_recipe(self.options.recipe, room="pretrain"),
                values={"seed": self.options.seed, "budget": budget},
                settings=self.options.encoder,
            )
            device, resume = self.options.device, out.exists()
            pretrain(config, shards, vocabulary, out, device=device, resume=resume, progress=self.progress, say=say)

    @property
    def systems(self) -> list[System]:
        """What is compared."""
        ours = [
            System(name, size, str(self.out / size / name))
            for size in self.sizes
            for name in ("word2vec", "glove", "encoder")
        ]
        floor = System(UNTRAINED, "", str(self.out / UNTRAINED))
        return [floor, *ours, *(System(Path(name).name, "", name) for name in self.options.beside)]

    # --- words ---

    def dictionaries(self) -> tuple[Entries, Entries, int]:
        """Entries to score on, entries to choose a layer on, and how many test words were left out as known."""
        beside = [load_encoder(model, device="cpu").provenance for model in self.options.beside]
        seen = {word.lower() for origin in beside for word in origin.words(ENGLISH)}
        test, dev, left = {}, {}, set()
        for code in self.others:
            listed, other = (list(read_dictionary(self._muse(code, part))) for part in ("5000-6500", "0-5000"))
            left |= {entry.source for entry in listed if entry.source in seen}
            test[ENGLISH, code] = [entry for entry in listed if entry.source not in seen]
            taken = seen | {entry.source for entry in listed}
            words = list(dict.fromkeys(entry.source for entry in other if entry.source not in taken))
            kept = set(words[:: max(1, len(words) // self.options.dev_words)])
            dev[ENGLISH, code] = [entry for entry in other if entry.source in kept]
        return test, dev, len(left)

    def _muse(self, code: str, part: str) -> Path:
        path = self.data / "muse" / f"en-{code}.{part}.txt"
        return path if path.exists() else path.with_name(path.name + ".xz")

    def wanted(self) -> dict[str, list[str]]:
        """All words of the dictionaries, by language."""
        test, dev, _ = self.dictionaries()
        both = {pair: [*test[pair], *dev[pair]] for pair in test}
        return words_by_language(both)

    def contexts(self) -> dict[str, Path]:
        """Where the words are met."""
        found: dict[str, Path] = self.text.contexts(self.wanted(), self.options.contexts)
        return found

    def words(self, system: System, way: str) -> dict[str, VectorSet]:
        """The vectors of words of every language; those of a run before, if they were asked for the same."""
        from safetensors.numpy import load, save

        wanted, contexts = self.wanted(), self.contexts() if way == "contexts" else {}
        encoder: Any = None
        sides = {}
        for code, words in wanted.items():
            if way == "contexts" and code not in contexts:
                continue
            path = self.out / "words" / f"{system.label.replace(' ', '.')}.{way}.{code}.safetensors"
            mark, asked = path.with_suffix(".json"), {"contexts": self.options.contexts, "asked": sorted(words)}
            known = read_json(mark) if mark.exists() else {}
            if known.get("of") == asked:
                layers: dict[int | None, np.ndarray] = {
                    int(name): matrix for name, matrix in load(read_bytes(path)).items()
                }
                sides[code] = VectorSet(name=code, layers=layers, items=known["words"])
                continue
            encoder = encoder or load_encoder(system.place, device=self.options.device)
            sides[code] = (
                self._alone(encoder, words, code) if way == "alone" else self._met(encoder, contexts, words, code)
            )
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, save({str(layer): np.ascontiguousarray(X) for layer, X in sides[code].layers.items()}))
            write_json(mark, {"of": asked, "words": list(sides[code].items or ())})
        return sides

    def _alone(self, encoder: Any, words: list[str], code: str) -> VectorSet:
        if isinstance(encoder, TableEncoder):
            vectors = word_vectors(encoder, words, code)
            return VectorSet(name=code, layers={0: vectors.matrix_ND}, items=vectors.words)
        found = extract(encoder, words, language=code, progress=self.progress)
        return VectorSet(name=code, layers={layer: found[layer] for layer in found.layers}, items=words)

    def _met(self, encoder: Any, contexts: Mapping[str, Path], words: list[str], code: str) -> VectorSet:
        most = self.options.contexts
        lookup = WordLookup(case="lower", contexts=most)
        side = context_side(encoder, [contexts[code]], words, code, lookup, progress=self.progress)
        # Of static vectors a word may have none: no subword of it was frequent enough.
        rows = np.flatnonzero(side.layers[0].any(axis=1)).tolist()
        items = [(side.items or ())[row] for row in rows]
        return VectorSet(name=code, layers={layer: X_ND[rows] for layer, X_ND in side.layers.items()}, items=items)

    # --- figures ---

    def score(self) -> dict[str, Any]:
        """Every system, way and size: a layer chosen, and its figures."""
        test, dev, left = self.dictionaries()
        sides = {(system, way): self.words(system, way) for system in self.systems for way in self.ways}
        common: dict[str, set[str]] = {}
        for each in sides.values():
            for code, side in each.items():
                words = set(side.items or ())
                common[code] = common.get(code, words) & words
        test, dev = (_with_both(entries, common) for entries in (test, dev))
        other = {pair: [entry for entry in each if entry.source != entry.target] for pair, each in test.items()}
        rows = []
        for (system, way), each in sides.items():
            chosen = self._scored(each, dev, 1)
            found, different = (self._scored(each, entries, 1000) for entries in (test, other))
            for center, said in CENTERS.items():
                layer = max(next(iter(each.values())).layers, key=lambda layer, c=center: _mean_mrr(chosen, layer, c))  # type: ignore[misc]
                rows.append(
                    {
                        "system": system.name,
                        "tokens": system.size,
                        "words": way,
                        "means": said,
                        "layer": layer,
                        "paper": way == PAPER.get(system.name, "contexts"),
                        "drawn": way == PAPER.get(system.name, self.ways[-1]),
                        "mean_mrr": _mean_mrr(found, layer, center),
                        "pairs": {code: _figures(pair, layer, center) for code, pair in found.items()},
                        "other_spelling": {code: _figures(pair, layer, center) for code, pair in different.items()},
                        "mrr_by_layer": {
                            str(at): _mean_mrr(found, at, center) for at in next(iter(each.values())).layers
                        },
                    }
                )
        facts = {
            "entries": {code: len(test[ENGLISH, code]) for code in self.others},
            "of_entries": {code: len(each) for (_, code), each in self.dictionaries()[0].items()},
            "other_spelling": {code: len(other[ENGLISH, code]) for code in self.others},
            "left_out": left,
            "sentences": self.text.cuts(),
            "options": {key: value for key, value in vars(self.options).items() if key != "only"},
        }
        return facts | {"rows": rows}

    def write_score(self) -> None:
        """The figures, in JSON, as tables and as a drawing."""
        found = self.score()
        write_json(self.out / "result.json", found)
        write_text(self.out / "result.md", page(found) + "\n")
        write_text(self.out / "result.svg", figure(found))
        print(page(found))

    def _scored(self, sides: Mapping[str, VectorSet], entries: Entries, resamples: int) -> dict[str, PairScores]:
        device = choose_device(self.options.device)
        config = RetrievalConfig(methods=("cosine",), resamples=resamples, seed=self.options.seed)
        return {
            pair[1]: score_dictionary(
                *entry_sides(sides, pair, each), each, self._muse(pair[1], "…"), config=config, device=device
            )
            for pair, each in entries.items()
            if all(code in sides for code in pair)
        }


def _with_both(entries: Entries, common: Mapping[str, set[str]]) -> dict[tuple[str, str], list[Entry]]:
    return {
        (one, two): [entry for entry in each if entry.source in common[one] and entry.target in common[two]]
        for (one, two), each in entries.items()
    }


def _mean_mrr(found: Mapping[str, PairScores], layer: int | None, center: Any) -> float:
    return float(np.mean([pair.of(layer, center).of("cosine").mrr.value for pair in found.values()]))


def _figures(pair: PairScores, layer: int | None, center: Any) -> dict[str, float]:
    scores = pair.of(layer, center).of("cosine")
    return {
        "mrr": scores.mrr.value,
        "mrr_low": scores.mrr.low,
        "mrr_high": scores.mrr.high,
        "p@1": scores.precision[1].value,
        "words": scores.queries,
        "candidates": scores.candidates,
    }


def table(found: Mapping[str, Any], figures: str) -> str:
    """MRR and P@1 in %, a line each system, size and way; * is the second paper's way to a word's vector."""
    codes = list(found["entries"])
    heads = ["", "tokens", "words", "means", "layer", *(f"en → {code}" for code in codes), "mean MRR"]
    lines = [heads, ["---"] * 5 + ["---:"] * (len(codes) + 1)]
    for row in found["rows"]:
        cells = [row["system"], row["tokens"], row["words"] + " *" * row["paper"], row["means"], str(row["layer"])]
        pairs = row[figures]
        for code in codes:
            each = pairs.get(code)
            cells.append("–" if each is None else f"{each['mrr']:.3f} / {100 * each['p@1']:.1f}")
        lines.append([*cells, f"{np.mean([each['mrr'] for each in pairs.values()]):.3f}"])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def page(found: Mapping[str, Any]) -> str:
    """What was found, as Markdown."""
    entries = ", ".join(
        f"{code} {count:,} of {found['of_entries'][code]:,}" for code, count in found["entries"].items()
    )
    return "\n\n".join(
        [
            "MRR of entries / P@1 of words in %, cosine, among the dictionary's target words; * is the paper's way.",
            table(found, "pairs"),
            f"Entries that all have: {entries}. {found['left_out']:,} English words left out: known from training.",
            "Only entries whose two words are spelled differently:",
            table(found, "other_spelling"),
        ]
    )


def figure(found: Mapping[str, Any]) -> str:
    """MRR of entries spelled differently over data size, in the second paper's way; the untrained encoder in both."""
    lines: dict[str, list[tuple[float, float]]] = {}
    sizes, floor = _sizes(found), 0.0
    best = dict.fromkeys(sizes, (0.0, ""))
    for row in found["rows"]:
        if row["means"] != CENTERS["none"] or not (row["drawn"] or row["system"] == UNTRAINED):
            continue
        mrr = float(np.mean([pair["mrr"] for pair in row["other_spelling"].values()]))
        points = lines.setdefault(f"{row['system']}, {row['words']}", [])
        points += [(amount(size) / 1e6, mrr) for size in ([row["tokens"]] if row["tokens"] else sizes)]
        if row["system"] == UNTRAINED:
            floor = max(floor, mrr)
        elif row["tokens"]:
            best[row["tokens"]] = max(best[row["tokens"]], (mrr, row["system"]))
    said = "".join(f", with {size} tokens {mrr:.3f} ({name})" for size, (mrr, name) in best.items())
    title = f"MRR of words spelled differently, the best of each: {UNTRAINED} {floor:.3f}{said}"
    words = f"MUSE's test words from English, mean of {', '.join(found['entries'])}, read alone or in contexts"
    figure = line_figure(  # the highest first, so that names stand in the order of their lines
        [Line(name=name, points=lines[name]) for name in sorted(lines, key=lambda name: -lines[name][-1][1])],
        name="static-and-contextual",
        title=title,
        caption=f"{words}; vectors as they are. Level lines: models that were there before.",
        x="tokens a language, millions",
        y="mean reciprocal rank",
    )
    return rendered(figure.titled(), "svg").decode()


def _sizes(found: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(row["tokens"] for row in found["rows"] if row["tokens"]))


def run(comparison: Comparison, only: Sequence[str]) -> None:
    """The stages in their order; a stage of which nothing is left to do takes a moment."""
    plain = {
        "vocabulary": comparison.text.vocabulary,
        "text": comparison.text.cuts,
        "contexts": comparison.contexts,
        "score": comparison.write_score,
    }
    by_size = {
        "shards": comparison.text.shards,
        "word2vec": comparison.word2vec,
        "glove": comparison.glove,
        "encoder": comparison.encoder,
    }
    for stage in STAGES:
        if stage not in only:
            continue
        begin = time.perf_counter()
        if stage in by_size:
            for size in comparison.sizes:
                by_size[stage](size)
        elif stage == "words":
            for system in comparison.systems:
                for way in comparison.ways:
                    comparison.words(system, way)
        else:
            plain[stage]()
        say(f"{stage}: {time.perf_counter() - begin:.1f} s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="a folder with text/ and muse/")
    parser.add_argument("--out", required=True, help="the folder of all stages")
    parser.add_argument("--tokens", nargs="+", default=["1M", "10M"], metavar="N", help="data sizes, a language")
    parser.add_argument("--langs", default="fr,de,ru,zh", help="with English")
    parser.add_argument("--vocab", help="a vocabulary. Default: one is learned")
    parser.add_argument("--vocab-size", type=int, default=32_000)
    parser.add_argument("--vocab-mb", type=float, default=20.0, help="of text a language, to learn it from")
    parser.add_argument("--dimensions", type=int, default=768, help="of static vectors")
    parser.add_argument("--recipe", default="mini", help="of the encoder: a name of isoglot pretrain --list, or a file")
    parser.add_argument("--budget", nargs="+", default=["8m"], help="of the encoder: 8m, 2000steps; one, or one a size")
    for name in ("word2vec", "glove", "encoder"):
        parser.add_argument(f"--{name}", action="append", default=[], metavar="KEY=VALUE", help="one setting of it")
    parser.add_argument("--beside", nargs="*", default=[], metavar="MODEL", help="models as they are, isoglot-mini")
    parser.add_argument("--contexts", type=int, default=20, help="sentences of a word at most; 0: words alone only")
    parser.add_argument("--dev-words", type=int, default=1000, help="words a language that a layer is chosen on")
    parser.add_argument("--workers", type=int, default=1, help="threads of Word2Vec and GloVe")
    parser.add_argument("--only", nargs="+", choices=STAGES, default=STAGES, help="stages. Default: all")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    try:
        run(Comparison(options, SILENT if options.quiet else choose_progress()), options.only)
    except IsoglotError as error:
        say(f"error: {error}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
