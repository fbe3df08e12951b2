"""Results that are shown as a list of named facts: training runs, exported models, text, and this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoglot.core.progress import duration
from isoglot.core.table import Table
from isoglot.report.results import Rendering

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from rich.console import RenderableType
    from rich.text import Text

    from isoglot.pretrain.config import PretrainConfig
    from isoglot.pretrain.new_language import Added
    from isoglot.pretrain.train import Pretrained
    from isoglot.represent.representations import Representations
    from isoglot.static.train import Learned
    from isoglot.steer.language_files import PackedExport
    from isoglot.vocab.external_tokenizer import ExportedText

UNFINISHED = "Not finished: the same command with --resume goes on."


def listing(rows: Iterable[Sequence[RenderableType]]) -> RenderableType:
    """Named facts, one row each; a name that repeats the one above is left blank."""
    from rich.table import Table as RichTable

    table = RichTable(box=None, padding=(0, 2, 0, 0), show_header=False)
    above = None
    for name, *cells in rows:
        table.add_row("" if name == above else name, *cells)
        above = name
    return table


# --- this machine ---


def doctor_result(check: dict[str, Any]) -> Rendering:
    """What :func:`isoglot.core.doctor.check_up` found."""
    return Rendering(check, listing(_machine(check)))


def _machine(check: dict[str, Any]) -> Iterator[tuple[str, str, str | Text]]:
    from rich.text import Text

    for name, version in check["versions"].items():
        yield "versions", name, version
    for found in check["devices"]:
        chosen = "  ← used" if found["name"] == check["device"] else ""
        yield "devices", found["name"], f"{found['chip']}, {found['memory'] / 2**30:.0f} GiB{chosen}"
    for peak in check["peak"]:
        speed = f"{peak['tflops']:.3g} TFLOP/s on {check['device']}, {peak['size']} × {peak['size']}"
        yield "matrix peak", peak["dtype"], speed
    for model in check["models"]:
        size = model["size"]
        facts = "not in this version" if size is None else f"{' '.join(model['languages'])}, {size / 1e6:.1f} MB"
        yield "model", model["name"], Text(f"damaged: {model['problem']}", "red") if model["problem"] else facts
    for part in check["parts"]:
        missing = [name for name, version in part["libraries"].items() if version is None]
        there = ", ".join(f"{name} {version}" for name, version in part["libraries"].items() if version)
        lacks = f"· no {', '.join(missing)}: {part['install']}"
        yield "optional", part["extra"], Text(lacks, "yellow") if missing else Text(f"✓ {there}", "green")


# --- training ---


def pretrained_result(done: Pretrained) -> Rendering:
    """A pretraining run."""
    return Rendering(done.facts(), listing(_training(done)), notes=[] if done.finished else [UNFINISHED])


def added_result(done: Added) -> Rendering:
    """A language added to an encoder."""
    rows = [*_training(done.run), ("subwords", f"{done.subwords['new']:,} new, {done.subwords['shared']:,} shared")]
    for code, loss in done.after.items():
        rows.append(("held-out loss", f"{code} {done.before[code]:.2f} before, {loss:.2f} after"))
    return Rendering(done.facts(), listing(rows), notes=[] if done.run.finished else [UNFINISHED])


def _training(done: Pretrained) -> list[tuple[str, str]]:
    position, best = done.position, done.out / "best"
    rows = [("encoder" if done.finished else "checkpoint", str(done.out))]
    rows.append(("steps", f"{position.step:,} ({position.tokens:,} tokens) in {duration(position.seconds)}"))
    if position.dev:
        rows.append(("dev perplexity", "  ".join(f"{code} {value:.1f}" for code, value in position.dev.items())))
    if position.best is not None:
        kept = f"{best} " if best.exists() else ""
        rows.append(("best", f"{kept}(step {position.best_step:,}, {position.best:.1f})"))
    return rows


def recipes_result(room: str) -> Rendering:
    """The recipes of a room with the first line of each."""
    from isoglot.core.config import load_recipe, recipe_names

    texts = {name: load_recipe(name, room=room).text for name in recipe_names(room)}
    found = {name: text.split("\n", 1)[0].lstrip("# ") for name, text in texts.items()}
    return Rendering(found, listing(found.items()))


def plan_drawing(config: PretrainConfig, languages: Sequence[str], path: Path) -> Rendering:
    """Draw the sharing plan of a config as a file."""
    from isoglot.report.figures import plan_figure
    from isoglot.report.rendering import save_figure

    shape = config.model.encoder(vocabulary_size=100, languages=tuple(languages), pad_id=0, unk_id=1)
    drawing = plan_figure(shape.sharing, list(languages), depth=shape.layers, positions=shape.positions == "learned")
    save_figure(drawing.titled(), path)
    return Rendering({"plan": shape.sharing.text, "drawing": str(path)}, f"{shape.sharing.name}: {path}")


def static_result(learned: Learned, out: Path) -> Rendering:
    """A training run of static vectors."""
    facts = learned.facts
    rows = [("vectors", f"{out} ({facts['known']:,} x {facts['dimensions']})")]
    rows.append(("trained on", ", ".join(f"{code} {count:,} tokens" for code, count in facts["tokens"].items())))
    if "losses" in facts:
        rows.append(("loss", f"{facts['losses'][0]:.4f} to {facts['losses'][-1]:.4f}, {facts['pairs']:,} pairs"))
    return Rendering({"out": str(out), **facts}, listing(rows))


def encoded_result(found: Representations, out: Path) -> Rendering:
    """Vectors of sentences, words or word types that were written."""
    from isoglot.represent.encode_file import summary

    facts = {key: value for key, value in found.header.items() if key not in ("words", "missing", "provenance")}
    missing = {"missing": list(found.missing)} if found.header["pool"] == "types" else {}
    return Rendering({"out": str(out), "rows": len(found), **facts, **missing}, "\n".join(summary(found, out)))


def word_vectors_result(facts: dict[str, Any]) -> Rendering:
    """Vectors of words that were written to a file."""
    asked = "" if facts.get("asked") is None else f" of {facts['asked']:,} asked for"
    size = facts.get("dimensions", facts.get("hidden_size"))
    return Rendering(facts, f"{facts['out']}: {facts['words']:,} words{asked}, {size} dimensions")


# --- exported models ---


def packed_result(found: PackedExport, languages: Sequence[str], folder: Path) -> Rendering:
    """An encoder that was written in packed form."""
    facts = {name: getattr(found, name) for name in ("size", "weights", "bits", "error")}
    files = [str(path.relative_to(folder.absolute())) for path in found.files]
    lines = [
        f"{found.weights:,} weights written to {folder}: {found.size:,} bytes in all, {found.bits:.2f} bits a weight",
        f"Matrices moved by {100 * found.error:.2g} % of their root mean square",
    ]
    if languages:
        lines.append(f"With the means of {', '.join(languages)}, without covariances")
    value = {"folder": str(folder), **facts, "means": list(languages), "files": files}
    return Rendering(value, "\n".join(lines), notes=[f"It opens like any encoder: isoglot diagnose {folder}"])


def hf_result(files: Sequence[Path], folder: Path, language: str | None, text: ExportedText) -> Rendering:
    """An encoder that was written as a Hugging Face folder, with the processing its text has to go through."""
    from isoglot.core.files import read_json

    kind = read_json(files[-1])["architectures"][0]
    value = {"folder": str(folder), "architecture": kind, "language": language, "files": [path.name for path in files]}
    notes = [f'Open it with transformers.AutoModelForMaskedLM.from_pretrained("{folder}")']
    if text.processing:
        value["text_processing"] = {one.language: one.facts() for one in text.processing}
        notes = [str(text), *notes]
    return Rendering(value, f"{kind} written to {folder}", notes=notes)


# --- text ---


def reports_result(reports: Mapping[str, Mapping[str, Any]]) -> Rendering:
    """Reports on rewritten text, by language or file; also written as report.json."""
    from isoglot.core.files import as_json

    return Rendering(dict(reports), reports_table(reports), lambda _: {"report.json": as_json(reports)})


def reports_table(reports: Mapping[str, Mapping[str, Any]]) -> Table:
    """Reports side by side: a column for each."""
    flat = [dict(_flat(report)) for report in reports.values()]
    names = dict.fromkeys(name for report in flat for name in report)
    return Table.from_cells(["", *reports], [[name, *(_number(report.get(name)) for report in flat)] for name in names])


def _flat(report: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for key, value in report.items():
        name = f"{before}{key}".replace("_", " ")
        rows += _flat(value, f"{name} ") if isinstance(value, dict) else [(name, value)]
    return rows


def _number(value: Any) -> str:  # noqa: ANN401 - whatever a report has
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else "" if value is None else str(value)
