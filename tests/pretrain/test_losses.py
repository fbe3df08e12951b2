"""Losses on the way: what is not finite is noticed, in the loss and in the gradient."""

from __future__ import annotations

import pytest
import torch

from isoglot.pretrain.distributed import World
from isoglot.pretrain.step import Losses
from tests.errors import raises

ALONE = World(device=torch.device("cpu"))


@pytest.mark.parametrize("bad", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("where", ["loss", "gradient"])
def test_the_first_step_with_a_loss_or_a_gradient_that_is_not_finite_stops_the_run(bad: float, where: str):
    losses = Losses(["en", "fr"], ALONE)
    losses.add(1, "en", torch.tensor(1.0), torch.tensor(2.0))
    values = {"loss": 1.0, "gradient": 1.0, where: bad}
    losses.add(2, "fr", torch.tensor(values["loss"]), torch.tensor(values["gradient"]))
    losses.add(3, "en", torch.tensor(bad), torch.tensor(bad))
    with raises("numeric", 2, "fr"):
        losses.check(None)


def test_means_go_on_after_a_checkpoint_as_if_there_had_been_none():
    whole, cut = Losses(["en", "fr"], ALONE), Losses(["en", "fr"], ALONE)
    for step, (language, loss) in enumerate([("en", 0.1), ("fr", 7.3), ("en", 0.7)], start=1):
        whole.add(step, language, torch.tensor(loss), torch.tensor(0.0))
        cut.add(step, language, torch.tensor(loss), torch.tensor(0.0))
        resumed = Losses(["en", "fr"], ALONE)
        resumed.restore(cut.state())
        cut = resumed
    assert cut.take() == whole.take()
    assert cut.take() == {}
