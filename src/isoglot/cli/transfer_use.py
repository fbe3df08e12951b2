"""What was learned, used: ``isoglot transfer predict`` and ``isoglot transfer compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli.options import Debug, Device, Json, OptionalFileOut, Quiet
from isoglot.cli.output import Output
from isoglot.cli.transfer_data import OwnTask
from isoglot.core.errors import ConfigError, visible
from isoglot.core.table import Column, Table

if TYPE_CHECKING:
    from isoglot.transfer import Task


def predict(
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="What to tag, parse or classify; left out: --text does.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option("--model", metavar="DIR", help="What isoglot transfer wrote: its --out.")
    ] = None,
    lang: Annotated[str | None, typer.Option("--lang", metavar="LANG", help="The language of the text.")] = None,
    file: Annotated[
        Path | None,
        typer.Option("--text", metavar="FILE", help="A sentence a line, or words in a .conllu file; pairs with a tab."),
    ] = None,
    form: Annotated[
        Literal["conllu", "bio", "json"] | None,
        typer.Option("--format", help="What is written: conllu, bio or json; left out: the usual one of the task."),
    ] = None,
    task: OwnTask = None,
    out: OptionalFileOut = None,
    device: Device = "auto",
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Tag, parse or classify new text with a model that isoglot transfer has written. Without --out it is printed."""
    from isoglot.transfer.tasks.task import load_task_file, of_task_file

    output = Output(json=json, quiet=quiet)
    if task is not None:
        load_task_file(task)
    with of_task_file(task):
        _predict(text, model, lang, file, form, out, device, output)


def compare(
    one: Annotated[Path, typer.Argument(metavar="DIR", help="What isoglot transfer wrote: its --out.")],
    other: Annotated[Path, typer.Argument(metavar="OTHER", help="Another, of the same task and test files.")],
    way: Annotated[
        Literal["source dev", "oracle", "averaged"],
        typer.Option(
            "--chosen", help="How epochs were chosen: by dev of the training language, an oracle, or averaged."
        ),
    ] = "source dev",
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Whether one experiment is better than another: a paired test for each language, Holm-corrected over all."""
    from isoglot.transfer.scoring.experiment_comparison import compare_experiments

    output = Output(json=json, quiet=quiet)
    found = [each.facts() for each in compare_experiments(one, other, way=way)]
    columns = [
        Column("language"),
        Column("one", title=str(one), format=".1f"),
        Column("other", title=str(other), format=".1f"),
        Column("difference", format="+.1f"),
        Column("interval", title="95 % over sentences", align="right"),
        Column("p", format=".4f"),
        Column("p_corrected", title="p, Holm", format=".4f"),
    ]
    rows = [row | {"interval": f"{row['low']:+.1f} – {row['high']:+.1f}"} for row in found]
    output.result(found, Table.from_rows(rows, columns))


def score(
    name: Annotated[str, typer.Argument(metavar="TASK", help="ner, parse, pos, nli, topic, or your own with --task.")],
    gold: Annotated[Path, typer.Argument(metavar="GOLD", help="File with the correct labels, in the task's format.")],
    predicted: Annotated[Path, typer.Argument(metavar="PREDICTED", help="File with predictions for the same words.")],
    lang: Annotated[str, typer.Option("--lang", metavar="LANG", help="Language of both files.")] = "en",
    relations: Annotated[
        Literal["universal", "full"],
        typer.Option("--relations", help="For parse: ignore subtypes such as nsubj:pass (universal), or count them."),
    ] = "universal",
    repair: Annotated[
        Literal["none", "wu2020"],
        typer.Option(
            "--repair", help="For ner: score predicted tags as they are (none), or made proper BIO as Wu et al. (2020)."
        ),
    ] = "none",
    task: OwnTask = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Score a CoNLL-U or BIO file of any system against a gold file, with a bootstrap interval over sentences."""
    from isoglot.transfer import find_task
    from isoglot.transfer.scoring.file_scores import score_files
    from isoglot.transfer.tasks.task import load_task_file, of_task_file

    output = Output(json=json, quiet=quiet)
    with of_task_file(task):
        chosen = find_task(name) if task is None else load_task_file(task)
        found = score_files(chosen, gold, predicted, lang, relations=relations, repair=repair)
    interval = f"{found.interval.low:.1f} – {found.interval.high:.1f}"
    values = found.scores.values.items()
    rows = [[label, f"{value:.1f}", interval if label == found.metric else ""] for label, value in values]
    head = ["score", "value", f"95 % over {found.sentences:,} sentences"]
    output.result(found.facts(), Table.from_cells(head, rows))
    if found.remark:
        output.say(found.remark)


def _predict(
    text: str | None,
    model: Path | None,
    lang: str | None,
    file: Path | None,
    form: Literal["conllu", "bio", "json"] | None,
    out: Path | None,
    device: str,
    output: Output,
) -> None:
    import json
    from collections import Counter

    from rich.text import Text

    from isoglot.transfer import load_tuned
    from isoglot.transfer.predict import FORMATS, as_json, check_format, of_line, read_unlabeled, write_predictions
    from isoglot.transfer.tuning.fine_tuning import events_in_words

    if model is None or lang is None:
        missing = "--model" if model is None else "--lang"
        raise ConfigError(
            f"{missing} is missing",
            remedy="name the folder that isoglot transfer wrote, and a language",
            code="config.missing-option",
        )
    if (text is None) == (file is None):
        raise ConfigError(
            "there is no text" if text is None else "TEXT and --text are both given",
            remedy="give one of TEXT and --text",
            code="config.missing-option",
        )
    tuned = load_tuned(model, device=device)
    task = tuned.task
    if form is not None:
        check_format(task, form)
    chosen = form or FORMATS[task.kind][0]
    counts: Counter[str] = Counter()
    if file is not None:
        given = read_unlabeled(task, file, lang, counts=counts, say=output.remark)
    else:
        given = [of_line(task, text or "", lang)]
    found, rows = tuned.predict(given, lang, progress=output.progress)
    counts.update(rows.counts)
    for what in ("blank, left out", "split", "truncated", "unread"):
        if counts[what]:
            output.remark(events_in_words({what: counts[what]}))
    if out is not None:
        count = write_predictions(out, task, found, chosen)
        output.result({"predictions": count, "file": str(out)}, Text(f"{count:,} predictions: {out}"))
        return
    if output.json:
        output.result([json.loads(as_json(one)) for one in found], "")
    else:
        typer.echo(visible(_shown(task, found, chosen)))  # as it is: a console would take its tabs for blanks


def _shown(task: Task[Any], found: list[Any], form: Literal["conllu", "bio", "json"]) -> str:
    """What a file would hold."""
    import tempfile

    from isoglot.core.files import read_text
    from isoglot.transfer.predict import write_predictions

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predictions"
        write_predictions(path, task, found, form)
        return read_text(path).rstrip("\n")
