"""Processes change how long it takes, never what comes out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.language_codes import language_code
from isoglot.text.stream import chunks_of, map_chunks
from tests.errors import raises


@given(st.lists(st.text(max_size=9)), st.integers(1, 5), st.integers(1, 20))
def test_chunks_are_the_lines(texts: list[str], lines: int, characters: int):
    chunks = list(chunks_of(texts, lines=lines, characters=characters))
    assert [text for chunk in chunks for text in chunk] == texts
    assert all(0 < len(chunk) <= lines for chunk in chunks)
    assert all(sum(map(len, chunk[:-1])) < characters for chunk in chunks)


def test_two_processes_do_as_one():
    texts = [str(number) for number in range(500)]
    one = list(map_chunks(sorted, chunks_of(texts, lines=7)))
    assert list(map_chunks(sorted, chunks_of(texts, lines=7), workers=2)) == one


def test_order_is_kept_and_reading_stays_close():
    read: list[int] = []

    def chunks() -> Iterator[list[int]]:
        for number in range(40):
            read.append(number)
            yield [number] * (1 if number % 8 else 300_000)  # some take longer

    results = map_chunks(sorted, chunks(), workers=2)
    for number, result in enumerate(results):
        assert result[0] == number
        assert len(read) <= number + 6  # two ahead for each process, one in hand


def test_errors_arrive_whole():
    with raises("config.language-code", "'no language'"):
        list(map_chunks(language_code, ["en", "no language"], workers=2))


def test_a_killed_process_is_an_error():
    with raises("worker"):
        list(map_chunks(os._exit, [1], workers=2))


def test_no_process_at_all():
    with raises("config.invalid-value", 0):
        list(map_chunks(sorted, [["a"]], workers=0))


PROGRAM = """
import sys, time, os
from isoglot.text.stream import map_chunks

def work(chunk):
    time.sleep(0.02)
    return os.getpid()

if __name__ == "__main__":
    try:
        for number, pid in enumerate(map_chunks(work, ([str(i)] for i in range(10_000)), workers=2)):
            print(pid, flush=True)
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_process_is_left_behind(tmp_path: Path, how: signal.Signals):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / "program.py")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as run:
        assert run.stdout is not None
        pids = {int(run.stdout.readline()) for _ in range(20)}
        if how == signal.SIGINT:
            os.killpg(run.pid, how)  # as a terminal does: the children get it too
        else:
            run.send_signal(how)
        _, errors = run.communicate(timeout=20)
    if how == signal.SIGINT:
        assert (run.returncode, errors) == (130, "")
    for _ in range(100):
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            return
        time.sleep(0.05)
    raise AssertionError("a worker lives on")
