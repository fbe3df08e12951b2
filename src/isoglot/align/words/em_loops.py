"""Loops of word alignment over flat arrays, compiled by numba where it is installed.

Without numba they run as plain Python, a hundred times slower. Arrays are in the order of the words of a bitext, all
sentences concatenated; offsets give the beginning of each sentence.

A *cell* is a source word and a target word of the same sentence pair, a *slot* a pair of word types with a cell
somewhere. ``cells`` has the slot of every cell: that of source word ``i`` and target word ``j`` of sentence pair ``s``
is at ``cell_starts[s] + j * len(source) + i``. Both directions use the same cells.

Shape legend: ``S`` sentence pairs, ``N`` words of the explained side, ``K`` slots, ``V`` word types.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from isoglot.core.optional import compiled

FLOOR = 1e-9
"""Translation probability of words that were never, or hardly, seen together."""


@compiled
def index_cells(
    source: np.ndarray,
    source_starts: np.ndarray,
    target: np.ndarray,
    target_starts: np.ndarray,
    types: int,
    others: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Number the pairs of word types that co-occur: by source type, then by first occurrence.

    No hashing: the sentences of one source type are processed together, with a mark on every target type seen so far.

    Returns:
        The cells, the offsets of each sentence's cells (S + 1), the offsets of each source type's slots (V + 1), and
        the target type of each slot (K).
    """
    sentences = len(source_starts) - 1
    begins = np.zeros(types + 1, np.int64)
    for word in source:
        begins[word + 1] += 1
    for word in range(types):
        begins[word + 1] += begins[word]
    filled = begins[:-1].copy()
    sentence_of = np.empty(len(source), np.int32)
    place_of = np.empty(len(source), np.int32)
    cell_starts = np.zeros(sentences + 1, np.int64)
    for s in range(sentences):
        for place in range(source_starts[s], source_starts[s + 1]):
            word = source[place]
            sentence_of[filled[word]] = s
            place_of[filled[word]] = place - source_starts[s]
            filled[word] += 1
        cells_here = (source_starts[s + 1] - source_starts[s]) * (target_starts[s + 1] - target_starts[s])
        cell_starts[s + 1] = cell_starts[s] + cells_here
    cells = np.empty(cell_starts[sentences], np.int32)
    met = np.full(others, -1, np.int32)
    slot_of = np.zeros(others, np.int32)
    rows = np.zeros(types + 1, np.int64)
    columns = np.empty(1 << 10, np.int32)
    slots = 0
    for word in range(types):
        for occurrence in range(begins[word], begins[word + 1]):
            s = sentence_of[occurrence]
            length = source_starts[s + 1] - source_starts[s]
            cell = cell_starts[s] + place_of[occurrence]
            for place in range(target_starts[s], target_starts[s + 1]):
                other = target[place]
                if met[other] != word:
                    met[other] = word
                    slot_of[other] = slots
                    if slots == len(columns):
                        longer = np.empty(2 * slots, np.int32)
                        longer[:slots] = columns
                        columns = longer
                    columns[slots] = other
                    slots += 1
                cells[cell] = slot_of[other]
                cell += length
        rows[word + 1] = slots
    return cells, cell_starts, rows, columns[:slots].copy()


@compiled
def prior_row(place: int, length: int, sources: int, tension: float, prior: np.ndarray) -> float:
    """Fill in ``exp(-tension * |i / sources - place / length|)`` for every source position i, from 1; return their sum.

    Away from the diagonal each value is the last times a constant, so a row takes three exponentials.
    """
    middle = place * sources / length
    below = min(int(middle + 1e-9), sources)
    step = math.exp(-tension / sources)
    total = 0.0
    value = math.exp(-tension * (middle - below) / sources)
    for i in range(below - 1, -1, -1):
        prior[i] = value
        total += value
        value *= step
    value = math.exp(-tension * (below + 1 - middle) / sources)
    for i in range(below, sources):
        prior[i] = value
        total += value
        value *= step
    return total


class Direction(NamedTuple):
    """The words that one direction explains, and the model that explains them."""

    words: np.ndarray
    """Explained words, sentence after sentence (N)."""
    starts: np.ndarray
    """Offsets of their sentences (S + 1)."""
    source_starts: np.ndarray
    """Offsets of the other side's sentences (S + 1)."""
    cells: np.ndarray
    cell_starts: np.ndarray
    backward: bool
    """Whether the explained side is the cells' source."""
    longest: int
    """Length of the longest sentence."""
    given: np.ndarray
    """Probability of each slot (K)."""
    given_null: np.ndarray
    """Probability of each word given null (V)."""
    tension: float
    """Strength of the diagonal prior."""
    null: float
    """Probability of null."""


@compiled
def expect(
    side: Direction, counts: np.ndarray, null_counts: np.ndarray, size_starts: np.ndarray, size_counts: np.ndarray
) -> tuple[float, float]:
    """E step: add expected counts of slots, of words aligned to null, and of positions by sentence sizes.

    Args:
        side: The direction.
        counts: Added to (K).
        null_counts: Added to (V).
        size_starts: Offsets of each sentence pair's position counts (S).
        size_counts: Added to: how often a position has a link.

    Returns:
        Log-likelihood of the words, and the expected sum of -|i/m - j/n|.
    """
    likelihood, distance = 0.0, 0.0
    prior = np.empty(side.longest)
    joint = np.empty(side.longest)
    for s in range(len(side.starts) - 1):
        start = side.starts[s]
        length = side.starts[s + 1] - start
        sources = side.source_starts[s + 1] - side.source_starts[s]
        for j in range(length):
            word = side.words[start + j]
            share = (1.0 - side.null) / prior_row(j + 1, length, sources, side.tension, prior)
            first = side.cell_starts[s] + (j if side.backward else j * sources)
            stride = length if side.backward else 1
            nowhere = side.null * side.given_null[word]
            total = nowhere
            for i in range(sources):
                joint[i] = prior[i] * share * side.given[side.cells[first + i * stride]]
                total += joint[i]
            if total <= 0.0:
                continue  # all probabilities have underflowed: the word is uninformative
            likelihood += math.log(total)
            null_counts[word] += nowhere / total
            size_counts[size_starts[s] + j] += 1.0 - nowhere / total
            for i in range(sources):
                posterior = joint[i] / total
                counts[side.cells[first + i * stride]] += posterior
                distance -= posterior * abs((i + 1) / sources - (j + 1) / length)
    return likelihood, distance


@compiled
def posteriors(side: Direction, s: int, prior: np.ndarray, posterior: np.ndarray) -> float:
    """Posteriors of sentence s: probability of each word's source position, or of null (the last position).

    Returns:
        Log-likelihood of its words.
    """
    likelihood = 0.0
    start = side.starts[s]
    length = side.starts[s + 1] - start
    sources = side.source_starts[s + 1] - side.source_starts[s]
    for j in range(length):
        share = (1.0 - side.null) / prior_row(j + 1, length, sources, side.tension, prior)
        first = side.cell_starts[s] + (j if side.backward else j * sources)
        stride = length if side.backward else 1
        total = side.null * side.given_null[side.words[start + j]]
        posterior[j, sources] = total
        for i in range(sources):
            posterior[j, i] = prior[i] * share * side.given[side.cells[first + i * stride]]
            total += posterior[j, i]
        if total > 0.0:
            likelihood += math.log(total)
            posterior[j, : sources + 1] /= total
    return likelihood


@compiled
def expect_agreed(
    forward: Direction, backward: Direction, counts: np.ndarray, forward_counts: np.ndarray, backward_counts: np.ndarray
) -> tuple[float, float]:
    """E step of both directions in which a link counts by the product of their posteriors.

    Args:
        forward: The direction that explains target words.
        backward: The direction that explains source words.
        counts: Added to (K); the same for both directions.
        forward_counts: Added to: target words aligned to null.
        backward_counts: Added to: source words aligned to null.

    Returns:
        Log-likelihood of the target words, and of the source words.
    """
    longest = forward.longest
    prior = np.empty(longest)
    one = np.zeros((longest, longest + 1))
    other = np.zeros((longest, longest + 1))
    likelihood, reverse = 0.0, 0.0
    for s in range(len(forward.starts) - 1):
        i0, j0, cell = backward.starts[s], forward.starts[s], forward.cell_starts[s]
        m, n = backward.starts[s + 1] - i0, forward.starts[s + 1] - j0
        likelihood += posteriors(forward, s, prior, one)
        reverse += posteriors(backward, s, prior, other)
        for j in range(n):
            forward_counts[forward.words[j0 + j]] += one[j, m]
            for i in range(m):
                counts[forward.cells[cell + j * m + i]] += one[j, i] * other[i, j]
        for i in range(m):
            backward_counts[backward.words[i0 + i]] += other[i, n]
    return likelihood, reverse


@compiled
def expected_distance(
    lengths: np.ndarray, sources: np.ndarray, starts: np.ndarray, size_counts: np.ndarray, tension: float, longest: int
) -> tuple[float, float]:
    """Expected sum of -|i/m - j/n| at a tension, and its derivative."""
    prior = np.empty(longest)
    mean, slope = 0.0, 0.0
    for size in range(len(lengths)):
        for j in range(lengths[size]):
            count = size_counts[starts[size] + j]
            if count == 0.0:
                continue
            total = prior_row(j + 1, lengths[size], sources[size], tension, prior)
            first, second = 0.0, 0.0
            for i in range(sources[size]):
                away = -abs((i + 1) / sources[size] - (j + 1) / lengths[size])
                first += prior[i] * away
                second += prior[i] * away * away
            first /= total
            mean += count * first
            slope += count * (second / total - first * first)
    return mean, slope


@compiled
def digamma(x: float) -> float:
    """Digamma function for x above 0: recurrence up to 6, then its asymptotic series."""
    value = 0.0
    while x < 6.0:
        value -= 1.0 / x
        x += 1.0
    r = 1.0 / (x * x)
    series = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r / 132))))
    return value + math.log(x) - 0.5 / x - series


@compiled
def maximize(counts: np.ndarray, condition: np.ndarray, conditions: int, concentration: float) -> None:
    """M step, in place: counts become conditional probabilities.

    With a concentration above 0 it is variational Bayes under a symmetric Dirichlet prior: the exponential of the
    expected logarithm.
    """
    totals = np.zeros(conditions)
    for k in range(len(counts)):
        totals[condition[k]] += counts[k] + concentration
    if concentration > 0.0:
        for c in range(conditions):
            if totals[c] > 0.0:
                totals[c] = digamma(totals[c])
        for k in range(len(counts)):
            counts[k] = math.exp(digamma(counts[k] + concentration) - totals[condition[k]])
    else:
        for k in range(len(counts)):
            total = totals[condition[k]]
            counts[k] = counts[k] / total if total > 0.0 else 0.0


@compiled
def best_sources(side: Direction) -> np.ndarray:
    """Most likely source position of every word (N), -1 for null."""
    best = np.empty(len(side.words), np.int32)
    prior = np.empty(side.longest)
    for s in range(len(side.starts) - 1):
        start = side.starts[s]
        length = side.starts[s + 1] - start
        sources = side.source_starts[s + 1] - side.source_starts[s]
        for j in range(length):
            share = (1.0 - side.null) / prior_row(j + 1, length, sources, side.tension, prior)
            first = side.cell_starts[s] + (j if side.backward else j * sources)
            stride = length if side.backward else 1
            highest = side.null * max(side.given_null[side.words[start + j]], FLOOR)
            chosen = -1
            for i in range(sources):
                value = prior[i] * share * max(side.given[side.cells[first + i * stride]], FLOOR)
                if value > highest:
                    highest, chosen = value, i
            best[start + j] = chosen
    return best


@compiled
def look_up(
    rows: np.ndarray, columns: np.ndarray, wanted_rows: np.ndarray, wanted_columns: np.ndarray, types: int
) -> np.ndarray:
    """Index of each wanted slot among others of the same types, -1 if absent."""
    found = np.full(len(wanted_columns), -1, np.int64)
    place = np.zeros(types, np.int64)
    row_of = np.full(types, -1, np.int64)
    for row in range(min(len(rows), len(wanted_rows)) - 1):
        if wanted_rows[row] == wanted_rows[row + 1]:
            continue
        for slot in range(rows[row], rows[row + 1]):
            row_of[columns[slot]] = row
            place[columns[slot]] = slot
        for slot in range(wanted_rows[row], wanted_rows[row + 1]):
            if row_of[wanted_columns[slot]] == row:
                found[slot] = place[wanted_columns[slot]]
    return found
