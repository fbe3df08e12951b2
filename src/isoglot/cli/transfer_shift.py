"""``isoglot transfer shift``: test a fine-tuned model with other languages moved towards the one it was trained on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli.inputs import Langs, parse_langs, parse_named
from isoglot.cli.options import Debug, Device, Json, OptionalOut, Quiet, Seed, parse_layers
from isoglot.cli.output import Output
from isoglot.cli.run_files import files_of, place, recorded, write_all
from isoglot.cli.steer import ShiftKind, Where
from isoglot.cli.transfer_data import FILES, OwnTask, read_examples
from isoglot.core.errors import ConfigError, shown
from isoglot.core.table import Table
from isoglot.text.formats.plain import first_sentences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.core.progress import Progress
    from isoglot.steer import LanguageMeans
    from isoglot.transfer import Data, Tuned
    from isoglot.transfer.shift_protocol import Choose, ShiftOutcome

EXAMPLES = 400
"""Built-in examples to test on, unless told."""
MOST = 10_000
"""Lines of a language's text, unless told."""


def shift(
    run: Annotated[Path, typer.Argument(metavar="DIR", help="What isoglot transfer wrote: its --out.")],
    test: Annotated[
        list[str] | None,
        typer.Option("--test", metavar=FILES, help="Examples to test on; left out: built-in ones."),
    ] = None,
    dev: Annotated[
        list[str] | None,
        typer.Option("--dev", metavar=FILES, help="Examples of each test language to choose alpha by."),
    ] = None,
    alpha: Annotated[
        str,
        typer.Option(
            "--alpha",
            metavar="dev|rule|LIST",
            help="How far, 1 being from mean to mean: dev (the best on the language's own dev set: not zero-shot), "
            "rule (without any label), or numbers such as 0.5,1,2. 0 is always there.",
        ),
    ] = "rule",
    grid: Annotated[
        str | None,
        typer.Option("--grid", metavar="LIST", help="The alphas to try on dev; default: 15 from 0.2 to 2."),
    ] = None,
    layers: Annotated[
        str | None,
        typer.Option(
            "--layers",
            metavar="LIST",
            help="Where, one layer at a time: all, or numbers such as 4,6; left out: half-way up, the paper's 6 of 12.",
        ),
    ] = None,
    means: Annotated[
        Path | None,
        typer.Option(
            "--means", metavar="FOLDER", help="What isoglot steer fit wrote for this model; left out: they are learned."
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option("--text", metavar=FILES, help="Text to learn means from, a sentence a line, of every language."),
    ] = None,
    learn_from: Annotated[
        int | None,
        typer.Option(
            "--learn-from",
            metavar="N",
            min=1,
            help=f"Learn means from the first N lines of --text, left out: {MOST:,}; or, without it, from N built-in "
            "sentences, left out: 2,000 beside built-in tests.",
        ),
    ] = None,
    kind: ShiftKind = "mean",
    positions: Where = "all",
    langs: Langs = None,
    sentences: Annotated[
        int | None,
        typer.Option("--sentences", metavar="N", min=10, help="The first N to test on; left out: 400 built-in ones."),
    ] = None,
    task: OwnTask = None,
    out: OptionalOut = None,
    device: Device = "auto",
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Test a fine-tuned model with each language's tokens shifted towards the language it was trained on.

    What a layer gives is moved by alpha times the difference of the two languages' means; a paired test says whether
    that is better than no shift. --out gets shift.json, shift.csv and shift.svg.
    """
    from isoglot.report.shift_transfer import shift_svg
    from isoglot.transfer import load_tuned
    from isoglot.transfer.shift_protocol import check_means, check_shift, shift_transfer, shifted_layers
    from isoglot.transfer.tasks.task import load_task_file, of_task_file

    output = Output(json=json, quiet=quiet)
    choose, alphas = _alpha(alpha, grid)
    numbers = None if layers is None else parse_layers(layers)
    if means is not None and (text or learn_from):
        raise ConfigError(
            "--means and text to learn them from",
            remedy="give one of --means and --text",
            code="config.conflicting-options",
        )
    if task is not None:
        load_task_file(task)
    tuned = load_tuned(run, device=device)
    with of_task_file(task):
        tests, devs = _data(tuned, test, dev, parse_langs(langs), sentences, choose)
        targets = check_shift(tuned, tests, devs, choose=choose)
    codes = list(dict.fromkeys([tuned.languages[0], *tests]))
    known = _means(
        tuned, codes, means, text, learn_from, builtin=not test, layers=numbers, seed=seed, progress=output.progress
    )
    # What is refused leaves no folder.
    check_means(tuned, targets, known, shifted_layers(tuned, numbers), choose=choose, kind=kind)
    read = files_of([*(test or ()), *(dev or ()), *(text or ())])
    with of_task_file(task), recorded(out, read, seed=seed, device=str(tuned.encoder.device)) as record:
        found = shift_transfer(
            tuned,
            tests,
            known,
            dev=devs,
            choose=choose,
            alphas=alphas,
            layers=numbers,
            kind=kind,
            positions=positions,
            progress=output.progress,
        )
        value = {"model": str(run), **found.facts()}
        if record is not None and out is not None:
            texts = {"shift.csv": Table.from_rows(rows(found)).csv(), "shift.svg": shift_svg(found)}
            write_all(record, "shift.json", value, texts)
    output.result({**place(out), **value}, _table(found))
    if out is not None:
        output.say(f"\nThe figure is {out / 'shift.svg'}")


def _alpha(text: str, grid: str | None) -> tuple[Choose, Sequence[float]]:
    """How an alpha is found, and those to try."""
    from isoglot.transfer.shift_protocol import GRID, checked_alphas

    if grid is not None and text != "dev":
        raise ConfigError("--grid is for --alpha dev", remedy="leave it out", code="config.conflicting-options")
    if text == "rule":
        return "rule", GRID
    if text == "dev":
        return "dev", GRID if grid is None else checked_alphas(_numbers(grid, "--grid"), "dev")
    return "given", checked_alphas(_numbers(text, "--alpha"), "given")


def _numbers(text: str, option: Literal["--alpha", "--grid"]) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        other = "dev, rule or " if option == "--alpha" else ""
        raise ConfigError(
            f"{option} {shown(text)} is no list of numbers",
            remedy=f"write {other}numbers such as 0.5,1,2",
            code="config.malformed-option",
        ) from None


def _data(
    tuned: Tuned,
    test: list[str] | None,
    dev: list[str] | None,
    langs: list[str],
    sentences: int | None,
    choose: Choose,
) -> tuple[Mapping[str, Data[Any]], Mapping[str, Data[Any]]]:
    """The user's files, or built-in examples of the languages that were named or that the model has."""
    from isoglot.languages.builtin import builtin_languages

    task = tuned.task
    tests, devs = read_examples(task, "--test", test, sentences), read_examples(task, "--dev", dev)
    if tests:
        if langs:
            raise ConfigError(
                "--langs chooses from built-in examples",
                remedy="leave it out: --test names languages",
                code="config.conflicting-options",
            )
        return tests, devs
    if devs:
        raise ConfigError(
            "--test is missing", remedy="name what to test on: --test de=test.tsv", code="config.missing-option"
        )
    known = builtin_languages(tuned.encoder.vocabulary.languages)
    spaced = any("-x-" in code for code in known)
    codes, count = langs or list(known), sentences or EXAMPLES
    tests = {code: task.builtin(code, "test", count, spaced=spaced) for code in codes}
    wanted = [code for code in codes if code != tuned.languages[0]] if choose == "dev" else []
    return tests, {code: task.builtin(code, "dev", count, spaced=spaced) for code in wanted}


def _means(
    tuned: Tuned,
    codes: list[str],
    folder: Path | None,
    text: list[str] | None,
    learn_from: int | None,
    *,
    builtin: bool,
    layers: Literal["all"] | list[int] | None,
    seed: int,
    progress: Progress,
) -> LanguageMeans:
    """Means from a folder, or of the fine-tuned encoder itself from text: the user's, or built-in beside such tests."""
    from isoglot.languages.builtin import TEXT_SENTENCES, builtin_text
    from isoglot.steer import LanguageMeans
    from isoglot.steer.language_files import read_known
    from isoglot.transfer.shift_protocol import shifted_layers

    if folder is not None:
        return read_known(folder)[0]
    if text:
        texts: Mapping[str, Sequence[str]] = first_sentences(parse_named(text), learn_from or MOST)
        missing = next((code for code in codes if code not in texts), None)
        if missing is not None:
            raise ConfigError(
                f"--text has no {missing}",
                remedy=f"name a file of it too: --text {missing}=FILE",
                code="config.missing-data",
            )
    elif builtin or learn_from:
        texts = builtin_text(codes, learn_from or TEXT_SENTENCES, seed=seed)
    else:
        raise ConfigError(
            "there are no means of the fine-tuned model's languages",
            remedy=f"give text to learn them from: --text {codes[0]}=FILE --text {codes[-1]}=FILE, or --means FOLDER",
            code="config.missing-data",
        )
    return LanguageMeans.fit(tuned.encoder, texts, layers=shifted_layers(tuned, layers), progress=progress)


def rows(found: ShiftOutcome) -> list[dict[str, Any]]:
    """A row for every language without a shift, and for every shift."""
    names = ("language", "layer", "alpha", "chosen_by", "zero_shot", "score", "difference", "low", "high")
    made = []
    for code, plain in found.baselines.items():
        first = (code, "", 0.0, "no shift", code not in found.learned_from, round(plain.scores.main, 4), 0.0, 0.0, 0.0)
        made.append({**dict(zip(names, first, strict=True)), "p": "", "p_corrected": ""})
        for row in (one for one in found.rows if one.language == code):
            facts = row.facts()
            kept = {name: facts[name] for name in names if name != "score"}
            kept = {"score": round(row.test.scores.main, 4), **kept, "p": row.comparison.p}
            made.append({**{name: kept[name] for name in names}, "p": kept["p"], "p_corrected": row.p_corrected})
    return made


_WORDS = {"target dev set": "its own dev (not zero-shot)", "nearest-mean": "rule, no labels", "given": "given"}


def _table(found: ShiftOutcome) -> Table:
    head = ["language", "layer", "α", "α by", found.metric, "change", "95 % over sentences", "p", "p, Holm"]
    cells: list[list[str]] = []
    before = None
    for row in rows(found):
        language, plain = row["language"], row["chosen_by"] == "no shift"
        shown = ["" if language == before else language, str(row["layer"]), f"{row['alpha']:.3g}"]
        shown += ["no shift" if plain else _WORDS[row["chosen_by"]], f"{row['score']:.1f}"]
        change = [f"{row['difference']:+.1f}", f"{row['low']:+.1f} – {row['high']:+.1f}"] if not plain else []
        change += [f"{row['p']:.4f}", f"{row['p_corrected']:.4f}"] if not plain else []
        cells.append([*shown, *(change or [""] * 4)])
        before = language
    return Table.from_cells(head, cells, align="lrrlr")
