"""The totals of tokens that lmms-eval's clients show are those that lmms-eval itself would count."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest
from lmms_eval.models.model_utils import usage_metrics

from lmms_tasks import usage
from tests.running import environment


def test_the_totals_are_lmms_evals_own_after_every_request_and_in_the_next_run(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = getattr(usage_metrics.get_running_totals, "__wrapped__", usage_metrics.get_running_totals)
    monkeypatch.setattr(usage_metrics, "get_running_totals", theirs)
    usage.count_on(usage_metrics)
    ours = usage_metrics.get_running_totals
    assert ours is not theirs
    usage.count_on(usage_metrics)
    assert usage_metrics.get_running_totals is ours, "changed once"

    chance = random.Random(8)
    try:
        for requests in (5, 7, 0, 3):
            usage_metrics.reset_usage_metrics()
            if requests != 7:  # a run whose first totals are asked for when it has more records than the last had
                assert ours() == theirs()
            for number in range(requests):
                tokens = {
                    name: chance.randrange(1000) for name in ("input_tokens", "output_tokens", "reasoning_tokens")
                }
                usage_metrics.log_usage("m", "task", **tokens)
                if number > 5 or requests != 7:
                    assert ours() == theirs()
    finally:
        usage_metrics.reset_usage_metrics()


def test_the_clients_of_servers_have_it() -> None:
    program = "import lmms_eval.models.chat.openai as o; print(hasattr(o.get_running_totals, 'lmms_tasks'))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment())
    assert found.stdout.split()[-1] == "True", found.stderr[-2000:]


def test_an_lmms_eval_that_counts_otherwise_is_left_alone() -> None:
    class Other:
        @staticmethod
        def get_running_totals() -> int:
            return 1

    usage.count_on(Other)
    assert Other.get_running_totals() == 1
