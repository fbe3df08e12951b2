"""Muon: orthogonal steps, whatever is stacked with what; the numbers of torch's own where it has one."""

import pytest
import torch
from torch import nn

from isoglot.pretrain.optimizer import MOMENTUM, Muon, orthogonal


def chance(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def rotation(size: int, seed: int) -> torch.Tensor:
    turned: torch.Tensor = torch.linalg.qr(torch.randn(size, size, generator=chance(seed))).Q
    return turned


@pytest.mark.parametrize("shape", [(3, 16, 16), (2, 12, 40), (2, 40, 12), (1, 1, 7)])
def test_singular_values_come_near_one_and_vectors_stay(shape: tuple[int, int, int]) -> None:
    matrices = torch.randn(shape, generator=chance())
    u, s, v = torch.linalg.svd(matrices, full_matrices=False)
    found = u.mT @ orthogonal(matrices) @ v.mT  # diagonal, if the vectors are the same
    values = torch.diagonal(found, dim1=1, dim2=2)
    torch.testing.assert_close(found, torch.diag_embed(values), atol=1e-4, rtol=0)
    large = s / torch.linalg.matrix_norm(matrices)[:, None] > 0.01
    assert values[large].min() > 0.65
    assert values.max() < 1.25


def test_it_turns_with_the_matrix_and_does_not_see_its_size() -> None:
    matrix, left, right = torch.randn(1, 20, 30, generator=chance()), rotation(20, 1), rotation(30, 2)
    torch.testing.assert_close(orthogonal(left @ matrix @ right), left @ orthogonal(matrix) @ right, atol=1e-4, rtol=0)
    torch.testing.assert_close(orthogonal(1000 * matrix), orthogonal(matrix), atol=1e-5, rtol=0)


def test_no_gradient_to_speak_of_is_no_step() -> None:
    assert orthogonal(torch.zeros(2, 4, 5)).equal(torch.zeros(2, 4, 5))


def parameters(*shapes: tuple[int, int], seed: int = 3) -> list[nn.Parameter]:
    generator = chance(seed)
    return [nn.Parameter(torch.randn(shape, generator=generator)) for shape in shapes]


def moved(optimizer: torch.optim.Optimizer, some: list[nn.Parameter], steps: int = 3) -> list[torch.Tensor]:
    generator = chance(7)
    for _ in range(steps):
        for one in some:
            one.grad = torch.randn(one.shape, generator=generator)
        optimizer.step()
    return [one.detach().clone() for one in some]


SHAPES = ((8, 8), (8, 8), (24, 8), (8, 20))


def test_the_numbers_of_torch() -> None:
    peer = pytest.importorskip("torch.optim._muon").Muon  # torch 2.9 and newer
    ours, theirs = parameters(*SHAPES), parameters(*SHAPES)
    groups = [{"params": ours, "weight_decay": 0.1}]
    torchs = peer(theirs, lr=0.01, weight_decay=0.1, momentum=0.9, adjust_lr_fn="match_rms_adamw")
    for one, other in zip(moved(Muon(groups, lr=0.01, momentum=0.9), ours), moved(torchs, theirs), strict=True):
        torch.testing.assert_close(one, other, atol=1e-3, rtol=0)  # a step is 0.01; torch's is rounded to bfloat16


def test_matrices_move_as_if_alone() -> None:
    together = parameters(*SHAPES)
    results = moved(Muon([{"params": together}], lr=0.01), together)
    alone = parameters(*SHAPES)
    generator = chance(7)
    optimizers = [Muon([{"params": [one]}], lr=0.01) for one in alone]
    for _ in range(3):
        for one, optimizer in zip(alone, optimizers, strict=True):
            one.grad = torch.randn(one.shape, generator=generator)
            optimizer.step()
    for one, other in zip(alone, results, strict=True):
        torch.testing.assert_close(one.detach(), other, atol=1e-6, rtol=0)


def test_a_parameter_of_three_maps_moves_as_three_matrices() -> None:
    whole, pieces = (
        parameters((24, 8)),
        [nn.Parameter(part.clone()) for part in parameters((24, 8))[0].detach().chunk(3)],
    )
    one, other = Muon([{"params": whole, "parts": 3}], lr=0.01), Muon([{"params": pieces}], lr=0.01)
    gradient = torch.randn(24, 8, generator=chance(9))
    whole[0].grad = gradient
    for piece, part in zip(pieces, gradient.chunk(3), strict=True):
        piece.grad = part
    one.step()
    other.step()
    torch.testing.assert_close(whole[0].detach(), torch.cat([piece.detach() for piece in pieces]))
    assert one.state[whole[0]][MOMENTUM].shape == (24, 8)


def test_what_has_no_gradient_does_not_move() -> None:
    reached, other = parameters((4, 4), (4, 4))
    before = other.detach().clone()
    optimizer = Muon([{"params": [reached, other], "weight_decay": 0.5}], lr=0.1)
    reached.grad = torch.ones(4, 4)
    optimizer.step()
    assert other.detach().equal(before)
    assert other not in optimizer.state


def test_a_step_is_of_the_size_of_adamws() -> None:
    (one,) = parameters((64, 256))
    before = one.detach().clone()
    one.grad = torch.randn(64, 256, generator=chance())
    Muon([{"params": [one]}], lr=0.01).step()
    size = (one.detach() - before).square().mean().sqrt().item()
    assert 0.2 * 0.01 * 0.7 < size < 0.2 * 0.01 * 1.2
