"""How long ``isoglot --help`` takes, beside a bare Python and a Python that imports torch.

Prints the median of 15 runs of each. The target is 0.3 s.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "isoglot --help": [sys.executable, "-m", "isoglot", "--help"],
    "import torch": [sys.executable, "-c", "import torch"],
}


def seconds(command: list[str]) -> float:
    times = []
    for _ in range(15):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    measured = {name: seconds(command) for name, command in COMMANDS.items()}
    for name, median in measured.items():
        print(f"{name:20} {median:6.3f} s")
    sys.exit(0 if measured["isoglot --help"] < 0.3 else "isoglot --help takes longer than 0.3 s")
