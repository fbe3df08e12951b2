from __future__ import annotations

import torch

from isoglot.core.doctor import PeakConfig, measure_peak

CPU = torch.device("cpu")


def test_one_peak_for_each_number_format():
    config = PeakConfig(sizes=(128, 64), dtypes=("float32", "bfloat16"), seconds=0.01)
    peaks = measure_peak(config, CPU)
    assert [peak.dtype for peak in peaks] == ["float32", "bfloat16"]
    for peak in peaks:
        assert peak.size in {64, 128}
        assert 1e-5 < peak.tflops < 1e4


def test_there_is_always_one_measurement():
    assert measure_peak(PeakConfig(sizes=(64,), dtypes=("float32",), seconds=1e-9), CPU)[0].tflops > 0


def test_a_size_that_takes_too_long_is_left_out():
    config = PeakConfig(sizes=(64, 65536), dtypes=("float32",), seconds=0.01)
    assert measure_peak(config, CPU)[0].size == 64
