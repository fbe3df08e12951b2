"""Measures an encoder for its model card, writes one JSON with every figure, and fills the card's tables from it.

    python scripts/mini_card.py MODEL --data DIR --out card.json              # minutes on two cores
    python scripts/mini_card.py MODEL --data DIR --quick                      # Tatoeba alone, all layers
    python scripts/mini_card.py --from card.json --facts facts.json --tasks tasks/ --write docs/MINI.md    # the card

DIR has ``tatoeba/`` (line-aligned files), ``muse/`` (en-xx.txt, en-xx.5000-6500.txt), ``parallel/`` and ``text/``; each
can be named on its own, and .xz is read as it is. What is not there is left out and said so. With ``--from`` nothing is
measured. Tasks are those of ``isoglot transfer`` (mini_transfer.py).

Nothing is chosen on what it is reported on. One layer for all languages, for each way of comparing: by P@1 on sentences
of the parallel table that no map is learned on. The layer of a shift: by the share of tokens that are rightly
switched at alpha 2, on Tatoeba sentences that the figures are not of. Procrustes is learned on the parallel
table and turns Tatoeba's rows with each language's own mean removed, as in the column before it. Words that
training was given in a dictionary are left out of those that judge.

Shapes: ``N`` rows, ``D`` width.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from mini_figures import shifted, words_found
from mini_tables import WAYS, filled, tables
from mini_transfer import read_tasks, transfer_tables

from isoglot.align import Procrustes
from isoglot.compare import layer_cka
from isoglot.core.errors import InputError, IsoglotError, MissingPartError
from isoglot.core.files import read_json, write_json, write_text
from isoglot.core.progress import SILENT, choose_progress
from isoglot.model import load_encoder
from isoglot.represent import extract
from isoglot.retrieve import RetrievalConfig, WordLookup, csls, nearest, precision_at_k
from isoglot.retrieve.dictionaries import entry_sides, score_dictionary, words_by_language
from isoglot.retrieve.layer_scores import VectorSet
from isoglot.retrieve.parallel_sets import table_set, tatoeba_sets
from isoglot.retrieve.words import context_side
from isoglot.steer import LanguageMeans, sweep_shifts
from isoglot.steer.language_files import own_known
from isoglot.text.formats.dictionary import read_dictionary
from isoglot.text.formats.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from isoglot.core.progress import Progress
    from isoglot.model.encoder import Encoder
    from isoglot.represent import Representations
    from isoglot.text.formats.dictionary import Entry

TEMPLATE = Path(__file__).with_name("mini_card.md")
ENGLISH = "en"
TEXTS = {"en": "wiki.en", "de": "wiki.de", "fr": "europarl.fr", "ru": "novels.ru", "zh": "wiki.zh"}
COLUMNS = ("en", "fr", "ru", "zh", "de")  # of parallel/docs, which has no line of languages
ALPHAS = (1.0, 2.0, 3.0)
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")


class Effort(NamedTuple):
    """How much is read: all of it says the same, more of it more exactly."""

    learn: int
    """parallel sentences that a map is learned from"""
    choose: int
    """parallel sentences that a layer is chosen on"""
    means: int
    """sentences of the mean of a language"""
    pool: int
    """sentences in which contexts of words are looked for"""
    contexts: int
    """of a word, at most; with 0, words are only read alone"""
    shifted: int
    """sentences that a shift is measured on"""
    tried: int
    """other sentences that its layer is chosen on"""
    dev: int
    """rows of 128 tokens of the dev perplexity"""


EFFORTS = {
    "usual": Effort(2000, 300, 200, 3000, 0, 150, 40, 64),
    "thorough": Effort(10_000, 1000, 2000, 60_000, 5, 500, 200, 512),
}


class Card:
    """One encoder, what it is measured on, and the figures so far."""

    def __init__(self, options: argparse.Namespace, progress: Progress) -> None:
        self.options, self.progress = options, progress
        self.effort = EFFORTS[options.effort]
        self.languages: list[str] = options.langs.split(",")
        found = load_encoder(options.model, device=options.device)
        self.encoder: Encoder = found  # type: ignore[assignment]
        self.exact = self.encoder.device.type == "cpu"
        self.chosen: dict[str, int] = {}
        # A score on words that training was given is a leak; MUSE has them in lower case.
        self.seen = {word.lower() for word in self.encoder.provenance.words(ENGLISH)}

    def vectors(self, sentences: Sequence[str], language: str) -> Representations:
        """Mean-pooled sentences in every layer; on a GPU in bfloat16."""
        precision = "float32" if self.exact else "bfloat16"
        return extract(self.encoder, sentences, language=language, precision=precision, progress=self.progress)  # type: ignore[arg-type]

    # --- sentences ---

    def tatoeba(self, folder: Path, parallel: Path | None) -> dict[str, Any]:
        """P@1 in both directions and CKA, every layer; the layer of each way chosen on the parallel table."""
        sets = tatoeba_sets(folder, self.languages)
        maps: dict[str, list[Procrustes]] = {}
        choice: dict[str, Any] = {}
        if parallel is not None:
            maps, choice = self._learned(parallel)
        pairs, alike = {}, {}
        for code, rows in zip(self.languages, sets, strict=True):
            own, english = (self.vectors(rows.sentences[one], one) for one in (code, ENGLISH))
            pairs[code] = {"sentences": len(rows), **self._ways(own, english, maps.get(code))}
            if self.chosen:
                layer = self.chosen["centered"]
                pairs[code]["CSLS"] = self._both(csls, _centered(own[layer]), _centered(english[layer]))
            grid = layer_cka(own, english)
            alike[code] = {"sentences": len(rows), "debiased": np.diag(grid.debiased).tolist()}
            alike[code]["centered"] = np.diag(grid.centered).tolist()
        return {"tatoeba": {"layers": list(range(self.encoder.depth + 1)), "pairs": pairs} | choice, "cka": alike}

    def _learned(self, path: Path) -> tuple[dict[str, list[Procrustes]], dict[str, Any]]:
        """A rotation into English for every language and layer, and the layer of each way on rows not learned from."""
        effort = self.effort
        columns = [code for code in COLUMNS if code in (ENGLISH, *self.languages)] if "docs" in path.name else ()
        table = table_set(path, COLUMNS if columns else [ENGLISH, *self.languages])
        kept = [row for row in range(len(table)) if len(table.sentences[ENGLISH][row]) <= 150]
        # Evenly spread: neighbors are of one page.
        kept = [kept[int(place)] for place in np.linspace(0, len(kept) - 1, effort.learn + effort.choose)]
        held = set(kept[:: max(2, len(kept) // effort.choose)][: effort.choose])
        order = [row for row in kept if row not in held] + sorted(held)
        learn = slice(0, len(order) - len(held))
        rest = slice(learn.stop, None)
        rows = {
            code: self.vectors([table.sentences[code][row] for row in order], code)
            for code in (ENGLISH, *self.languages)
        }
        maps: dict[str, list[Procrustes]] = {}
        sums = {way: np.zeros(self.encoder.depth + 1) for way in WAYS}
        for code in self.languages:
            both = (rows[code], rows[ENGLISH])
            maps[code] = [
                Procrustes().fit(*(_centered(side[layer][learn]) for side in both)) for layer in rows[code].layers
            ]
            held_out = [{layer: side[layer][rest] for layer in side.layers} for side in both]
            found = self._ways(held_out[0], held_out[1], maps[code])
            for way in WAYS:
                sums[way] += [(each["to_en"] + each["from_en"]) / 2 for each in found[way]]
        self.chosen = {way: int(total.argmax()) for way, total in sums.items()}
        facts = {"table": path.name, "learned_on": learn.stop, "chosen_on": len(held)}
        means = {way: (total / len(self.languages)).tolist() for way, total in sums.items()}
        return maps, {"chosen": self.chosen, "choice": facts | {"p@1": means}}

    def _ways(
        self,
        own: Mapping[int, np.ndarray] | Representations,
        english: Mapping[int, np.ndarray] | Representations,
        maps: list[Procrustes] | None,
    ) -> dict[str, list[dict[str, float]]]:
        found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS if maps is not None or way != WAYS[-1]}
        for layer in range(self.encoder.depth + 1):
            X_ND, Y_ND = own[layer], english[layer]
            middle = _centered(X_ND), _centered(Y_ND)
            found["raw"].append(self._both(nearest, X_ND, Y_ND))
            found["centered"].append(self._both(nearest, *middle))
            if maps is not None:
                turned_ND = np.asarray(maps[layer].transform(middle[0]))
                found["Procrustes"].append(self._both(nearest, turned_ND, middle[1]))
        return found

    def _both(self, method: Callable[..., Any], X_ND: np.ndarray, Y_ND: np.ndarray) -> dict[str, float]:
        asked = {"to_en": (X_ND, Y_ND), "from_en": (Y_ND, X_ND)}
        return {name: precision_at_k(method(*rows, k=1, device=self.encoder.device)) for name, rows in asked.items()}

    # --- words ---

    def muse(self, folder: Path, texts: Mapping[str, list[str]]) -> dict[str, Any]:
        """MRR and P@1 of the test dictionaries: words read alone, and words as means over contexts in text."""
        files = {code: _file(folder, f"en-{code}.5000-6500.txt") for code in self.languages}
        entries = {(ENGLISH, code): list(read_dictionary(path)) for code, path in files.items() if path is not None}
        given = {entry.source for each in entries.values() for entry in each if entry.source in self.seen}
        entries = {pair: [entry for entry in each if entry.source not in given] for pair, each in entries.items()}
        words = words_by_language(entries)
        alone = {}
        for code, listed in words.items():
            rows = self.vectors(listed, code)
            alone[code] = VectorSet(name=code, layers={layer: rows[layer] for layer in rows.layers}, items=listed)
        found: dict[str, Any] = {"alone": self._dictionaries(entries, alone, folder)}
        if self.effort.contexts:
            sides, missing = self._in_contexts(words, texts)
            found["contexts"] = self._dictionaries(entries, sides, folder) | {"missing": missing}
        return {"muse": found | {"of_a_word": self.effort.contexts, "left_out": len(given)}}

    def _in_contexts(
        self, words: Mapping[str, list[str]], texts: Mapping[str, list[str]]
    ) -> tuple[dict[str, VectorSet], dict[str, str]]:
        """The words that are met in text; and why a language is left out."""
        sides, missing = {}, {}
        lookup = WordLookup(contexts=self.effort.contexts)
        with tempfile.TemporaryDirectory() as place:
            for code in [code for code in words if code in texts]:
                path = Path(place) / f"{code}.txt"
                write_text(path, "".join(f"{line}\n" for line in texts[code][: self.effort.pool]))
                try:
                    sides[code] = context_side(self.encoder, [path], words[code], code, lookup, progress=self.progress)
                except MissingPartError as error:
                    missing[code] = str(error)
        return sides, missing

    def _dictionaries(
        self, entries: Mapping[tuple[str, str], Sequence[Entry]], sides: Mapping[str, VectorSet], folder: Path
    ) -> dict[str, Any]:
        config = RetrievalConfig(methods=("cosine",), resamples=1)
        found = {}
        for pair, right in entries.items():
            if set(pair) <= set(sides):
                source, target = entry_sides(sides, pair, right)
                device = self.encoder.device
                scores = score_dictionary(source, target, right, folder, config=config, device=device)
                found[pair[1]] = words_found(scores)
        return {"pairs": found}

    # --- steering ---

    def steer(self, folder: Path, tatoeba: Path, texts: Mapping[str, list[str]]) -> dict[str, Any]:
        """Token translation from English: all layers on some sentences, the one chosen there on others."""
        known = own_known(self.options.model)
        if known is None:
            codes = [code for code in (ENGLISH, *self.languages) if code in texts]
            fitted = {code: texts[code][-self.effort.means :] for code in codes}
            means = LanguageMeans.fit(self.encoder, fitted, name=str(self.options.model), progress=self.progress)
            tokens = None
        else:
            means, tokens = known
        first, last = self.effort.shifted, self.effort.shifted + self.effort.tried
        sets = dict(zip(self.languages, tatoeba_sets(tatoeba, self.languages), strict=True))
        sweeps, tried, unseen = {}, {}, {}
        worth_L = np.zeros(self.encoder.depth + 1)
        for code, rows in sets.items():
            path = _file(folder, f"en-{code}.txt")
            if code not in means.languages or path is None:
                continue
            entries = list(read_dictionary(path))
            unseen[code] = [entry for entry in entries if entry.source not in self.seen]
            sweeps[code] = partial(
                sweep_shifts, self.encoder, source=ENGLISH, target=code, means=means, sets=tokens, alphas=ALPHAS,
                dictionary=entries,
            )  # fmt: skip
            tried[code] = sweeps[code](rows.sentences[ENGLISH][first:last], progress=self.progress)
            # Not convert rate times precision: where nearly all tokens are of both languages, that is of a handful.
            for cell, scores in tried[code].scores.items():
                if cell.alpha == 2.0:
                    worth_L[cell.layer] += (scores.precision or 0.0) * (scores.judged or 0) / scores.tokens
        found: dict[str, Any] = {}
        for code, sweep in sweeps.items():
            given, references = (sets[code].sentences[one][:first] for one in (ENGLISH, code))
            made = sweep(given, layers=[int(worth_L.argmax())], progress=self.progress)
            found[code] = {
                "sentences": len(given),
                "token_sets": made.about_sets(),
                "alphas": shifted(made, references, unseen[code]),
                "all_layers": shifted(tried[code], sets[code].sentences[code][first:last], unseen[code]),
            }
        mean_of = self.effort.means if known is None else means.moments[ENGLISH].about["sentences"]
        facts = {"layer": int(worth_L.argmax()), "chosen_on": self.effort.tried, "mean_of": mean_of}
        return {"steer": facts | {"pairs": found}}

    # --- perplexity ---

    def perplexity(self, texts: Mapping[str, list[str]]) -> dict[str, Any]:
        """At masked positions of rows of text, masked always the same, as in pretraining."""
        import torch

        from isoglot.pretrain.evaluation import MASK_SEED, perplexity
        from isoglot.pretrain.masking import Masker, MaskingConfig

        encoder, vocabulary = self.encoder.eval(), self.encoder.vocabulary
        length, special, masking = min(128, encoder.max_length), vocabulary.special, MaskingConfig()
        masker = Masker.for_vocabulary(masking, vocabulary, texts, seed=MASK_SEED, device=encoder.device)
        found = {}
        for code, lines in texts.items():
            ids = np.concatenate([np.asarray(each) for each in vocabulary.encode_batch(lines[:20_000], code)])
            text_NW = ids[: len(ids) // (length - 2) * (length - 2)].reshape(-1, length - 2)[: self.effort.dev]
            ends = [np.full((len(text_NW), 1), special[name]) for name in ("[CLS]", "[SEP]")]
            ids_NT = torch.from_numpy(np.hstack([ends[0], text_NW, ends[1]]).astype(np.int64)).to(encoder.device)
            if not len(ids_NT):
                continue
            with torch.inference_mode():
                masked = masker.masked(ids_NT, 0, torch.arange(len(ids_NT), device=encoder.device), code)
                hidden = encoder.hidden(masked.inputs_BT, code)
                loss = float(encoder.loss(hidden, masked.at_BK, masked.targets_BK, code))
            found[code] = {"rows": len(ids_NT), "perplexity": perplexity(loss)}
        return {"perplexity": {"length": length, "masked": masking.rate_at(0.0), "languages": found}}


def _centered(X_ND: np.ndarray) -> np.ndarray:
    return np.asarray(X_ND - X_ND.mean(axis=0))


def _file(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.xz") if path.exists()), None)


def sentences_of(path: Path, count: int) -> list[str]:
    """The first sentences of a text, cut where they seem to end; very short and very long ones are left out."""

    def every() -> Iterator[str]:
        for _, line in read_lines(path):
            yield from (part for part in map(str.strip, _SENTENCE_END.split(line)) if 10 <= len(part) <= 160)

    found = list(islice(every(), count))
    if not found:
        raise InputError("there is no sentence", remedy="give text with sentences of 10 to 160 characters", file=path)
    return found


def measured(options: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    """All figures there is data for."""
    card, data = Card(options, progress), options.data
    encoder, begin = card.encoder, time.perf_counter()
    parameters = sum(parameter.numel() for parameter in encoder.parameters())
    found: dict[str, Any] = {
        "model": {
            "layers": encoder.depth,
            "hidden_size": encoder.hidden_size,
            "vocabulary": len(encoder.vocabulary),
            "parameters": parameters,
            "languages": list(encoder.config.languages),
        },
        "effort": "quick" if options.quick else options.effort,
        "device": str(encoder.device),
        "seconds": {},
    }
    tatoeba = options.tatoeba or data / "tatoeba"
    parallel = options.parallel or next(iter(sorted((data / "parallel").glob("docs.*"))), None)
    muse = options.muse or data / "muse"

    def step(name: str, work: Callable[[], dict[str, Any]]) -> None:
        start = time.perf_counter()
        found.update(work())
        found["seconds"][name] = round(time.perf_counter() - start, 1)
        _say(f"{name}: {found['seconds'][name]} s, {time.perf_counter() - begin:.0f} s in all")
        if options.out:
            write_json(options.out, found)

    step("sentences", lambda: card.tatoeba(tatoeba, None if options.quick else parallel))
    if options.quick:
        return found
    named = dict(each.split("=", 1) for each in options.text)
    places = {code: Path(named[code]) if code in named else _file(data / "text", f"{name}.txt")
              for code, name in TEXTS.items() if code in (ENGLISH, *card.languages)}  # fmt: skip
    enough = card.effort.pool + card.effort.means
    texts = {code: sentences_of(path, enough) for code, path in places.items() if path is not None}
    found["texts"] = {code: path.name for code, path in places.items() if path is not None}
    step("steering", lambda: card.steer(muse, tatoeba, texts))
    step("words", lambda: card.muse(muse, texts))
    if options.dev:
        dev = {code: Path(path) for code, path in (each.split("=", 1) for each in options.dev)}
        step("perplexity", lambda: card.perplexity({code: sentences_of(path, 20_000) for code, path in dev.items()}))
    return found


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def main() -> int:
    """Measure, write, show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", help="the encoder's folder")
    parser.add_argument("--data", type=Path, default=Path("data"), help="where tatoeba/, muse/, parallel/, text/ are")
    for name in ("tatoeba", "parallel", "muse"):
        parser.add_argument(f"--{name}", type=Path, help="in place of what --data has")
    parser.add_argument("--text", action="append", default=[], metavar="de=FILE", help="for means and contexts")
    parser.add_argument("--dev", action="append", default=[], metavar="de=FILE", help="text that was not trained on")
    parser.add_argument("--langs", default="de,fr,ru,zh", help="with English")
    parser.add_argument("--effort", choices=EFFORTS, default="usual", help="thorough: for a GPU")
    parser.add_argument("--quick", action="store_true", help="Tatoeba alone: raw and centered, all layers")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--facts", type=Path, help="a JSON with what is to be said of the training, row by row")
    parser.add_argument("--tasks", type=Path, help="a folder with what `isoglot transfer ner|parse|nli … --json` wrote")
    parser.add_argument("--choices", type=Path, help="the JSON that mini_steer.py wrote: layer and alpha of each pair")
    parser.add_argument("--from", dest="given", type=Path, help="figures measured before")
    parser.add_argument("--out", type=Path, help="the JSON to write")
    parser.add_argument("--write", type=Path, help="the card to fill; made from the template if it is not there")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    try:
        if options.given is None and options.model is None:
            parser.error("give a model, or --from with figures")
        progress = SILENT if options.quiet else choose_progress()
        card = read_json(options.given) if options.given else measured(options, progress)
        if options.facts:
            card["training"] = read_json(options.facts)
        if options.tasks:
            card["transfer"] = read_tasks(options.tasks)
        if options.choices:
            card["choices"] = read_json(options.choices)
        parts = tables(card) | (transfer_tables(card["transfer"]) if "transfer" in card else {})
        if options.out:
            write_json(options.out, card)
        if options.write:
            place = options.write if options.write.exists() else TEMPLATE
            write_text(options.write, filled(place.read_text("utf-8"), parts))
        sys.stdout.write("\n\n".join(f"## {name}\n\n{part}" for name, part in parts.items()) + "\n")
        if not (options.out or options.write or options.quick):
            sys.stdout.write(json.dumps(card, indent=1) + "\n")
    except IsoglotError as error:
        _say(f"error: {error}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
