"""Switching with a dict and lists, which the device is tested beside; and what comes of a text."""

from __future__ import annotations

import torch

from isoglot.pretrain.code_switching import CAP_BITS, RATE_BITS, DeviceSwitcher
from isoglot.pretrain.code_switching_table import (
    OPENS,
    STEP_BITS,
    Option,
    Span,
    SwitchTable,
    build_switch_tables,
    spans_of,
)
from isoglot.pretrain.counter_rng import high, host_draw
from isoglot.text.formats.dictionary import Entry
from isoglot.vocab import Vocabulary

Pick = tuple[tuple[int, ...], Option]


def spans_in(table: SwitchTable, ids: list[int]) -> list[Span]:
    """Divide a row into words and what is between them."""
    traits = [int(table.traits[index]) for index in ids]
    spans = {span.start: span for span in spans_of(traits)}
    size, start = len(ids), 0
    found: list[Span] = []
    while start < size:
        stops = [stop for stop in range(start + table.longest, start + 1, -1) if stop in spans or stop == size]
        runs = ((stop, tuple(ids[start:stop])) for stop in stops)
        stop = next((stop for stop, run in runs if run in table.entries or run in table.known), None)
        if stop is None:
            found.append(spans[start])
        else:
            found.append(Span(start, stop, stop < size and bool(start or traits[start] & OPENS)))
        start = found[-1].stop
    return found


def plainly(
    table: SwitchTable, raw: list[int], *, length: int, rate: float, cap: float, seed: int, step: int, row: int
) -> tuple[list[int], list[Pick]]:
    """What the device should do to a row, with a dict and lists; and what was replaced by what."""

    def draw(column: int) -> int:
        return host_draw(seed, f"switching {table.language}", step, row, column)

    spans = spans_in(table, raw)
    words = sum(span.word for span in spans)
    allowed = (words * round(cap * 2**CAP_BITS) + high(draw(0), CAP_BITS)) >> CAP_BITS
    picks = []
    for number, span in enumerate(spans):
        if span.word and tuple(raw[span.start : span.stop]) in table.entries:
            value = high(draw(1 + 2 * number), RATE_BITS)
            if value < round(rate * 2**RATE_BITS):
                picks.append((value, number))
    chosen = {number for _, number in sorted(picks)[:allowed]}
    done: list[Pick] = []
    ids: list[int] = []
    for number, span in enumerate(spans):
        here = tuple(raw[span.start : span.stop])
        if number in chosen:
            value = high(draw(2 + 2 * number), STEP_BITS)
            option = next(option for option in table.entries[here] if value < option.step)
            done.append((here, option))
            ids += option.ids
        else:
            ids += here
    return [ids[place % len(ids)] for place in range(length)], done


def table_of(dictionaries, vocabulary: Vocabulary, language: str) -> SwitchTable:
    return build_switch_tables(dictionaries, vocabulary, [language])[language]


def decoded(vocabulary: Vocabulary, text: str, found: dict[tuple[str, str], list[Entry]], language: str = "en") -> str:
    table = table_of(found, vocabulary, language)
    ids = vocabulary.encode(text + " ." * 20, language)
    switcher = DeviceSwitcher(table, window=len(ids), length=len(ids), rate=1.0, cap=1.0)
    result = switcher.switched(torch.tensor([ids]), 0, torch.tensor([0]))
    spans = [span for span in spans_in(table, ids) if span.word]
    assert int(result.words_B) == len(spans)
    text = vocabulary.decode(result.ids_BT[0].tolist())
    return text.partition(" .")[0]
