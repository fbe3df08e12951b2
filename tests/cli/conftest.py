"""What ``isoglot align`` works on."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from isoglot.languages import align, documents, parallel
from isoglot.model import save_encoder
from isoglot.text.alignment import write_pharaoh
from isoglot.vocab import train_vocabulary
from tests.cli.align_options import QUICK


@pytest.fixture(scope="session")
def align_folder(nano_encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder of English and French on disk, and parallel text, links, running text and dictionaries."""
    folder: Path = tmp_path_factory.mktemp("align")
    texts = {}
    for code in ("en", "fr"):
        lines = [s.text for document in islice(documents(code, seed=1), 40) for s in document]
        (folder / f"text.{code}").write_text("\n".join(lines) + "\n")
        texts[code] = [folder / f"text.{code}"]
    vocabulary = train_vocabulary(texts, mode="joint", size=1000, coverage=1.0)
    about = {"dictionaries": [{"source": "en", "target": "fr", "source_words": ["cat"], "target_words": ["chat"]}]}
    save_encoder(nano_encoder(vocabulary, "paper"), folder / "model", about=about)
    rows = list(islice(parallel(("en", "fr"), seed=2), 150))
    for side, code in enumerate(("en", "fr")):
        (folder / f"p.{code}").write_text("\n".join(" ".join(row[side].tokens()) for row in rows) + "\n")
    (folder / "p.tsv").write_text("en\tfr\n" + "".join(f"{a.text}\t{b.text}\n" for a, b in rows))
    write_pharaoh(folder / "p.align", [align(*row) for row in rows])
    entries = sorted({(a.words[i].lower(), b.words[j].lower()) for a, b in rows for i, j in align(a, b)})
    words = sorted({a for a, _ in entries} - {"cat"})
    held = set(words[::4])
    for name, part in (("train", set(words) - held), ("test", held)):
        lines = [f"{a} {b}" for a, b in entries if a in part and " " not in a + b]
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def align_run(isoglot, align_folder: Path, tmp_path: Path):
    """``align_run(use, *options)``: align with the encoder into ``tmp_path / "map"``; ``@`` stands for the folder."""

    def go(use: str, *options: str, source: str = "@/model"):
        given = ["--source", source, "--out", str(tmp_path / "map"), *QUICK, *options]
        return isoglot("align", use, *(option.replace("@", str(align_folder)) for option in given))

    return go
