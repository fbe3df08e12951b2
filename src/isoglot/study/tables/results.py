"""Results of a study as tables: scores of every arm, facts beside them, verdicts on claims, differences."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.core.artifact import check_form, stored_json
from isoglot.core.errors import ConfigError, StorageError
from isoglot.core.progress import duration
from isoglot.core.table import Column, Table
from isoglot.study.factorial.outcomes import factorial_table
from isoglot.study.numbers import Number, Numbers, mean_cell
from isoglot.study.tables.arm_tests import arm_table, baseline_of
from isoglot.study.tables.layer_tables import emergence_curves, layer_tables, threshold_table, token_unit
from isoglot.study.tables.multilingual_tables import multilingual_tables
from isoglot.study.tables.paper_comparison import ANCHORS, SEPARATE, loss_table, paper_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.study.claims import Difference, Verdict
    from isoglot.study.study import Study

TASKS = {"nli": "NLI", "ner": "NER", "parsing": "LAS"}
FACTS = {"perplexity": ("perplexity", ".1f"), "fertility": ("subwords/word", ".2f"), "ids_read": ("ids read", ",.0f")}
SCORES = {"nli": "NLI, accuracy in %", "ner": "NER, F1", "parsing": "Parsing, LAS"}
_KEYS = ("pair", "arm")
_DELTA = "Δ: difference to the baseline."
_NOTES = (
    "± is half a 95 % interval over test items (bootstrap); means over seeds.",
    "P@1: sentence retrieval in the best layer, each language's mean removed, estimated on other sentences.",
    "CKA: debiased, mean over layers.",
)


# --- scores ---


def closing_tables(study: Study) -> list[Table]:
    """The tables that ``isoglot study run`` prints at its end: results, the paper's table beside them, and verdicts.

    Empty if nothing was measured yet.
    """
    curves = emergence_curves(study)
    measured = [table for table in result_tables(study) if table.rows]
    if not measured and not curves:
        return []
    found = [*measured, facts_table(study)]
    found += [threshold_table(curves)] if curves else []
    found += [table for table in (paper_table(study), loss_table(study)) if table is not None]
    if study.about.get("paper"):
        found.append(short_verdict_table(study_verdicts(study)))
    return [table for table in found if table.rows]


def result_tables(study: Study) -> list[Table]:
    """Results of a study: arms, figures layer by layer, tests between arms; or tables of all languages."""
    found = multilingual_tables(study.numbers())
    if found:
        return found
    found = [*score_tables(study), *layer_tables(study)]
    if study.about.get("paper") is None and len(study.about.get("arms", {})) > 1:
        found.append(arm_table(study))
    return [table for table in found if table.rows] or found[:1]


def score_tables(study: Study) -> list[Table]:
    """The result table, cut into one for each task where there are several: side by side they do not fit a terminal."""
    whole = result_table(study)
    tasks = [task for task, title in TASKS.items() if any(column.above == title for column in whole.columns)]
    if len(tasks) < 2:
        return [whole]
    columns, rows = _score_rows(study)
    found = []
    for task in (*tasks, None):
        above = "" if task is None else TASKS[task]
        names = [name for name, column in columns.items() if column.above == above and name not in _KEYS]
        some = [row for row in rows if any(row.get(name) is not None for name in names)]
        heads = [replace(columns[name], above="") for name in (*_KEYS, *names)]
        what = "Sentence retrieval and CKA" if task is None else SCORES[task]
        notes = list(_NOTES[1:] if task is None else _NOTES[:1])
        if f"{task}_delta" in names:
            notes.append(_DELTA)
        if f"{task}_anchors" in names:
            notes.append(f"Δ anchors: difference of a Sep arm to {study.about['arms'][ANCHORS]}.")
        found.append(Table.from_rows(some, heads, caption=what, footnotes=tuple(notes), intervals="plus-minus"))
    return [table for table in found if table.rows]


def result_table(study: Study) -> Table:
    """Scores of every arm by language, with half the width of their intervals, and differences between arms.

    Differences are to the baseline and, of Sep arms, to Default anchors: of the averages over the languages that were
    not trained on. Of the factorial study, it is the table of variances.
    """
    if study.numbers().values_of("sharing"):
        return factorial_table(study.numbers())
    columns, rows = _score_rows(study)
    caption = str(study.about.get("title", ""))
    notes = (*_NOTES, _DELTA) if any(name.endswith("_delta") for name in columns) else _NOTES
    return Table.from_rows(rows, columns.values(), caption=caption, footnotes=notes, intervals="plus-minus")


def _score_rows(study: Study) -> tuple[dict[str, Column], list[dict[str, Any]]]:
    numbers = study.numbers()
    columns: dict[str, Column] = {name: Column(name) for name in _KEYS}
    rows = []
    for pair, arm, of_arm, variant in _arms(study, numbers):
        bases = {"delta": baseline_of(study)} | ({"anchors": ANCHORS} if arm.startswith(SEPARATE) else {})
        here = {name: numbers.select(pair=pair, arm=base, variant=None) for name, base in bases.items()}
        row = _scores(of_arm, here, columns)
        if row:
            title = study.about["arms"][arm]
            rows.append({"pair": pair, "arm": title + (f", {variant}" if variant else ""), **row})
    return columns, rows


def facts_table(study: Study) -> Table:
    """Perplexity, scores in the language of training, subwords per word and ids of every arm."""
    columns: dict[str, Column] = {name: Column(name) for name in _KEYS}
    rows = []
    for pair, arm, of_arm, variant in _arms(study, study.numbers()):
        row: dict[str, Any] = {}
        for measure, (words, digits) in FACTS.items():
            for language in of_arm.select(measure).values_of("language"):
                value = of_arm.select(measure, language=language).mean
                _add(row, columns, f"{measure}_{language}", value, title=language, above=words, format=digits)
        for task, title in TASKS.items():
            for source in of_arm.select(f"{task}_dev").values_of("language"):
                some = of_arm.select(task, language=source, layer=None)
                score = some.mean if len(some) else None
                _add(row, columns, f"{task}_{source}", score, title=title, above=f"score in {source}", format=".1f")
        if row and variant is None:
            rows.append({"pair": pair, "arm": study.about["arms"][arm], **row})
    return Table.from_rows(rows, columns.values(), caption="Beside the scores")


def _arms(study: Study, numbers: Numbers) -> list[tuple[str, str, Numbers, str | None]]:
    """Every pair, arm and variant that has numbers."""
    found: list[tuple[str, str, Numbers, str | None]] = []
    for pair in numbers.values_of("pair"):
        for name in study.about.get("arms", {}):
            of_arm = numbers.select(arm=name, pair=pair)
            for variant in [None, *of_arm.values_of("variant")]:
                some = of_arm.select(variant=variant)
                if len(some):
                    found.append((pair, name, some, variant))
    return found


def _scores(numbers: Numbers, bases: Mapping[str, Numbers], columns: dict[str, Column]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for measure, title in TASKS.items():
        for language in numbers.select(measure).values_of("language"):
            cell = mean_cell([numbers.select(measure, language=language)])
            _add(row, columns, f"{measure}_{language}", cell, title=language, above=title, format=".1f")
        for base, words in (("delta", "Δ"), ("anchors", "Δ anchors")):
            delta = _delta(numbers, bases[base], measure) if base in bases else None
            if delta is not None:
                _add(row, columns, f"{measure}_{base}", delta, title=words, above=title, format="+.1f")
    layers = numbers.select("sentence_p1").by("layer").values()
    if layers:
        best = max(layers, key=lambda some: some.mean)
        _add(row, columns, "p1", mean_cell([best]), title="P@1", unit="%", scale=100, format=".1f")
    similar = numbers.select("cka", estimator="debiased")
    if len(similar):
        _add(row, columns, "cka", similar.mean, title="CKA", format=".2f")
    return row


def _add(row: dict[str, Any], columns: dict[str, Column], name: str, cell: object, **about: Any) -> None:  # noqa: ANN401
    """Add a cell to a row, and its column if there is none yet."""
    columns.setdefault(name, Column(name, **about))
    row[name] = cell


def _delta(numbers: Numbers, base: Numbers, measure: str) -> float | None:
    """Difference of the averages over languages that were not trained on."""
    source = base.select(f"{measure}_dev").values_of("language")
    languages = [code for code in numbers.select(measure).values_of("language") if code not in source]
    sides = [[some.select(measure, language=code) for code in languages] for some in (numbers, base)]
    if not languages or not all(len(each) for side in sides for each in side):
        return None
    ours, theirs = (sum(each.mean for each in side) / len(languages) for side in sides)
    return ours - theirs


# --- claims ---


def budget_words(study: Study) -> str:
    """Tokens that an encoder was trained on, as ``500 million tokens``; empty where nothing was trained."""
    tokens = {int(number.value) for number in study.numbers().select("training_tokens") if number.value}
    factor, unit = token_unit(max(tokens, default=0))
    ends = sorted({min(tokens), max(tokens)}) if tokens else []
    return f"{' to '.join(f'{count / factor:.3g}' for count in ends)} {unit} tokens" if ends else ""


def about_study(study: Study) -> str:
    """Budget and data, shown with every verdict."""
    budget = budget_words(study)
    if budget:
        budget = f"{budget} an arm"
    else:
        released = {Path(step.files["encoder"].path).name for step in study.steps.values() if "encoder" in step.files}
        budget = ", ".join(sorted(released)) or "nothing was trained"
    pairs = ", ".join(study.about.get("pairs", []))
    return f"{budget}, scale {study.about.get('scale')}, {pairs}, {_data_words(study)}"


def _data_words(study: Study) -> str:
    """The text that a study has read and how it was tested, in a few words."""
    every = [(step.kind, name, file) for step in study.steps.values() for name, file in step.files.items()]
    files = {Path(one.path).name: one for kind, name, one in every if kind == "cut-text" and name.startswith("text.")}
    texts = [f"{name} ({file.key[:8]})" for name, file in files.items()]
    tests = {file.key for _, name, file in every if name != "encoder"} - {file.key for file in files.values()}
    if not texts:
        return "built-in languages" + (f" and {len(tests)} files" if tests else "")
    return f"text {', '.join(texts)}" + (f", {len(tests)} test files" if tests else "")


def study_verdicts(study: Study) -> list[Verdict]:
    """Verdicts on the claims of the study's paper; those of its recipe, if it names some.

    Raises:
        ConfigError: The study is of no paper.
    """
    from isoglot.study.claims import verify

    paper = study.about.get("paper")
    if paper is None:
        problem = f"{study.about.get('recipe')} tests no claims of a paper"
        remedy = "isoglot study list names those that do"
        raise ConfigError(problem, remedy, "not-supported")
    found = verify(study.numbers(), paper, about=about_study(study))
    named = study.about.get("claims") or [one.claim for one in found]
    return [one for one in found if one.claim in named]


def short_verdict_table(verdicts: Sequence[Verdict]) -> Table:
    """Claim, verdict and the number that decides; ``isoglot study verify`` and the page have the rest."""
    from isoglot.study.claims import verdict_table

    run = [one for one in verdicts if one.outcome != "not run"]
    rest = [one.claim for one in verdicts if one.outcome == "not run"]
    rows = verdict_table(run or verdicts).dicts()
    columns = [Column("claim"), Column("sentence", title="the paper says"), Column("verdict"), Column("ours")]
    notes = (f"Not run, numbers are missing: {', '.join(rest)}.",) if run and rest else ()
    return Table.from_rows(rows, columns, caption=f"Verdicts: {verdicts[0].about}" if verdicts else "", footnotes=notes)


def study_expected(study: Study) -> dict[str, Any]:
    """The study's numbers, verdicts, hashes and versions, for JSON."""
    from isoglot.study.claims import expected

    verdicts = study_verdicts(study) if study.about.get("paper") else []
    records = {key: study.store.record(key) for key in study.steps}
    hashes = {key: record["payload_sha256"] for key, record in records.items() if record is not None}
    return expected(study.numbers(), verdicts, hashes=hashes)


EXPECTED = Path(__file__).parents[1] / "expected"
"""Numbers of our own studies, ``NAME.json.zst``: what :func:`study_expected` says of ``results/NAME``."""
_NUMBER = {"measure": str, "at": {...: str | int | float}, "value": int | float, "error": int | float}
_EXPECTED_FORM = {"version": int, "numbers": [_NUMBER], "verdicts": {...: str}}


def expected_names() -> list[str]:
    """Names of the expected numbers in the package."""
    return sorted(path.name.removesuffix(".json.zst") for path in EXPECTED.glob("*.json.zst"))


def study_differences(study: Study, verdicts: Sequence[Verdict], source: str | Path) -> list[Difference]:
    """Compare a study with expected numbers: differences beyond the intervals.

    Args:
        study: The study.
        verdicts: Its verdicts.
        source: A name of :func:`expected_names`, or a file of :func:`study_expected`.

    Raises:
        CorruptFileError: Something in the file is missing or has an invalid value.
        InputError: The file is of another format.
        StorageError: It cannot be read.
    """
    from isoglot.study.claims import against

    names = expected_names()
    if str(source) not in names and not Path(source).exists():
        remedy = f"name one, or one of the package: {', '.join(names)}"
        raise StorageError("no such file of expected numbers", remedy, "not-found", file=source)
    path = EXPECTED / f"{source}.json" if str(source) in names else source
    file = stored_json(path)
    check_form(file, _EXPECTED_FORM, path, remedy="write it again with isoglot study expected")
    return against(file, study.numbers(), verdicts)


def difference_table(differences: Sequence[Difference]) -> Table:
    """A row for each number or verdict that is not as expected."""
    rows = [asdict(one) | {"expected": str(one.expected), "found": str(one.found)} for one in differences]
    caption = f"{len(rows)} differences from the expected numbers" if rows else "Nothing differs beyond its interval"
    return Table.from_rows(rows, ["what", "kind", "expected", "found"], caption=caption)


# --- what ran ---


def trained_encoders(study: Study) -> int:
    """How many encoders were trained."""
    return sum(
        step.kind == "pretrain" and step.tokens > 0 and study.store.record(key) is not None
        for key, step in study.steps.items()
    )


def run_table(study: Study) -> Table:
    """Scale, budget, steps, time and machines of a study, a row each."""
    records = [record for key in study.steps if (record := study.store.record(key)) is not None]
    tokens, steps = (
        sorted({int(one.value) for one in _of_training(study, measure)})
        for measure in ("training_tokens", "training_steps")
    )
    seconds = sum(record.get("seconds", 0.0) for record in records)
    training = sum(record.get("seconds", 0.0) for record in records if record["kind"] == "pretrain")
    counts = study.counts()
    names = ("isoglot", "torch", "numpy", "python")
    found = [record.get("versions", {}) for record in records]
    versions = [", ".join(f"{name} {one[name]}" for name in names if name in one) for one in found]
    rows = {
        "recipe": ", ".join([str(study.about.get("recipe")), *study.about.get("includes", [])]),
        "scale": study.about.get("scale"),
        "languages": ", ".join(study.about.get("pairs", [])),
        "encoders trained": f"{trained_encoders(study)}",
        "seeds of an arm": study.about.get("seeds"),
        "tokens of an encoder": " to ".join(f"{count:,}" for count in dict.fromkeys([*tokens[:1], *tokens[-1:]])),
        "training steps": " to ".join(f"{count:,}" for count in dict.fromkeys([*steps[:1], *steps[-1:]])),
        "steps of the study": ", ".join(f"{count} {status}" for status, count in counts.items()),
        "time": f"{duration(seconds)} over all steps, {duration(training)} of it training",
        "devices": ", ".join(dict.fromkeys(f"{one.get('device', '')} ({one.get('platform', '')})" for one in records)),
        "versions": "; ".join(dict.fromkeys(versions)),
        "began": min((record["started"] for record in records), default=""),
    }
    cells = [{"what": what, "value": str(value)} for what, value in rows.items() if value not in (None, "")]
    return Table.from_rows(cells, [Column("what", title=""), Column("value", title="")])


def file_table(study: Study) -> Table:
    """The files that a study has read, with their hashes."""
    files = {file.key: file for step in study.steps.values() for file in step.files.values()}
    rows = [{"file": Path(file.path).name, "sha256": file.sha256} for file in files.values()]
    return Table.from_rows(rows, [Column("file"), Column("sha256", title="SHA-256")])


def _of_training(study: Study, measure: str = "training_tokens") -> list[Number]:
    return [one for one in study.numbers().select(measure, variant=None) if one.value]
