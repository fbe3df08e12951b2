"""What a run says on the way."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from isoglot.model import encoder_config
from isoglot.pretrain.metrics_log import MetricsLog, StepFacts, memory_used, read_metrics, step_flops


def facts(**changes) -> StepFacts:
    values = {
        "step": 50,
        "loss": {"fr": 4.5, "en": 3.25},
        "rate_factor": 0.5,
        "gradient": 1.5,
        "tokens": 1000,
        "seconds": 2.0,
        "speeds": (600.0, 650.0),
        "flops": 1e9,
        "peak": 4e9,
        "memory": 3 * 2**29,
        "left": None,
    }
    return StepFacts(**{**values, **changes})


def test_the_line_has_what_a_person_looks_for():
    assert facts().line() == "loss en 3.250 fr 4.500, 1,250 tokens/s (600 + 650), 25 % of peak, 1.5 GB"
    assert facts(peak=None, left=7.0).line().endswith("(600 + 650), 1.5 GB, 7.0 s left")


def test_a_resumed_run_has_no_line_twice(tmp_path: Path):
    log = MetricsLog(tmp_path)
    for step in (1, 2, 3):
        log.add({"step": step, "kind": "train", "loss": {"en": step / 2}})
    log.close()
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4, "kind": "tr')  # killed in the middle of a line
    log = MetricsLog(tmp_path, after=2)
    log.add({"step": 3, "kind": "train", "loss": {"en": 9.0}})
    log.close()
    assert [(line["step"], line["loss"]["en"]) for line in read_metrics(tmp_path)] == [(1, 0.5), (2, 1.0), (3, 9.0)]
    MetricsLog(tmp_path, after=3, lines=1).close()  # what came after a save of the same step goes, too
    assert [line["step"] for line in read_metrics(tmp_path)] == [1]
    MetricsLog(tmp_path).close()
    assert read_metrics(tmp_path) == []


def test_the_record_is_json_with_all_of_it(tmp_path: Path):
    log = MetricsLog(tmp_path)
    log.add(facts().record())
    log.close()
    (line,) = (tmp_path / "metrics.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert (record["kind"], record["share_of_peak"], record["tokens_per_second"]) == ("train", 0.25, [600.0, 650.0])


def test_operations_are_those_torch_counts():
    from torch.utils.flop_counter import FlopCounterMode

    from isoglot.model import Encoder

    config = encoder_config("modern", "nano", vocabulary_size=100)
    model = Encoder(config)
    ids = torch.randint(0, 100, (3, 10))
    with FlopCounterMode(display=False) as counter, torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        model(ids, ids[:, :2] % 10, ids[:, :2]).backward()
    assert step_flops(config, rows=3, length=10, masked=2) == counter.get_total_flops()


def test_memory_is_more_than_nothing():
    assert memory_used(torch.device("cpu")) > 2**20
