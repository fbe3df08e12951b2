"""Claims, and what they see of a study's numbers: averages over seeds, with bootstrap replicates.

A *cell* is a measure at certain coordinates, without seed, pair and depth. Every cell is an array of shape
1 + replicates: the average over seeds, then the same in each replicate. A claim computes with these arrays, so that
whatever it computes has replicates too.

**Test items.** Replicate ``i`` of a cell has draw ``i`` of its numbers. Cells with the same test items have the same
resampled items there, so differences are paired.

**Seeds.** The variance over seeds is pooled over arms. The residuals of an arm, ``(value - mean of the arm) *
sqrt(n / (n - 1))``, are pooled with those of other arms at the same coordinates. In every replicate each of an arm's
``n`` seeds gets the residuals of a seed that is drawn from the pool, the same one for all measures, languages and
layers, so that these stay correlated as they are. What of the residuals is due to the choice of test items is in the
draws already: residuals are scaled down by that, cell by cell.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import resources
from math import inf, log, sqrt
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from isoglot.core.errors import InputError
from isoglot.core.rng import random_stream
from isoglot.study.claims.statistics import UNLEARNED, Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from isoglot.study.numbers import Coordinate, Number

    Parts = Callable[["Evidence"], Iterable[Part]]

REPLICATES = 1000
"""Replicates of a cell. Where a number has fewer draws they are repeated, each time with other seeds."""
UNREAD = frozenset({"seed", "pair", "depth"})
"""Coordinates that a claim does not ask for. A number with any other coordinate that it does not name is not read."""
MODEL = ("arm", "variant", "pair", "system", "sentences", "window")
"""Coordinates that tell one trained model from another, beside the seed."""

Cell = tuple[str, frozenset[tuple[str, "Coordinate"]]]
Alias = tuple["Mapping[str, Coordinate | None]", "Mapping[str, Coordinate | None]"]
"""Coordinates that a claim asks for, and those that it gets instead.

Claims ask for a reference with the coordinate ``against``, the arm that it is compared with; it is there for aliases
alone.
"""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of a paper.

    Attributes:
        name: W1 to W17, L1 to L9.
        sentence: What the paper claims.
        test: What is tested.
        parts: Computes the parts from the evidence.
        printed: Whether the paper prints the numbers; otherwise it states the claim without them.
        beside: The same test with other numbers in place of some, by label. Shown beside the verdict; never changes it.
    """

    name: str
    sentence: str
    test: str
    parts: Parts
    printed: bool
    beside: Mapping[str, Sequence[Alias]]


@cache
def claim_words() -> dict[str, dict[str, Any]]:
    """The sentence and the test of every claim, by name, as ``claims.toml`` has them."""
    text = resources.files("isoglot.study.claims").joinpath("claims.toml").read_text(encoding="utf-8")
    return {name: words for paper in tomllib.loads(text).values() for name, words in paper.items()}


def declare(
    claims: dict[str, Claim], name: str, *, beside: Mapping[str, Sequence[Alias]] | None = None
) -> Callable[[Parts], Parts]:
    """Decorator that adds a function as the test of a claim to the claims of a paper.

    Args:
        claims: The claims of the paper.
        name: Name of the claim.
        beside: Other numbers to test it with, by label.
    """

    def add(parts: Parts) -> Parts:
        words = claim_words()[name]
        claims[name] = Claim(
            name=name,
            sentence=words["claim"],
            test=words["test"],
            parts=parts,
            printed=not words.get("unprinted", False),
            beside=beside or {},
        )
        return parts

    return add


class NotMeasuredError(Exception):
    """A claim cannot be tested, because numbers are missing."""


@dataclass(frozen=True)
class Pool:
    """Residuals over seeds, pooled over the arms at the same other coordinates, and their degrees of freedom."""

    residuals: np.ndarray
    freedom: int


class Index:
    """Numbers by cell, and the pooled residuals over seeds.

    Args:
        numbers: The numbers. The same number may come twice.
        apart: Whether numbers of several pairs are in different cells.
    """

    def __init__(self, numbers: Iterable[Number], *, apart: bool = False) -> None:
        self.cells: dict[Cell, dict[str, Number]] = defaultdict(dict)
        self.ambiguous: dict[Cell, tuple[Number, Number]] = {}
        for number in numbers:
            cell, seed = _cell_of(number, UNREAD - {"pair"} if apart else UNREAD), str(number.at.get("seed", ""))
            other = self.cells[cell].setdefault(seed, number)
            if other != number:
                self.ambiguous[cell] = (other, number)
        self.names: dict[tuple[str, frozenset[str]], list[Cell]] = defaultdict(list)
        for cell in self.cells:
            self.names[cell[0], frozenset(name for name, _ in cell[1])].append(cell)
        self.pools = self._pools()
        longest = max((len(number.draws) for found in self.cells.values() for number in found.values()), default=0)
        self.replicates = max(REPLICATES, longest) if longest or self.pools else 0
        self.replicated: dict[Cell, np.ndarray] = {}

    def freedom(self, cell: Cell) -> float:
        """Degrees of freedom of the variance over seeds; infinity where there is none."""
        pool = self.pools.get(_pool_of(next(iter(self.cells[cell].values()))))
        return pool.freedom if pool else inf

    def value(self, cell: Cell) -> np.ndarray:
        """A cell, of shape 1 + replicates.

        Raises:
            InputError: Several numbers have the same coordinates, or differ in the pair alone.
        """
        if cell in self.ambiguous:
            one, other = (f"{number.value:g} {dict(number.at)}" for number in self.ambiguous[cell])
            problem = f"two numbers for {in_words(cell)}: {one} and {other}"
            remedy = "add the coordinate that tells them apart, or keep one"
            raise InputError(problem, remedy, "duplicate")
        if cell not in self.replicated:
            numbers = [self.cells[cell][seed] for seed in sorted(self.cells[cell])]
            self.replicated[cell] = _replicates(numbers, self.pools.get(_pool_of(numbers[0])), self.replicates)
        return self.replicated[cell]

    def _pools(self) -> dict[Cell, Pool]:
        arms: dict[Cell, list[tuple[str, Mapping[str, Number]]]] = defaultdict(list)
        for found in self.cells.values():
            if len(found) > 1:
                first = next(iter(found.values()))
                arms[_pool_of(first)].append((str(first.at.get("arm", "")), found))
        pools = {}
        for place, groups in arms.items():
            residuals: list[float] = []
            over_items: list[float] = []
            for _, arm in sorted(groups, key=lambda group: group[0]):
                numbers = [arm[seed] for seed in sorted(arm)]
                values, factor = np.array([number.value for number in numbers]), sqrt(len(arm) / (len(arm) - 1))
                residuals += (factor * (values - values.mean())).tolist()
                if all(number.draws for number in numbers) and len({len(number.draws) for number in numbers}) == 1:
                    draws = np.array([number.draws for number in numbers])
                    over_items += (factor * (draws - draws.mean(axis=0))).var(axis=1).tolist()
            share = sum(over_items) / max(sum(one**2 for one in residuals), 1e-300)
            scaled = sqrt(max(0.0, 1 - share)) * np.array(residuals)
            pools[place] = Pool(scaled, len(residuals) - len(groups))
        return pools


@dataclass(eq=False)
class Evidence:
    """The numbers of a study as one claim reads them, and a record of what it read.

    Attributes:
        index: The numbers.
        aliases: Coordinates to read in place of others, for the same claim against another reference.
        read: Cells that were read.
        missing: What was asked for and is not there, in words.
        notes: What the reader of a verdict should know.
    """

    index: Index
    aliases: Sequence[Alias] = ()
    read: dict[Cell, None] = field(default_factory=dict)
    missing: dict[str, None] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)

    def value(self, measure: str, **at: Coordinate | None) -> np.ndarray:
        """A cell, of shape 1 + replicates; NaN where it is missing, which is recorded."""
        cell = self._cell(measure, at)
        self.read[cell] = None
        if cell not in self.index.cells:
            self.missing[in_words(cell)] = None
            return np.full(1 + self.index.replicates, np.nan)
        return self.index.value(cell)

    def mean(self, measure: str, over: Mapping[str, Iterable[Coordinate]], **at: Coordinate | None) -> np.ndarray:
        """The average of cells over the given values of a coordinate."""
        ((name, values),) = over.items()
        return average([self.value(measure, **at, **{name: value}) for value in values])

    def has(self, measure: str, **at: Coordinate | None) -> bool:
        """Whether a cell is there."""
        return self._cell(measure, at) in self.index.cells

    def places(self, measure: str, *names: str, **at: Coordinate | None) -> list[tuple[Any, ...]]:
        """Values of the named coordinates at which there is a cell with the given others, sorted.

        English as the tested language is left out, under private tags as well: all claims are about other languages.

        Raises:
            NotMeasuredError: There are none.
        """
        cell = self._cell(measure, at)
        asked = frozenset(name for name, _ in cell[1]) | frozenset(names)
        found = []
        for other in self.index.names.get((measure, asked), ()):
            there = dict(other[1])
            if cell[1] <= other[1] and str(there.get("language", "")).partition("-")[0] not in {"en", "en'"}:
                found.append(tuple(there[name] for name in names))
        if not found:
            self.absent(f"{in_words(cell)}, at any {' and '.join(names)}")
        return sorted(found, key=lambda place: [(isinstance(one, str), one) for one in place])

    def shared(self, name: str, *cells: tuple[str, Mapping[str, Coordinate | None]]) -> list[Any]:
        """Values of a coordinate at which all of the given cells are there, sorted.

        Raises:
            NotMeasuredError: There are none.
        """
        found = [[place[0] for place in self.places(measure, name, **at)] for measure, at in cells]
        common = [value for value in found[0] if all(value in others for others in found)]
        if not common:
            listed = "; ".join(in_words(self._cell(measure, at)) for measure, at in cells)
            self.absent(f"a {name} that all of these have: {listed}")
        return common

    def headroom(self, measure: str, languages: Sequence[str], at: Mapping[str, Coordinate]) -> float | None:
        """Score of a model minus that of the same model untrained, averaged over languages; None where not measured."""
        there = [one for one in languages if self.has(measure, language=one, variant="untrained", **at)]
        if not there:
            self.notes["floor not measured"] = None
            return None
        floor, trained = (self.mean(measure, {"language": there}, variant=one, **at) for one in ("untrained", None))
        return float((trained - floor)[0])

    def learned(self, arm: str, languages: Sequence[str]) -> dict[str, Any]:
        """Headroom of an encoder, as options of a part: at floor with a perplexity above a tenth of its ids.

        The floor is guessing among the ids that a language has: the headroom is how far dev loss is below that, in
        nats, on average over languages. It is no test item, so it counts neither as read nor as missing.
        """
        rooms = []
        for language in languages:
            at = frozenset({("arm", arm), ("language", language)})
            perplexities, ids = (self.index.cells.get((measure, at)) for measure in ("perplexity", "ids_read"))
            if perplexities and ids:
                losses = [log(max(number.value, 1e-9)) for number in perplexities.values()]
                rooms.append(log(max(1.0, next(iter(ids.values())).value)) - sum(losses) / len(losses))
        if not rooms:
            self.notes["floor not measured"] = None
            return {}
        return {"headroom": sum(rooms) / len(rooms), "margin": -log(UNLEARNED) / 2}

    def absent(self, what: str) -> NoReturn:
        """Record that something is missing without which the claim cannot be tested.

        Raises:
            NotMeasuredError: Always.
        """
        self.missing[what] = None
        raise NotMeasuredError(what)

    def depth(self, measure: str, layers: Sequence[int], **at: Coordinate | None) -> int:
        """Layers of the encoder whose layers were measured: the coordinate ``depth``, or else the last layer."""
        depths = [
            number.at["depth"]
            for layer in layers
            for number in self.index.cells.get(self._cell(measure, {**at, "layer": layer}), {}).values()
            if "depth" in number.at
        ]
        return int(depths[0]) if depths else max(1, *layers)

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the variance over seeds: the fewest of any cell that was read."""
        return min((pool.freedom for pool in self._pools() if pool), default=inf)

    @property
    def one_model(self) -> bool:
        """Whether some cell has no variance over seeds."""
        return not all(self._pools())

    @property
    def one_test_set(self) -> bool:
        """Whether some cell has no draws."""
        return not all(number.draws for number in self._trained())

    def check_draws(self) -> None:
        """Refuse bootstrap draws that cannot be paired.

        Raises:
            InputError: Numbers that were read have different counts of draws.
        """
        numbers = [number for cell in self.read for number in self.index.cells.get(cell, {}).values()]
        found = {len(number.draws): number for number in numbers if number.draws}
        if len(found) > 1:
            listed = " and ".join(f"{count} of {in_words(_cell_of(found[count], UNREAD))}" for count in sorted(found))
            problem = f"different counts of bootstrap draws: {listed}"
            remedy = "measure all with the same number of draws, so that they can be paired"
            raise InputError(problem, remedy, "row-count")

    @property
    def different_items(self) -> list[str]:
        """Measures and languages of which arms were tested on different items, in words."""
        items: dict[str, set[str]] = defaultdict(set)
        for number in self._trained():
            place = [str(number.at[name]) for name in ("language", "source", "target") if name in number.at]
            items[" ".join([number.measure, *place])].add(number.items)
        return [place for place, found in items.items() if len(found - {""}) > 1]

    @property
    def without_interval(self) -> list[str]:
        """Cells that have neither draws nor variance over seeds, in words."""
        pairs = zip(self._trained(), self._pools(), strict=True)
        return [in_words(_cell_of(number, UNREAD)) for number, pool in pairs if not (pool or number.draws)]

    @property
    def seeds(self) -> tuple[int, int]:
        """The fewest and the most seeds of a cell."""
        counts = [len(self.index.cells[cell]) for cell in self._trained_cells()]
        return min(counts, default=0), max(counts, default=0)

    def _trained_cells(self) -> list[Cell]:
        """Cells that were read, but for floors, of which one seed without draws is enough."""
        return [cell for cell in self.read if cell in self.index.cells and ("variant", "untrained") not in cell[1]]

    def _trained(self) -> list[Number]:
        """A number of each of these cells."""
        return [next(iter(self.index.cells[cell].values())) for cell in self._trained_cells()]

    def _pools(self) -> list[Pool | None]:
        return [self.index.pools.get(_pool_of(number)) for number in self._trained()]

    def _cell(self, measure: str, at: Mapping[str, Coordinate | None]) -> Cell:
        asked: dict[str, Coordinate | None] = dict(at)
        for old, new in self.aliases:
            if all(asked.get(name) == value for name, value in old.items()):
                asked |= new
        asked.pop("against", None)
        return measure, frozenset((name, value) for name, value in asked.items() if value is not None)


def average(cells: Sequence[np.ndarray]) -> np.ndarray:
    """The average of several cells."""
    return np.asarray(np.mean(cells, axis=0))


def _cell_of(number: Number, unread: frozenset[str]) -> Cell:
    """The cell that a number belongs to."""
    return number.measure, frozenset((name, value) for name, value in number.at.items() if name not in unread)


def in_words(cell: Cell) -> str:
    """A cell as a message shows it.

    >>> in_words(("nli", frozenset({("language", "de"), ("arm", "default")})))
    'nli (arm default, language de)'
    """
    places = ", ".join(f"{name} {value}" for name, value in sorted(cell[1], key=lambda place: place[0]))
    return f"{cell[0]} ({places})" if places else cell[0]


def _pool_of(number: Number) -> Cell:
    """The pool of a number's residuals: all arms at its other coordinates."""
    there = {name: value for name, value in number.at.items() if name not in {"arm", "seed", "depth"}}
    return number.measure, frozenset(there.items())


def _replicates(numbers: Sequence[Number], pool: Pool | None, count: int) -> np.ndarray:
    """The average over seeds, then the same in each replicate."""
    values = np.full(1 + count, float(np.mean([number.value for number in numbers])))
    values[1:] = np.mean([np.resize(number.draws or (number.value,), count) for number in numbers], axis=0)
    if pool:
        model = repr([numbers[0].at.get(name) for name in MODEL])
        drawn = [_uniform(model, slot, count) * len(pool.residuals) for slot in range(len(numbers))]
        values[1:] += np.mean([pool.residuals[each.astype(int)] for each in drawn], axis=0)
    return values


@lru_cache(maxsize=512)
def _uniform(model: str, slot: int, count: int) -> np.ndarray:
    """Random numbers from 0 to 1 that choose the residuals for one seed of a model in each replicate."""
    return random_stream(0, "residuals over seeds", model, slot).random(count)
