"""What comes out is in the library and of the float type that came in."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from isoglot.core.arrays import give_back, in_library_of

ROWS = torch.tensor([[1.5, -2.0]])


@pytest.mark.parametrize(
    ("like", "dtype"),
    [
        (np.zeros(1, np.float64), np.float64),
        (np.zeros(1, np.float16), np.float16),
        (np.zeros(1, np.int64), np.float32),
        ([1, 2], np.float32),
    ],
)
def test_numpy_and_lists_get_numpy_back_in_their_float_type(like, dtype):
    found = give_back(ROWS, like)
    assert isinstance(found, np.ndarray)
    assert found.dtype == dtype
    assert found.tolist() == [[1.5, -2.0]]


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [(torch.float64, torch.float64), (torch.float16, torch.float16), (torch.int64, torch.float32)],
)
def test_torch_gets_torch_back_in_its_float_type(dtype, expected):
    found = give_back(ROWS, torch.zeros(1, dtype=dtype))
    assert found.dtype == expected
    assert found.tolist() == [[1.5, -2.0]]


def test_results_are_in_the_library_of_the_input_and_keep_their_own_type():
    found = in_library_of([[1.0]], torch.tensor([3]))
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.int64
    assert isinstance(in_library_of(torch.zeros(1), torch.tensor([3])), torch.Tensor)
