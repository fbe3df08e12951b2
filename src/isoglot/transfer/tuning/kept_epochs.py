"""Weights of the best epochs of a run, in files or in memory, for other selection rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isoglot.core.artifact import load_tensors, save_arrays

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import torch

FOLDER = "epochs"
_KIND = "weights of an epoch"


@dataclass
class KeptEpochs:
    """Tensors by epoch, numbered from 1.

    Args:
        out: The folder of the run; None keeps them in memory.
    """

    out: Path | None = None
    _memory: dict[int, dict[str, torch.Tensor]] = field(default_factory=dict)

    def numbers(self) -> list[int]:
        """Epochs that are kept."""
        if self.out is None:
            return sorted(self._memory)
        return sorted(int(path.stem.removeprefix("epoch-")) for path in (self.out / FOLDER).glob("epoch-*.safetensors"))

    def put(self, epoch: int, tensors: Mapping[str, torch.Tensor]) -> None:
        """Store the weights of an epoch.

        Raises:
            StorageError: They cannot be written.
        """
        held = {name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()}
        if self.out is None:
            self._memory[epoch] = held
        else:
            save_arrays(self._path(epoch), _KIND, {"epoch": epoch}, held)

    def get(self, epoch: int) -> dict[str, torch.Tensor]:
        """The weights of an epoch, on the CPU.

        Raises:
            CorruptFileError: The file was cut short.
            StorageError: It is not there.
        """
        if self.out is None:
            return self._memory[epoch]
        return load_tensors(self._path(epoch), _KIND, remedy="make it again with isoglot transfer")

    def only(self, epochs: Sequence[int]) -> None:
        """Remove all other epochs."""
        for other in set(self.numbers()) - set(epochs):
            if self.out is None:
                del self._memory[other]
            else:
                self._path(other).unlink()

    def mean(self, epochs: Sequence[int]) -> dict[str, torch.Tensor]:
        """The mean of the weights of some epochs, summed in float64."""
        first, *others = [self.get(epoch) for epoch in epochs]
        found = {}
        for name, tensor in first.items():
            total = sum((other[name].double() for other in others), start=tensor.double())
            found[name] = (total / len(epochs)).to(tensor.dtype)
        return found

    def _path(self, epoch: int) -> Path:
        assert self.out is not None  # noqa: S101 - for the type checker
        return self.out / FOLDER / f"epoch-{epoch:04d}.safetensors"
