"""The model card's tables, from the JSON of figures that ``mini_card.py`` writes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WAYS = ("raw", "centered", "Procrustes")
"""How sentences are compared: as they are, with each language's mean removed, then turned by a learned rotation."""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown: the first column is text, the others are numbers."""
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def _mean(each: Mapping[str, float]) -> float:
    return (each["to_en"] + each["from_en"]) / 2


def tables(card: Mapping[str, Any]) -> dict[str, str]:
    """The parts of the card that have numbers, by the name of their place."""
    model = card["model"]
    sizes = [str(model["layers"]), str(model["hidden_size"]), f"{model['vocabulary']:,}"]
    sizes += [f"{model['parameters'] / 1e6:.1f} M", ", ".join(model["languages"])]
    found = {"model": table(["layers", "hidden size", "vocabulary", "parameters", "languages"], [sizes])}
    if "training" in card:
        found["training"] = table(["", ""], [[key, str(value)] for key, value in card["training"].items()])
    found |= _sentence_tables(card["tatoeba"])
    if "cka" in card:
        rows = [[code, *(f"{value:.2f}" for value in each["debiased"])] for code, each in card["cka"].items()]
        found["cka"] = table(["with English", *_layers(card)], rows)
    if "muse" in card:
        found["muse"] = _word_table(card)
    if "steer" in card:
        found |= _shift_tables(card["steer"])
    if "choices" in card:
        found["steer-choice"] = choice_table(card["choices"])
    if "perplexity" in card:
        each = card["perplexity"]
        numbers = {code: f"{value['perplexity']:.1f}" for code, value in each["languages"].items()}
        head = f"Rows of {each['length']} tokens, {each['masked']:.0%} masked.\n\n"
        found["perplexity"] = head + table(["language", "perplexity"], [[*pair] for pair in numbers.items()])
    return found


def _layers(card: Mapping[str, Any]) -> list[str]:
    return [f"layer {layer}" for layer in card["tatoeba"]["layers"]]


def _sentence_tables(tatoeba: Mapping[str, Any]) -> dict[str, str]:
    chosen, pairs = tatoeba.get("chosen"), tatoeba["pairs"]
    every = []
    for code, ways in pairs.items():
        for way in (way for way in WAYS if way in ways):
            every.append([f"{code}, {way}", *(_percent(_mean(each)) for each in ways[way])])  # noqa: PERF401
    found = {"tatoeba-layers": table(["with English", *(f"layer {n}" for n in tatoeba["layers"])], every)}
    if chosen:
        rows = []
        for code, ways in pairs.items():
            cells = [*(ways[way][chosen[way]] for way in WAYS), ways["CSLS"]]
            rows += [[f"{code} → en", *(_percent(each["to_en"]) for each in cells)]]
            rows += [[f"en → {code}", *(_percent(each["from_en"]) for each in cells)]]
        choice, size = tatoeba["choice"], next(iter(pairs.values()))["sentences"]
        found["tatoeba"] = (
            table(["P@1, %", *(f"{way} (layer {chosen[way]})" for way in WAYS), "centered, CSLS"], rows)
            + f"\n\n{size:,} pairs of each language. Layers chosen on {choice['chosen_on']:,} sentences of"
            f" `{choice['table']}`, Procrustes learned on {choice['learned_on']:,} others."
        )
    return found


def _word_table(card: Mapping[str, Any]) -> str:
    layer, rows = card["tatoeba"].get("chosen", {}).get("centered"), []
    muse = card["muse"]
    for way, title in (("alone", "read alone"), ("contexts", f"{muse['of_a_word']} contexts")):
        for code, each in muse.get(way, {"pairs": {}})["pairs"].items():
            by = {(row["layer"], row["center"]): row for row in each["layers"]}
            cells = [by[layer, center] for center in ("none", "mean")]
            numbers = [cell for row in cells for cell in (f"{row['mrr']:.3f}", _percent(row["p@1"]))]
            rows.append([f"en → {code}, {title}", f"{each['entries'][0]:,} of {each['entries'][1]:,}", *numbers])
    head = ["", "entries", "MRR", "P@1, %", "MRR, centered", "P@1, %, centered"]
    missing = muse.get("contexts", {}).get("missing", {})
    notes = "".join(f" No contexts of {code}: {why}." for code, why in missing.items())
    left = muse.get("left_out", 0)
    notes += f" {left:,} English words of the test dictionaries were in training's and are left out." if left else ""
    return table(head, rows) + f"\n\nLayer {layer}, chosen by sentences.{notes}"


def _shift_tables(steer: Mapping[str, Any]) -> dict[str, str]:
    rows, every, depth = [], [], 0
    for code, each in steer["pairs"].items():
        for alpha, figures in each["alphas"].items():
            (bleu,) = figures["bleu_1"]
            numbers = [_percent(figures["convert_rate"][0])]
            numbers += [
                f"{_percent(figures['precision' + kind][0])} of {figures['judged' + kind][0]:,}"
                for kind in ("", "_unseen")
            ]
            rows.append([f"en → {code}", alpha, *numbers, "–" if bleu is None else f"{bleu:.1f}"])
        for name in ("convert_rate", "precision"):
            title, values = name.replace("_", " "), each["all_layers"]["2"][name]
            depth = len(values)
            every.append([f"en → {code}, {title}", *(_percent(value) for value in values)])
    head = ["", "α", "convert rate, %", "precision, %", "of words not given, %", "BLEU-1"]
    sentences = next(iter(steer["pairs"].values()), {"sentences": 0})["sentences"]
    notes = (
        f"\n\nLayer {steer['layer']}, chosen on {steer['chosen_on']:,} other sentences, those of the table below;"
        f" {sentences:,} sentences of Tatoeba; each mean is of {steer['mean_of']:,} sentences."
    )
    return {
        "steer": table(head, rows) + notes,
        "steer-layers": table(["α = 2, %", *(f"layer {layer}" for layer in range(depth))], every),
    }


def choice_table(found: Mapping[str, Any]) -> str:
    """The layer and alpha of each pair of languages, from the JSON of ``mini_steer.py``.

    Figures are of XNLI test, beside those of the last layer but one with alpha 2.
    """
    rows = []
    for way, facts in found.items():
        choice = facts["choice"]
        cell = f"{choice['layer']}/{choice['alpha']:g}"
        plain = next(name for name in reversed(facts["test"]) if name.endswith("/2"))
        (bleu, rate, neither), other = facts["test"][cell], facts["test"][plain]
        low, high = facts["test_interval"][cell]
        row = [way.replace("-", " → "), f"{choice['layer']}, {choice['alpha']:g}", f"{facts['test_source']:.1f}"]
        row += [f"{bleu:.1f} [{low:.1f}, {high:.1f}]", _percent(rate), _percent(neither)]
        rows.append([*row, f"{other[0]:.1f}", _percent(other[1]), _percent(other[2])])
    one = next(iter(found.values()))
    head = ["", "layer, α", "BLEU-1 of the source", "BLEU-1", "convert rate, %", "neither, %"]
    head += [f"BLEU-1 at layer {plain.partition('/')[0]}, α = 2", "convert rate, %", "neither, %"]
    alphas = dict.fromkeys(name.partition("/")[2] for name in one["dev"])
    note = f"Chosen on {one['choice']['sentences']} sentences of {one['choice']['text']} among all layers with α = "
    note += f"{', '.join(alphas)}; reported on {one['test_sentences']} of XNLI test, in brackets 95 % intervals."
    return f"{table(head, rows)}\n\n{note}"


def filled(text: str, parts: Mapping[str, str]) -> str:
    r"""The text with what stands between ``<!-- name -->`` and ``<!-- /name -->`` replaced.

    >>> filled("a <!-- x -->old<!-- /x --> b", {"x": "new"})
    'a <!-- x -->\nnew\n<!-- /x --> b'
    """
    for name, part in parts.items():
        between = re.compile(f"(<!-- {re.escape(name)} -->).*?(<!-- /{re.escape(name)} -->)", re.DOTALL)
        text = between.sub(lambda match, part=part: f"{match[1]}\n{part}\n{match[2]}", text)  # type: ignore[misc]
    return text
