from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.progress import SILENT, BarProgress, LineProgress, Progress, choose_progress, duration, rate


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def work(progress: Progress, total: int | None = 4) -> None:
    with progress.task("reading", total=total, unit="lines") as task:
        for _ in range(4):
            task.note("loss 2.5")
            task.advance()


def clock(step: float):
    now = -step

    def tick() -> float:
        nonlocal now
        now += step
        return now

    return tick


def test_lines_in_a_pipe():
    stream = io.StringIO()
    work(LineProgress(stream, every=10, clock=clock(5.0)))
    assert stream.getvalue().splitlines() == [
        "reading: 2/4 lines (50 %), 0.2 lines/s, loss 2.5, 10.0 s left",
        "reading: 4/4 lines (100 %), 0.2 lines/s, loss 2.5, 0.0 s left",
        "reading: 4 lines in 25.0 s, 0.16 lines/s, loss 2.5",
    ]


def test_lines_of_unknown_total():
    stream = io.StringIO()
    work(LineProgress(stream, every=10, clock=clock(5.0)), total=None)
    assert stream.getvalue().splitlines()[0] == "reading: 2 lines, 0.2 lines/s, loss 2.5"


def test_a_unit_that_takes_long_is_told_of_while_it_lasts():
    stream = io.StringIO()
    with LineProgress(stream, every=10, clock=clock(5.0)).task("study", total=3, unit="steps") as task:
        for percent in (20, 40, 60, 80):
            task.note(f"training {percent} %")
            task.advance(0)
    assert stream.getvalue().splitlines()[:-1] == [
        "study: 0/3 steps (0 %), 0 steps/s, training 40 %",
        "study: 0/3 steps (0 %), 0 steps/s, training 80 %",
    ]


def test_few_lines_for_much_work():
    stream = io.StringIO()
    with LineProgress(stream, every=10, clock=clock(0.001)).task("x", total=9000, unit="y") as task:
        for _ in range(9000):
            task.advance()
    assert len(stream.getvalue().splitlines()) == 1


def test_no_closing_line_after_an_error():
    stream = io.StringIO()
    with pytest.raises(KeyError), LineProgress(stream).task("x", total=1, unit="y"):
        raise KeyError
    assert stream.getvalue() == ""


def test_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    work(BarProgress(stream))
    text = stream.getvalue()
    assert "reading" in text
    assert "4 lines" in text
    assert "lines/s, loss 2.5" in text
    assert "left" in text


def test_brackets_are_shown_as_they_are(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with BarProgress(stream).task("reading [en]", total=1, unit="lines") as task:
        task.note("[de] 2.5")
    assert "reading [en]" in stream.getvalue()
    assert "[de] 2.5" in stream.getvalue()


def test_the_stream_decides():
    assert isinstance(choose_progress(stream=Terminal()), BarProgress)
    assert isinstance(choose_progress(stream=io.StringIO()), LineProgress)
    assert choose_progress(quiet=True, stream=Terminal()) is SILENT
    work(SILENT)


@given(st.floats(0, 1e9), st.floats(0, 1e6))
def test_rate_is_a_number_with_three_figures(done: float, seconds: float):
    value = float(rate(done, seconds).replace(",", ""))
    assert value == pytest.approx(done / seconds if seconds > 0 else 0.0, rel=6e-3, abs=0.5)


def test_duration():
    assert [duration(s) for s in (0, 59.94, 59.96, 3599.6, 3600)] == [
        "0.0 s",
        "59.9 s",
        "1 min 0 s",
        "1 h 0 min",
        "1 h 0 min",
    ]


def test_the_bar_of_work_that_stops_early_ends_full():
    stream = Terminal()
    with BarProgress(stream).task("training", total=10, unit="epochs") as task:
        task.advance(4)
        bars = task.bars  # type: ignore[attr-defined]
    assert bars.tasks[0].finished
    assert bars.tasks[0].total == 4
