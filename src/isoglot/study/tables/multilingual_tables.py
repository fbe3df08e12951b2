"""Tables of studies on all languages at once, as Liu et al. (2020) print them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoglot.core.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoglot.study.numbers import Number, Numbers

_LATE = 10 / 12
_ITEMS = "± is half a 95 % interval over test items (bootstrap); means over seeds."


def multilingual_tables(numbers: Numbers) -> list[Table]:
    """Those tables that a study has numbers for."""
    tables = {
        "word_mrr": size_table,
        "convert_rate": steering_table,
        "token_set_size": token_set_table,
        "shift_alpha": shift_table,
    }
    return [table(numbers) for measure, table in tables.items() if len(numbers.select(measure))]


def size_table(numbers: Numbers) -> Table:
    """MRR and NLI of every system by size of the text and length of the input: Figures 1 to 6."""
    columns = [Column("system"), Column("sentences", title="sentences", format=",d"), Column("window")]
    columns += [Column("mrr", title="MRR"), Column("mrr_other", title="MRR, other spelling"), Column("p1", title="P@1")]
    languages = numbers.select("word_mrr", layer=None).values_of("language")
    tested = [code for code in numbers.select("nli").values_of("language") if numbers.select("nli", language=code)]
    columns += [Column(f"mrr_{code}", title=code, above="MRR") for code in languages]
    columns += [Column(f"nli_{code}", title=code, above="NLI") for code in tested]
    rows = []
    for at in _systems(numbers):
        variant = at.get("variant", "").replace("-", " ")
        row: dict[str, Any] = {**at, "system": at["system"] + (f", {variant}" if variant else "")}
        for name, measure in (("mrr", "word_mrr"), ("mrr_other", "word_mrr_other_spelling"), ("p1", "word_p1")):
            row[name] = _shown(_by_language(numbers, measure, at), 100)
        row |= {f"mrr_{code}": _shown([_here(numbers, "word_mrr", at, code)], 100) for code in languages}
        row |= {f"nli_{code}": _shown([_here(numbers, "nli", at, code)], 1) for code in tested}
        rows.append({column.name: row.get(column.name) for column in columns})
    entries = ", ".join(f"{one.at['language']} {one.value:,.0f}" for one in numbers.select("word_entries", seed=0))
    notes = (
        f"MRR and P@1 in % by cosine among the targets of the same entries ({entries}); averages first.",
        "The layer of an encoder is chosen on one half of the words and scored on the other, both ways.",
        "Encoders and Word2Vec read as many tokens whatever the number of sentences; with equal epochs, as often.",
        _ITEMS,
    )
    caption = "Words and NLI by size of the text and length of the input (Figures 1 to 6)"
    return Table.from_rows(rows, columns, caption=caption, footnotes=notes)


def steering_table(numbers: Numbers) -> Table:
    """Best BLEU-1 with its layer and alpha, and the convert rate in a late layer, for each direction: Table 2."""
    rates = numbers.select("convert_rate")
    late = _late_layer(rates)
    alphas = [alpha for alpha in sorted(rates.values_of("alpha")) if alpha]
    rows = []
    for source, target in dict.fromkeys((one.at["source"], one.at["target"]) for one in rates):
        at = {"source": source, "target": target}
        cells = {(one.at["layer"], one.at["alpha"]): one for one in numbers.select("bleu1", **at)}
        best = max(cells, key=lambda cell: _mean(list(numbers.select("bleu1", layer=cell[0], alpha=cell[1], **at))))
        row: dict[str, Any] = {"direction": f"{source} → {target}", "layer": best[0], "alpha": best[1]}
        row["bleu"] = _shown([list(numbers.select("bleu1", layer=best[0], alpha=best[1], **at))], 1)
        row["source_bleu"] = _shown([list(numbers.select("bleu1_source", **at))], 1)
        for alpha in alphas:
            row[f"rate_{alpha:g}"] = _shown([list(numbers.select("convert_rate", layer=late, alpha=alpha, **at))], 100)
            row[f"outside_{alpha:g}"] = _shown(
                [list(numbers.select("outside_share", layer=late, alpha=alpha, **at))], 100
            )
        rows.append(row)
    columns = [Column("direction"), Column("bleu", title="best BLEU-1"), Column("layer"), Column("alpha", format="g")]
    columns += [Column("source_bleu", title="BLEU-1, unchanged")]
    columns += [Column(f"rate_{alpha:g}", title=f"α {alpha:g}", above="convert rate, %") for alpha in alphas]
    columns += [Column(f"outside_{alpha:g}", title=f"α {alpha:g}", above="in neither language, %") for alpha in alphas]
    other = numbers.select("other_language_share")
    masked = ", ".join(f"{one.at['source']} {100 * one.value:.1f} %" for one in other if one.at.get("seed", 0) == 0)
    notes = (
        f"Convert rate and tokens in neither language at layer {late}; best layer and α by the same sentences.",
        f"Masked tokens that are decoded in another language without a shift: {masked}.",
        "BLEU-1 by sacrebleu's tokenizer 13a, characters in Chinese.",
        _ITEMS,
    )
    return Table.from_rows(rows, columns, caption="Token translation by a shift (Table 2)", footnotes=notes)


def token_set_table(numbers: Numbers) -> Table:
    """How many tokens each language has, and shares with the first: Table 3."""
    rows = []
    sizes = numbers.select("token_set_size", seed=0)
    first = sizes.values_of("language")[0]
    for language in sizes.values_of("language"):
        shared = numbers.select("token_set_shared", source=first, target=language, seed=0)
        read = numbers.select("token_set_text_tokens", language=language, seed=0)
        rows.append(
            {
                "language": language,
                "size": int(sizes.select(language=language).one.value),
                "shared": int(shared.one.value) if len(shared) else None,
                "tokens": int(read.one.value),
            }
        )
    columns = [
        Column("language"),
        Column("size", title="tokens in the set", format=",d"),
        Column("shared", title=f"shared with {first}", format=",d"),
        Column("tokens", title="tokens of text read", format=",d"),
    ]
    threshold = numbers.select("token_set_threshold", seed=0).one.value
    note = f"A token is in the set of a language whose text has it {threshold:.0f} times or more."
    return Table.from_rows(rows, columns, caption="Token sets (Table 3)", footnotes=(note,))


def shift_table(numbers: Numbers) -> Table:
    """NLI with all layers fine-tuned, with the upper half, and with a shift: Table 4."""
    arms = {"tune-all": "all layers", "tune-upper": "upper half", "tune-upper+shift": "upper half, shift"}
    scores = numbers.select("nli", system=None)
    source = numbers.select("nli_dev", arm="tune-all").values_of("language")
    languages = list(dict.fromkeys(str(one.at["language"]) for one in scores if one.at.get("arm") in arms))
    others = [code for code in languages if code not in source]
    rows: list[dict[str, Any]] = []
    for arm, title in arms.items():
        found = {code: list(scores.select(arm=arm, language=code, variant=None)) for code in languages}
        row: dict[str, Any] = {"arm": title} | {code: _shown([some], 1) for code, some in found.items()}
        rows.append({**row, "mean": _shown([found[code] for code in others], 1)})
    alphas = {code: list(numbers.select("shift_alpha", language=code)) for code in others}
    rows.append({"arm": "α"} | {code: f"{_mean(some):.2g}" for code, some in alphas.items() if some})
    columns = [Column("arm", title="fine-tuned"), *(Column(code) for code in languages)]
    columns.append(Column("mean", title=f"mean without {', '.join(map(str, source))}"))
    cells = [{column.name: row.get(column.name) for column in columns} for row in rows]
    note = "α is chosen on the dev set of each language: with a shift the transfer is not strictly zero-shot."
    caption = "NLI, accuracy in %, with a shift at the middle layer (Table 4)"
    return Table.from_rows(cells, columns, caption=caption, footnotes=(note, _ITEMS))


# --- cells ---


def _systems(numbers: Numbers) -> Iterator[dict[str, Any]]:
    """Coordinates of every system, but for language and seed."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for one in numbers.select("word_mrr", layer=None):
        at = {name: one.at[name] for name in ("system", "sentences", "window", "variant") if name in one.at}
        found.setdefault(tuple(at.items()), at)
    order = sorted(found.values(), key=_place)
    yield from order


def _place(at: dict[str, Any]) -> tuple[Any, ...]:
    return at.get("sentences", 0), at["system"], at.get("variant", ""), at.get("window", 0)


def _here(numbers: Numbers, measure: str, at: dict[str, Any], language: str) -> list[Number]:
    names = ("system", "sentences", "window", "variant")
    return list(numbers.select(measure, layer=None, language=language, **{name: at.get(name) for name in names}))


def _by_language(numbers: Numbers, measure: str, at: dict[str, Any]) -> list[list[Number]]:
    languages = numbers.select(measure, layer=None).values_of("language")
    return [some for code in languages if (some := _here(numbers, measure, at, code))]


def _late_layer(rates: Numbers) -> int:
    layers = rates.values_of("layer")
    depth = max(rates.values_of("depth"))
    return int(min(layers, key=lambda layer: abs(layer / depth - _LATE)))


def _mean(numbers: Sequence[Number]) -> float:
    return sum(number.value for number in numbers) / len(numbers)


def _shown(groups: Sequence[Sequence[Number]], scale: float) -> str | None:
    """The mean over languages of means over seeds, with half the width of its interval over test items."""
    import numpy as np

    if not groups or not all(groups):
        return None
    value = scale * sum(map(_mean, groups)) / len(groups)
    if not all(number.draws for group in groups for number in group):
        return f"{value:.1f}"
    draws = np.mean([np.mean([number.draws for number in group], axis=0) for group in groups], axis=0)
    low, high = np.quantile(draws, [0.025, 0.975])
    return f"{value:.1f} ±{scale * (high - low) / 2:.1f}"
