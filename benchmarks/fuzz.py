"""Hostile input: readers and the command line must end well or refuse in one line, whatever they are given.

    python benchmarks/fuzz.py readers --cases 100000
    python benchmarks/fuzz.py cli --cases 10000

``readers`` damages a valid file of every format (bits, cuts, repeated or shuffled lines, numbers of 5,000 digits, deep
nesting, control characters, a suffix that is not true) and reads it to the end: only an IsoglotError may come out.
``cli`` calls verbs with random options, paths and damaged files: the exit code is 0 or 2, an error is one line without
control characters, and no longer than 8,000 characters. A case is a function of the seed and its number, so that
``--first N --cases 1`` shows it again. The first failure is printed with its traceback, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import lzma
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from typer.main import get_command

from isoglot.cli.main import app, main
from isoglot.core.config import build_config
from isoglot.core.errors import IsoglotError
from isoglot.core.files import read_json
from isoglot.core.recipe import load_recipe
from isoglot.model import load_encoder
from isoglot.text.alignment import read_gold, read_pharaoh
from isoglot.text.columns import read_tagged
from isoglot.text.conllu import read_conllu
from isoglot.text.dictionary import read_dictionary
from isoglot.text.inference import read_inference
from isoglot.text.lines import read_lines
from isoglot.text.parallel import read_parallel
from isoglot.text.plain import read_documents
from isoglot.text.tmx import read_tmx
from isoglot.text.vectors import read_vectors

LONGEST_ERROR = 8000
SECONDS = 4
"""A verb that takes longer is stopped: it was given what it can work on."""

CONLLU = """# sent_id = 1
# text = Eva sleeps.
1\tEva\tEva\tPROPN\t_\tNumber=Sing\t2\tnsubj\t_\t_
2-3\tdu\t_\t_\t_\t_\t_\t_\t_\t_
2\tsleeps\tsleep\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No
3\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_

"""
TMX = """<?xml version="1.0" encoding="UTF-8"?>
<tmx version="1.4"><header/><body>
<tu><tuv xml:lang="en"><seg>A word.</seg></tuv><tuv xml:lang="de"><seg>Ein Wort.</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Two <b>words</b>.</seg></tuv><tuv xml:lang="de"><seg>Zwei Worte.</seg></tuv></tu>
</body></tmx>
"""
RECIPE = 'budget = "100steps"\n[model]\npreset = "paper"\nsize = "nano"\n[optimiser]\nkind = "adam"\nrate = 1e-4\n'
JSON = json.dumps({"format": 1, "files": {"a": "b"}, "sizes": [1, 2.5, -3], "text": "é\u2028"})


def read_recipe(path: Path) -> None:
    from isoglot.pretrain.settings import PretrainConfig

    build_config(PretrainConfig, recipe=load_recipe(str(path), room="pretrain"))


READERS: dict[str, tuple[str, str, Callable[[Path], object]]] = {
    "lines": ("a.txt", "One line.\nAnother line.\n\nA third one.\n", read_lines),
    "documents": ("a.txt", "One line.\nAnother line.\n\nA third one.\n", read_documents),
    "parallel": ("a.tsv", "One.\tEins.\nTwo.\tZwei.\n", lambda path: read_parallel(path, languages=["en", "de"])),
    "dictionary": ("a.txt", "house\tHaus\t0.5\ncat\tKatze\t0.25\n", read_dictionary),
    "columns": ("a.tsv", "Eva\tB-PER\nsleeps\tO\n\nBonn\tB-LOC\n", read_tagged),
    "conllu": ("a.conllu", CONLLU * 2, read_conllu),
    "inference": ("a.tsv", "It rains.\tIt is wet.\tentailment\nA.\tB.\tneutral\n", read_inference),
    "links": ("a.txt", "0-0 1-2 2-1\n0-0\n", read_pharaoh),
    "gold links": ("a.txt", "0-0 1p2 2-1\n0-0\n", read_gold),
    "tmx": ("a.tmx", TMX, read_tmx),
    "vectors": ("a.vec", "2 3\nhouse 0.1 0.2 0.3\ncat 1e-3 -2 0\n", read_vectors),
    "json": ("a.json", JSON, read_json),
    "recipe": ("a.toml", RECIPE, read_recipe),
}
INSERTED = [
    *(b"\0", b"\r", b"\x1b[31m", b"\xff\xfe", b"\xef\xbb\xbf", b"\t", b"\n", b" ", b"1e400", b"nan", b"-1"),
    *(b"9" * 5000, b"[" * 3000, b'{"a":' * 2000, b"\xe2\x80\xa8", b"\xed\xa0\x80", b"<!ENTITY a 'b'>", b"&a;"),
    *(b"</tu>", b"99999999999999999999", b"0-0-0", b"x" * 70_000),
]


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Between one and four kinds of damage."""
    found = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(found) + 1)
        match chance.randrange(8):
            case 0 if found:
                found[at % len(found)] ^= 1 << chance.randrange(8)
            case 1:
                del found[at:]
            case 2:
                found[at:at] = chance.choice(INSERTED)
            case 3:
                del found[at : at + chance.randint(1, 20)]
            case 4:
                lines = bytes(found).splitlines(keepends=True)
                chance.shuffle(lines)
                found = bytearray(b"".join(lines))
            case 5:
                found[at:at] = found[at : at + 200] * chance.randint(1, 30)
            case 6:
                found[at:at] = chance.randbytes(chance.randint(1, 40))
            case _ if found:
                found[at % len(found)] = chance.randrange(256)
    return bytes(found)


def hostile_file(folder: Path, chance: random.Random, kind: str) -> Path:
    """A damaged file of a kind, compressed once in a while, before or after the damage, or with an untrue suffix."""
    name, text, _ = READERS[kind]
    data, suffix = text.encode(), chance.choice(["", "", "", ".xz", ".gz", ".zst"])
    packs: dict[str, Callable[[bytes], bytes]] = {
        "": bytes,
        ".xz": lzma.compress,
        ".gz": gzip.compress,
        ".zst": zstandard.compress,
    }
    pack = packs[suffix]
    match chance.randrange(3):
        case 0:
            data = damaged(pack(data), chance)
        case 1:
            data = pack(damaged(data, chance))
        case _:
            data = damaged(data, chance)  # under a suffix that may be untrue
    path = folder / f"{name}{suffix}"
    path.write_bytes(data)
    return path


def read_one(folder: Path, chance: random.Random) -> str:
    kind = chance.choice(list(READERS))
    path = hostile_file(folder, chance, kind)
    reader = READERS[kind][2]
    try:
        found = reader(path)
        if isinstance(found, Iterable) and not isinstance(found, str | bytes | dict | list):
            for _ in found:
                pass
    except IsoglotError as error:
        check_line(str(error))
        return f"{kind}: refused"
    finally:
        path.unlink()
    return f"{kind}: read"


def check_line(line: str) -> None:
    if not line.isprintable() or len(line) > LONGEST_ERROR:
        raise AssertionError(f"an error of {len(line):,} characters, printable: {line.isprintable()}: {line[:200]!r}")


# --- the command line ---


class Expired(BaseException):
    """A verb that got to work."""


def expire(*_: object) -> None:
    raise Expired


def verbs(command: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    below = getattr(command, "commands", None)
    if not below:
        return {path: command}
    return {name: leaf for key, child in below.items() for name, leaf in verbs(child, (*path, key)).items()}


VALUES = [
    *("", " ", "-1", "0", "1", "3", "9" * 400, "1e400", "nan", "en", "de", "xx", "en=", "=x", "en=/none", "en-de"),
    *("\x1b[31m", "é\u2028", "a" * 5000, "/dev/null", "auto", "cpu", "cuda:7", "all", "isoglot-mini", "key=value"),
    *("seed=-1", "a.b.c=[1,2", "../..", "~/none", "en=en=en", "\udcff"),
]


def call_one(folder: Path, chance: random.Random, known: dict[tuple[str, ...], Any]) -> str:
    path = chance.choice(sorted(known))
    places = [str(hostile_file(folder, chance, kind)) for kind in chance.sample(sorted(READERS), 3)]
    places += [str(folder), str(folder / "missing"), str(folder / "loop")]
    if not (folder / "loop").is_symlink():
        (folder / "loop").symlink_to(folder / "loop")
    arguments = list(path)
    for option in known[path].params:
        wanted = getattr(option, "required", False) or chance.random() < 0.25
        if not wanted or option.name in ("help", "debug"):
            continue
        flag = bool(getattr(option, "is_flag", False))
        value = chance.choice(VALUES) if chance.random() < 0.5 else chance.choice(places)
        if chance.random() < 0.5 and "=" not in value:
            value = f"{chance.choice(['en', 'de', 'zh', 'en-de'])}={value}"
        if option.name == "out":
            value = str(folder / "out" / str(chance.randrange(3)))
        opts = [one for one in option.opts if one.startswith("-")]
        arguments += [opts[0]] if flag and opts else [*opts[:1], value]
    if path in (("demo",), ("doctor",), ("languages", "export")):
        arguments += ["--no-such-option"]  # they need nothing, and take their time
    output, errors = io.StringIO(), io.StringIO()
    signal.alarm(SECONDS)
    try:
        with redirect_stdout(output), redirect_stderr(errors):
            code = main(arguments)
    except Expired:
        return "worked"
    finally:
        signal.alarm(0)
    lines = [line for line in errors.getvalue().splitlines() if line.startswith("isoglot: ")]
    if code not in (0, 2):
        short = [one if len(one) < 200 else f"{one[:20]}…" for one in arguments]
        raise AssertionError(f"exit code {code} of {short!r}: {errors.getvalue()[-2000:]}")
    if code == 2 and lines:
        check_line(lines[-1])
    return f"exit {code}"


def fuzz(what: str, first: int, cases: int, seed: int) -> int:
    known = verbs(get_command(app))
    if what == "cli":  # a verb that is stopped while it imports a library would leave half of it behind
        for library in (
            "torch._dynamo",
            "transformers",
            "tokenizers",
            "isoglot.pretrain",
            "isoglot.transfer",
            "sacremoses",
        ):
            import_module(library)
        load_encoder("isoglot-mini")
    signal.signal(signal.SIGALRM, expire)
    found: Counter[str] = Counter()
    started = time.monotonic()
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)  # what a verb writes to a relative path is gone with the folder
        for number in range(first, first + cases):
            chance = random.Random(f"{what} {seed} {number}")  # noqa: S311 - no secret
            np.random.seed(0)  # noqa: NPY002 - for libraries that use it
            try:
                found[read_one(Path(name), chance) if what == "readers" else call_one(Path(name), chance, known)] += 1
            except Exception:  # noqa: BLE001 - any other is what is looked for
                traceback.print_exc()
                print(
                    f"case {number} failed: python benchmarks/fuzz.py {what} --seed {seed} --first {number} --cases 1"
                )
                os.chdir(here)
                return 1
        os.chdir(here)
    for kind, count in sorted(found.items()):
        print(f"{kind:24} {count:8,}")
    print(f"{cases:,} cases of {what} in {time.monotonic() - started:.0f} s: none failed")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["readers", "cli"])
    parser.add_argument(
        "--cases", type=int, default=None, help="Default: 100,000 of readers, 10,000 of the command line."
    )
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sys.exit(
        fuzz(
            options.what,
            options.first,
            options.cases or (100_000 if options.what == "readers" else 10_000),
            options.seed,
        )
    )
