"""Heads: what they compute, by hand; padding is never seen; trees have one root."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from isoglot.transfer.tuning.batches import TaskBatch
from isoglot.transfer.tuning.heads import BiaffineHead, HeadConfig, LinearHead

PLAIN = HeadConfig(dropout=0.0, mlp_dropout=0.0, arc_size=6, relation_size=4)


def given(mask: Any, targets: Any = None, parts: Any = None) -> TaskBatch:
    nothing: Any = None
    return TaskBatch(nothing, nothing, mask, targets, parts)


def shaken(head: Any, scale: float = 0.5) -> Any:
    chance = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=chance) * scale)
    return head.eval()


def vectors(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def test_linear_is_cross_entropy_over_places_with_targets():
    head = shaken(LinearHead(5, 3, PLAIN))
    vectors_BWD, mask = vectors(2, 3, 5), torch.tensor([[True, True, True], [True, False, False]])
    targets = torch.tensor([[[0], [2], [-100]], [[1], [-100], [-100]]])
    scores = head.scores(vectors_BWD).log_softmax(-1)
    expected = -(scores[0, 0, 0] + scores[0, 1, 2] + scores[1, 0, 1]) / 3
    assert head.loss(vectors_BWD, given(mask, targets)).item() == pytest.approx(expected.item())
    assert head.decode(vectors_BWD, given(mask)).shape == (2, 3, 1)


@pytest.mark.parametrize("kind", [LinearHead, BiaffineHead])
def test_padding_changes_nothing(kind):
    head = shaken(kind(5, 3, PLAIN))
    short, mask = vectors(2, 4, 5), torch.ones(2, 4, dtype=torch.bool)
    long = torch.cat([short, torch.full((2, 3, 5), 9.0)], dim=1)
    longer = torch.cat([mask, torch.zeros(2, 3, dtype=torch.bool)], dim=1)
    targets = torch.tensor([[[-100, -100], [2, 0], [0, 1], [2, 2]]] * 2)
    wider = torch.cat([targets, torch.full((2, 3, 2), -100)], dim=1)
    torch.testing.assert_close(head.loss(short, given(mask, targets)), head.loss(long, given(longer, wider)))
    assert (head.decode(short, given(mask)) == head.decode(long, given(longer))[:, :4]).all()


def test_biaffine_arcs_are_the_bilinear_form_with_a_prior_of_the_head():
    head = shaken(BiaffineHead(5, 3, PLAIN))
    x_BWD, mask = vectors(1, 4, 5), torch.ones(1, 4, dtype=torch.bool)
    scores = head.arc_scores(x_BWD, mask)[0]

    def act(part: Any, place: int) -> torch.Tensor:
        return torch.nn.functional.leaky_relu(part(x_BWD[0, place]), 0.1)

    one = torch.cat([act(head.arc_dependent, 2), torch.ones(1)]) @ head.arcs @ act(head.arc_head, 1)
    assert scores[2, 1].item() == pytest.approx(one.item(), abs=1e-5)
    assert scores[2, 2] == -torch.inf
    relations = head.relation_scores(x_BWD, torch.tensor([[0, 0, 1, 1]]))[0, 2]
    left = torch.cat([act(head.relation_dependent, 2), torch.ones(1)])
    right = torch.cat([act(head.relation_head, 1), torch.ones(1)])
    expected = torch.stack([left @ head.relations[label] @ right for label in range(3)])
    torch.testing.assert_close(relations, expected)


def test_trees_have_one_root_and_no_cycle():
    head = shaken(BiaffineHead(5, 3, PLAIN), scale=2.0)
    mask = torch.arange(9)[None] < torch.tensor([9, 5, 2])[:, None]
    for row, size in zip(head.decode(vectors(3, 9, 5), given(mask)), (8, 4, 1), strict=True):
        heads = row[1 : size + 1, 0].tolist()
        assert heads.count(0) == 1
        for word in range(1, size + 1):
            seen = set()
            while word:
                assert word not in seen
                seen.add(word)
                word = heads[word - 1]  # noqa: PLW2901


def test_root_is_the_relation_of_the_root_and_of_no_other():
    mask = torch.arange(9)[None] < torch.tensor([9, 5, 2])[:, None]
    free, bound = (
        shaken(BiaffineHead(5, 3, PLAIN, root), scale=2.0).decode(vectors(3, 9, 5), given(mask)) for root in (None, 1)
    )
    assert (free[..., 0] == bound[..., 0]).all()
    words = mask.numpy().copy()
    words[:, 0] = False
    assert ((free[..., 1] == 1) != (free[..., 0] == 0))[words].any()
    assert ((bound[..., 1] == 1) == (bound[..., 0] == 0))[words].all()
    others = words & (free[..., 1] != 1) & (free[..., 0] != 0)
    assert (free[others] == bound[others]).all()


def test_initial_values_are_the_seeds():
    one, two, other = (BiaffineHead(5, 3, PLAIN) for _ in range(3))
    for head, seed in ((one, 1), (two, 1), (other, 2)):
        head.reset(seed)
    assert torch.equal(one.arc_head.weight, two.arc_head.weight)
    assert not torch.equal(one.arc_head.weight, other.arc_head.weight)
    assert not one.arcs.any()
