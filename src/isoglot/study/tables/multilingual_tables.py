"""Tables of studies on all languages at once, as Liu et al. (2020) print them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoglot.core.table import Column, Table
from isoglot.study.claims.printed_numbers import printed
from isoglot.study.numbers import Numbers, mean_cell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


SYSTEMS = {
    "word2vec": "Word2Vec",
    "glove": "GloVe",
    "fasttext": "fastText",
    "encoder": "encoder",
    "released": "released",
}
SHIFT_ARMS = {"tune-all": "all layers", "tune-upper": "upper half", "tune-upper+shift": "upper half, shift"}
_SYSTEM = (Column("system"), Column("sentences", format=",d"), Column("window", title="input, tokens"))
_SIZE_MEASURES = {
    "mrr": ("MRR, %", "word_mrr", 100.0),
    "mrr_other": ("MRR, other spelling", "word_mrr_other_spelling", 100.0),
    "p1": ("P@1, %", "word_p1", 100.0),
    "nli": ("NLI, %", "nli", 1.0),
}
_COORDINATES = ("system", "sentences", "window", "variant")
_ITEMS = "± is half a 95 % interval over test items (bootstrap); means over seeds."


def multilingual_tables(numbers: Numbers) -> list[Table]:
    """The tables that a study has numbers for, with the paper's numbers beside them where it prints some."""
    tables = {
        "word_mrr": (size_table, size_language_table),
        "outside_share": (bleu_table, rate_table, outside_table),
        "token_set_size": (token_set_table,),
        "shift_alpha": (shift_table,),
    }
    return [table(numbers) for measure, some in tables.items() if len(numbers.select(measure)) for table in some]


# --- Figures 1 to 6 ---


def size_table(numbers: Numbers) -> Table:
    """MRR, P@1 and NLI of every system by size of the text and length of the input, averages over languages."""
    columns = [*_SYSTEM, *(Column(name, title=title, format=".1f") for name, (title, _, _) in _SIZE_MEASURES.items())]
    rows = []
    for at in size_systems(numbers):
        row = _system_cells(at)
        for name, (_, measure, scale) in _SIZE_MEASURES.items():
            row[name] = mean_cell(numbers_of_languages(numbers, measure, at), scale)
        rows.append(row)
    entries = ", ".join(f"{one.at['language']} {one.value:,.0f}" for one in numbers.select("word_entries", seed=0))
    notes = (
        f"MRR and P@1 by cosine among the targets of the same entries ({entries}); means over languages.",
        "The layer of an encoder is chosen on one half of the words and scored on the other, both ways.",
        "Encoders and Word2Vec read as many tokens whatever the number of sentences; with equal epochs, as often.",
        "NLI: without the language it was learned in. The paper shows these in pictures and prints no numbers.",
        _ITEMS,
    )
    caption = "Words and NLI by size of the text and length of the input (Figures 1 to 6)"
    return _plus_minus(rows, columns, caption, notes)


def size_language_table(numbers: Numbers) -> Table:
    """The same language by language, without intervals."""
    columns, systems = list(_SYSTEM), size_systems(numbers)
    rows = [_system_cells(at) for at in systems]
    for above, measure, scale in (("MRR, %", "word_mrr", 100.0), ("NLI, %", "nli", 1.0)):
        for code in numbers.select(measure, layer=None, arm=None).values_of("language"):
            columns.append(Column(f"{measure}_{code}", title=code, above=above, format=".1f"))
            for row, at in zip(rows, systems, strict=True):
                some = numbers_of_system(numbers, measure, at, code)
                row[f"{measure}_{code}"] = scale * some.mean if len(some) else None
    return Table.from_rows(rows, columns, caption="The same by language (Figures 1 to 6)")


# --- Table 2, Figures 7 and 8 ---


def bleu_table(numbers: Numbers) -> Table:
    """Best BLEU-1 with its layer and alpha, and BLEU-1 in the last layer but one, by direction: Table 2."""
    table, depth = printed("liu2020")["table2"], _depth(numbers)
    last, far = nearest_layer(numbers, table["bleu1"]["layer"] / table["layers"]), table["bleu1"]["alpha"]
    rows = []
    for source, target in directions(numbers, table["pairs"]):
        row: dict[str, Any] = {"direction": f"{source} → {target}"}
        if f"{source}-{target}" in table["pairs"]:
            place = table["pairs"].index(f"{source}-{target}")
            for name in ("best_bleu1", "best_layer", "best_alpha"):
                row[f"{name}_paper"] = table[name][place]
            row["last_paper"] = table["bleu1"]["values"][place]
        here = numbers.select(source=source, target=target)
        best = best_cell(here)
        if best is not None:
            layer, alpha = best
            row |= {"best_layer": layer, "best_alpha": alpha}
            row["best_bleu1"] = mean_cell([here.select("bleu1", layer=layer, alpha=alpha)])
            row["last"] = mean_cell([here.select("bleu1", layer=last, alpha=far)])
            row["source"] = mean_cell([here.select("bleu1_source")])
        rows.append(row)
    columns = [Column("direction")]
    for name, above, digits in (
        ("best_bleu1", "best BLEU-1", ".1f"),
        ("best_layer", "in layer", "d"),
        ("best_alpha", "at α", "g"),
        ("last", f"layer {last}, α {far:g}", ".1f"),
    ):
        columns += _paper_and_ours(numbers, name, above, digits)
    columns.append(Column("source", title="unchanged source", format=".1f"))
    notes = (
        *_setting(numbers),
        f"Layer {last} of {depth} is the paper's {table['bleu1']['layer']} of {table['layers']}.",
        "The best layer and α are chosen on the sentences they are scored on, as in the paper.",
        "BLEU-1 by sacrebleu's tokenizer 13a, characters in Chinese; the paper does not name its own.",
        _ITEMS,
    )
    return _plus_minus(rows, columns, "Token translation by a shift: BLEU-1 (Table 2)", notes)


def rate_table(numbers: Numbers) -> Table:
    """The convert rate in a late layer by direction and alpha: Table 2."""
    table = printed("liu2020")["table2"]
    rates = table["convert_rate"]
    late = nearest_layer(numbers, rates["layer"] / table["layers"])
    alphas = [alpha for alpha in sorted(numbers.select("convert_rate").values_of("alpha")) if alpha]
    rows = []
    for source, target in directions(numbers, table["pairs"]):
        row: dict[str, Any] = {"direction": f"{source} → {target}"}
        here = numbers.select("convert_rate", source=source, target=target, layer=late)
        for alpha in alphas:
            row[f"rate_{alpha:g}"] = mean_cell([here.select(alpha=alpha)], 100)
            if alpha in rates["alphas"] and f"{source}-{target}" in table["pairs"]:
                values = rates["values"][rates["alphas"].index(alpha)]
                row[f"rate_{alpha:g}_paper"] = 100 * values[table["pairs"].index(f"{source}-{target}")]
        rows.append(row)
    columns = [Column("direction")]
    for alpha in alphas:
        both = _paper_and_ours(numbers, f"rate_{alpha:g}", f"α {alpha:g}", ".1f")
        columns += both if alpha in rates["alphas"] else both[1:]
    notes = (
        *_setting(numbers),
        f"At layer {late} of {_depth(numbers)}, the paper's {rates['layer']} of {table['layers']}.",
        "–: not run, not printed, or no decoded token belongs to one of the two languages alone.",
        _ITEMS,
    )
    return _plus_minus(rows, columns, "Convert rate, % (Table 2)", notes)


def outside_table(numbers: Numbers) -> Table:
    """Decoded tokens that neither language has, by direction and alpha; masked tokens of another language."""
    rates = printed("liu2020")["table2"]
    late = nearest_layer(numbers, rates["convert_rate"]["layer"] / rates["layers"])
    found = numbers.select("outside_share", layer=late)
    alphas = sorted(found.values_of("alpha"))
    rows = []
    for source, target in directions(numbers):
        row: dict[str, Any] = {"direction": f"{source} → {target}"}
        for alpha in alphas:
            row[f"outside_{alpha:g}"] = mean_cell([found.select(source=source, target=target, alpha=alpha)], 100)
        rows.append(row)
    columns = [Column("direction")]
    columns += [Column(f"outside_{alpha:g}", title=f"α {alpha:g}", format=".1f") for alpha in alphas]
    other = numbers.select("other_language_share")
    masked = ", ".join(f"{one.at['source']} {100 * one.value:.1f} %" for one in other if one.at.get("seed", 0) == 0)
    notes = (f"At layer {late}. Masked tokens decoded in another language without a shift: {masked}.", _ITEMS)
    return _plus_minus(rows, columns, "Decoded tokens that neither language has, %", notes)


# --- Table 3 ---


def token_set_table(numbers: Numbers) -> Table:
    """Sizes of the token sets of languages, and of their overlap with the first: Table 3."""
    table = printed("liu2020")["table3"]
    sizes = numbers.select("token_set_size", seed=0)
    first = sizes.values_of("language")[0]
    rows = []
    size_paper, shared_paper = (_by_language(table, table[name]) for name in ("token_set", "shared_with_english"))
    for language in dict.fromkeys([*sizes.values_of("language"), *table["languages"]]):
        row: dict[str, Any] = {"language": language, "size_paper": size_paper.get(language)}
        row["shared_paper"] = shared_paper.get(language) if first == "en" else None
        for name, some in (
            ("size", sizes.select(language=language)),
            ("shared", numbers.select("token_set_shared", source=first, target=language, seed=0)),
            ("tokens", numbers.select("token_set_text_tokens", language=language, seed=0)),
        ):
            row[name] = int(some.one.value) if len(some) else None
        if language == first:
            row["shared"] = row["size"]
        rows.append(row)
    columns = [Column("language")]
    for name, above in (("size", "tokens in the set"), ("shared", f"shared with {first}")):
        columns += _paper_and_ours(numbers, name, above, ",d")
    columns.append(Column("tokens", title="tokens of text read", format=",d"))
    threshold = numbers.select("token_set_threshold", seed=0).one.value
    often = "at least once" if threshold <= 1 else f"{threshold:.0f} times or more"
    notes = (
        *_setting(numbers),
        f"A token is in the set of a language whose text has it {often}; the paper does not say how much text it read.",
    )
    return _plus_minus(rows, columns, "Token sets (Table 3)", notes)


# --- Table 4 ---


def shift_table(numbers: Numbers) -> Table:
    """NLI with all layers fine-tuned, with the upper half, and with a shift, a row for each language: Table 4."""
    table = printed("liu2020")["table4"]
    scores = numbers.select("nli", system=None, variant=None)
    (source, *_) = numbers.select("nli_dev", arm="tune-all").values_of("language")
    ours = list(dict.fromkeys(str(one.at["language"]) for one in scores if one.at.get("arm") in SHIFT_ARMS))
    others = [code for code in ours if code != source]
    rows = [_shift_row(numbers, scores, table, code) for code in dict.fromkeys([*ours, *table["languages"]])]
    both = [code for code in others if code in table["languages"]]
    if both and set(both) < set(table["languages"]):
        rows.append(_shift_mean(scores, table, f"mean of {', '.join(both)}", both, both))
    rows.append(_shift_mean(scores, table, f"mean without {source}", table["languages"], others))
    columns = [Column("language")]
    for arm, above in (*SHIFT_ARMS.items(), ("alpha", "α")):
        digits = ".2g" if arm == "alpha" else ".1f"
        columns += _paper_and_ours(numbers, arm, above, digits)
    notes = (
        *_setting(numbers),
        "α is chosen on the dev set of each language: with a shift the transfer is not strictly zero-shot.",
        _ITEMS,
    )
    return _plus_minus(rows, columns, "NLI, accuracy in %, with a shift at the middle layer (Table 4)", notes)


def _shift_row(numbers: Numbers, scores: Numbers, table: dict[str, Any], language: str) -> dict[str, Any]:
    row: dict[str, Any] = {"language": language}
    for arm in SHIFT_ARMS:
        row[arm] = mean_cell([scores.select(arm=arm, language=language)])
        some = table["arms"][arm]
        row[f"{arm}_paper"] = (_by_language(table, some["values"]) | {"en": some.get("english")}).get(language)
    chosen = numbers.select("shift_alpha", language=language)
    row["alpha"] = chosen.mean if len(chosen) else None
    row["alpha_paper"] = _by_language(table, table["alpha"]).get(language)
    return row


def _shift_mean(
    scores: Numbers, table: dict[str, Any], title: str, theirs: Sequence[str], ours: Sequence[str]
) -> dict[str, Any]:
    row: dict[str, Any] = {"language": title}
    for arm in SHIFT_ARMS:
        some = table["arms"][arm]
        values = [_by_language(table, some["values"])[code] for code in theirs]
        row[f"{arm}_paper"] = some["average"] if len(values) == len(some["values"]) else sum(values) / len(values)
        row[arm] = mean_cell([scores.select(arm=arm, language=code) for code in ours])
    return row


# --- beside the paper ---


def _by_language(table: Mapping[str, Any], values: Sequence[float]) -> dict[str, Any]:
    """Printed values of a table by language."""
    return dict(zip(table["languages"], values, strict=True))


def _plus_minus(rows: Sequence[dict[str, Any]], columns: Sequence[Column], caption: str, notes: Sequence[str]) -> Table:
    return Table.from_rows(rows, columns, caption=caption, footnotes=tuple(notes), intervals="plus-minus")


def differences_in_setting(numbers: Numbers) -> list[str]:
    """Differences of the encoder from the paper's; empty for a released encoder with as many layers."""
    found = []
    layers, depth = printed("liu2020")["table2"]["layers"], _depth(numbers)
    if depth not in (None, layers):
        found.append(f"{depth} layers")
    if any("arm" in one.at and "system" not in one.at for one in numbers.select("training_tokens")):
        found.append("trained here")
    return found


def _paper_and_ours(numbers: Numbers, name: str, above: str, digits: str) -> list[Column]:
    """A column of the paper, whose head says if it is from another setting, and one of the study."""
    title = "paper*" if differences_in_setting(numbers) else "paper"
    return [
        Column(f"{name}_paper", title=title, above=above, format=digits),
        Column(name, title="ours", above=above, format=digits),
    ]


def _setting(numbers: Numbers) -> tuple[str, ...]:
    of_paper = "Paper: Google's multilingual BERT (12 layers, 119,547 subwords) on XNLI."
    others = differences_in_setting(numbers)
    if not others:
        return (of_paper,)
    return (f"* {of_paper} Ours is another setting ({', '.join(others)}): compare the order, not the levels.",)


def _depth(numbers: Numbers) -> int | None:
    depths = [one.at["depth"] for one in numbers if "target" in one.at and "depth" in one.at]
    return int(max(depths)) if depths else None


def directions(numbers: Numbers, printed_pairs: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Directions that were measured, then those that the paper prints."""
    ours = [(str(one.at["source"]), str(one.at["target"])) for one in numbers.select("outside_share")]
    theirs = [(source, target) for source, target in (pair.split("-") for pair in printed_pairs)]
    return list(dict.fromkeys([*ours, *theirs]))


def best_cell(numbers: Numbers) -> tuple[int, float] | None:
    """Layer and alpha with the highest BLEU-1, means over seeds; None where none was measured."""
    cells = numbers.select("bleu1").by("layer", "alpha")
    return max(cells, key=lambda cell: cells[cell].mean, default=None)


def nearest_layer(numbers: Numbers, depth: float) -> int:
    """The layer that was steered whose relative depth is closest to a given one."""
    steered = numbers.select("outside_share")
    whole = _depth(numbers) or 1
    return int(min(steered.values_of("layer"), key=lambda layer: abs(layer / whole - depth)))


# --- cells ---


def size_systems(numbers: Numbers) -> list[dict[str, Any]]:
    """Coordinates of every system, but for language and seed."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for one in numbers.select("word_mrr", layer=None):
        at = {name: one.at[name] for name in _COORDINATES if name in one.at}
        found.setdefault(tuple(at.items()), at)
    return sorted(found.values(), key=_place)


def _place(at: dict[str, Any]) -> tuple[Any, ...]:
    return at.get("sentences", 0), at["system"], at.get("variant", ""), at.get("window", 0)


def _system_cells(at: dict[str, Any]) -> dict[str, Any]:
    variant = at.get("variant", "").replace("-", " ")
    return {**at, "system": SYSTEMS.get(at["system"], at["system"]) + (f", {variant}" if variant else "")}


def numbers_of_system(numbers: Numbers, measure: str, at: Mapping[str, Any], language: str) -> Numbers:
    """The numbers of a system in a language, of all seeds."""
    where = {name: at.get(name) for name in _COORDINATES}
    return numbers.select(measure, layer=None, language=language, arm=None, **where)


def numbers_of_languages(numbers: Numbers, measure: str, at: Mapping[str, Any]) -> list[Numbers]:
    """The numbers of a system in each language but the one that tasks are learned in."""
    source = numbers.select("nli_dev").values_of("language")
    languages = numbers.select(measure, layer=None, arm=None).values_of("language")
    found = [numbers_of_system(numbers, measure, at, code) for code in languages if code not in source]
    return [some for some in found if len(some)]
