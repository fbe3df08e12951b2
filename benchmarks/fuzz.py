"""Hostile input: readers and the command line must end well or refuse in one line, whatever they are given.

    python benchmarks/fuzz.py readers --cases 100000
    python benchmarks/fuzz.py cli --cases 10000

``readers`` damages a valid file of every format (bits, cuts, repeated or shuffled lines, numbers of 5,000 digits, deep
nesting, control characters, a suffix that is not true) and reads it to the end: only an IsoglotError may come out. Of
folders of ours, it changes values in the index, under a hash that fits.
``cli`` calls verbs with random options, paths and damaged files: the exit code is 0 or 2, an error is one line without
control characters, and no longer than 8,000 characters. A case is a function of the seed and its number, so that
``--first N --cases 1`` shows it again. A failure is printed with its traceback, and the run goes on; the numbers of the
failed cases are printed at the end, and the exit code is 1 if there are any.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import lzma
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout
from copy import deepcopy
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from typer.main import get_command

from isoglot.cli.main import app, main
from isoglot.core.artifact import write_sealed
from isoglot.core.config import build_config, load_recipe
from isoglot.core.errors import IsoglotError
from isoglot.core.files import read_json
from isoglot.model import Encoder, encoder_config, load_encoder, save_encoder
from isoglot.represent import Representations
from isoglot.retrieve.vector_files import read_side
from isoglot.text.formats.conll import read_conllu, read_tagged
from isoglot.text.formats.dictionary import read_dictionary
from isoglot.text.formats.lines import read_lines
from isoglot.text.formats.nli import read_inference
from isoglot.text.formats.parallel import read_gold, read_parallel, read_pharaoh, read_tmx
from isoglot.text.formats.plain import read_documents
from isoglot.text.formats.word_vectors import read_vectors
from isoglot.vocab import Vocabulary, train_vocabulary

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
RECIPE = 'budget = "100steps"\n[model]\npreset = "paper"\nsize = "nano"\n[optimizer]\nkind = "adam"\nrate = 1e-4\n'
JSON = json.dumps({"format": 1, "files": {"a": "b"}, "sizes": [1, 2.5, -3], "text": "é\u2028"})
MATRIX_ND = np.arange(6, dtype=np.float32).reshape(2, 3)


def npy_bytes() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, MATRIX_ND)
    return buffer.getvalue()


def safetensors_bytes() -> bytes:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "a.safetensors"
        Representations({0: MATRIX_ND, 1: MATRIX_ND}, {"depth": 1, "pool": "mean"}).save(path)
        return path.read_bytes()


def read_recipe(path: Path) -> None:
    from isoglot.pretrain.config import PretrainConfig

    build_config(PretrainConfig, recipe=load_recipe(str(path), room="pretrain"))


READERS: dict[str, tuple[str, str | bytes, Callable[[Path], object]]] = {
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
    "numpy": ("a.npy", npy_bytes(), read_side),
    "safetensors": ("a.safetensors", safetensors_bytes(), read_side),
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
    data = text.encode() if isinstance(text, str) else text
    suffix = chance.choice(["", "", "", ".xz", ".gz", ".zst"])
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


VALUES_OF_INDEX: list[Any] = [
    None,
    True,
    0,
    -1,
    1,
    7,
    2**31,
    2**63,
    10**12,
    10**400,
    0.5,
    1e308,
    "",
    "x",
    "en",
    "../x",
    [],
    {},
]
VALUES_OF_INDEX += [[[0, 10**12]], [[-5, 3]], [[3]], [["a", "b"]], [None], {"a": 1}, {"en": []}, "a" * 5000]


@cache
def good_folder(holder: str) -> Path:
    """A small encoder with its vocabulary, which every case of folders copies."""
    texts, folder = Path(holder) / "a.txt", Path(holder) / "encoder"
    texts.write_text("the cat sleeps in the house\nthe house is red\n" * 5)
    vocabulary = train_vocabulary({"en": [texts], "de": [texts]}, mode="union", size=300)
    config = encoder_config(
        "paper", "nano", vocabulary_size=len(vocabulary), languages=("en", "de"), plan="sep-emb", max_length=8
    )
    save_encoder(Encoder(config, vocabulary), folder)
    return folder


def hostile_folder(folder: Path, chance: random.Random, kind: str) -> Path:
    """The encoder's folder with a value or two of an index changed or missing, or a tokenizer damaged, sealed again."""
    shutil.copytree(good_folder(HOLDER.name), folder / "a")
    index = folder / "a" / FOLDERS[kind][0]
    content = json.loads(index.read_text("utf-8"))
    for _ in range(chance.randint(1, 2)):
        inner, key = content, chance.choice(sorted(content))
        while isinstance(inner[key], dict | list) and inner[key] and chance.random() < 0.7:
            inner = inner[key]
            key = chance.choice(sorted(inner)) if isinstance(inner, dict) else chance.randrange(len(inner))
        if chance.random() < 0.2:
            del inner[key]
        else:
            inner[key] = deepcopy(chance.choice(VALUES_OF_INDEX))
    if kind == "vocabulary.json" and chance.random() < 0.2:
        name = chance.choice(["en/tokenizer.json", "de/tokenizer.json"])
        data = damaged((index.parent / name).read_bytes(), chance)
        (index.parent / name).write_bytes(data)
        if isinstance(content.get("files"), dict):
            content["files"][name] = hashlib.sha256(data).hexdigest()
    write_sealed(index, content)
    return index.parent


def use_vocabulary(path: Path) -> None:
    found = Vocabulary.load(path)
    for language in found.languages:
        found.encode("the cat", language)
        found.counts(language)
        found.ids_of(language)
    found.decode(range(len(found)))
    found.provenance.facts()


FOLDERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "encoder.json": ("encoder.json", lambda path: load_encoder(path, device="cpu")),
    "vocabulary.json": ("vocabulary/vocabulary.json", use_vocabulary),
}
HOLDER = tempfile.TemporaryDirectory()


def read_one(folder: Path, chance: random.Random) -> str:
    kind = chance.choice([*READERS, *FOLDERS])
    path = hostile_file(folder, chance, kind) if kind in READERS else hostile_folder(folder, chance, kind)
    reader = READERS[kind][2] if kind in READERS else FOLDERS[kind][1]
    try:
        found = reader(path)
        if isinstance(found, Iterable) and not isinstance(found, str | bytes | dict | list):
            for _ in found:
                pass
    except IsoglotError as error:
        check_line(str(error))
        return f"{kind}: refused"
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
            value = str(
                folder / chance.choice(["out/0", "out/1", "out/2", "loop", "loop/inside", Path(places[0]).name])
            )
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
    failed: list[int] = []
    started = time.monotonic()
    here = Path.cwd()
    for number in range(first, first + cases):
        chance = random.Random(f"{what} {seed} {number}")  # noqa: S311 - no secret
        np.random.seed(0)  # noqa: NPY002 - for libraries that use it
        with tempfile.TemporaryDirectory() as name:  # one each: what a case leaves must not change the next
            os.chdir(name)  # what a verb writes to a relative path is gone with the folder
            try:
                found[read_one(Path(name), chance) if what == "readers" else call_one(Path(name), chance, known)] += 1
            except Exception:  # noqa: BLE001 - any other is what is looked for
                traceback.print_exc()
                print(
                    f"case {number} failed: python benchmarks/fuzz.py {what} --seed {seed} --first {number} --cases 1"
                )
                failed.append(number)
            finally:
                os.chdir(here)
    for kind, count in sorted(found.items()):
        print(f"{kind:24} {count:8,}")
    result = f"{len(failed):,} failed: {' '.join(map(str, failed))}" if failed else "none failed"
    print(f"{cases:,} cases of {what} in {time.monotonic() - started:.0f} s: {result}")
    return 1 if failed else 0


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
