"""The Ray engine on two nodes of this machine; one is killed in mid-study."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from isoglot.study.engines import ClusterOptions, RunOptions
from isoglot.study.engines.ray import run_ray
from tests.errors import raises
from tests.study.fake_steps import Plan, fake_kinds, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

ray = pytest.importorskip("ray", reason="Ray (isoglot[cluster]) is not installed")
# Ray leaves files and sockets to the end of the process.
pytestmark = [pytest.mark.usefixtures("fake_kinds"), pytest.mark.filterwarnings("ignore")]
__all__ = ["fake_kinds"]


@pytest.fixture
def cluster(fake_kinds: None) -> Iterator[Any]:
    make = import_module("ray.cluster_utils").Cluster
    memory = {"object_store_memory": 80 * 1024 * 1024}
    head = {"num_cpus": 1, "include_dashboard": False, **memory}
    nodes = make(initialize_head=True, head_node_args=head)
    nodes.second = nodes.add_node(num_cpus=1, **memory)
    yield nodes
    ray.shutdown()
    nodes.shutdown()


def test_a_node_is_killed_in_mid_study(tmp_path: Path, cluster: Any) -> None:
    plan = Plan(tmp_path)
    for side in "ab":
        plan.add(f"train {side}", kind="fake-resumable", seconds=5.0)
        plan.add(f"measure {side}", f"train {side}")
    plan.add("compare", "train a", "train b")
    plan.add("bad", do="fail")
    plan.add("after bad", "bad")
    study = plan.study()

    def kill_a_node() -> None:
        wait_until(lambda: list(plan.status(study).values()).count("running") == 2, 90)
        cluster.remove_node(cluster.second, allow_graceful=False)

    killer = Thread(target=kill_a_node)
    killer.start()
    result = run_ray(study, RunOptions(device="cpu", cluster=ClusterOptions(address=cluster.address)))
    killer.join()
    assert set(result.failed) == {plan.steps["bad"].key}
    assert len(result.done) == 5
    attempts = Counter(plan.attempts())
    assert sorted((attempts.pop("train a"), attempts.pop("train b"))) == [1, 2]  # one was lost, and run again
    assert attempts == {"measure a": 1, "measure b": 1, "compare": 1, "bad": 1}
    assert plan.status(study)["after bad"] == "blocked"
    for name in ("train a", "train b"):
        study.store.check(plan.steps[name].key)
        assert not study.store.failures(plan.steps[name].key)
    assert not list(study.store.steps.glob(".*.owner"))


def test_no_cluster_is_one_clear_error(tmp_path: Path) -> None:
    plan = Plan(tmp_path)
    plan.add("one")
    with raises("config.engine", "127.0.0.1:9"):
        run_ray(plan.study(), RunOptions(cluster=ClusterOptions(address="127.0.0.1:9")))
