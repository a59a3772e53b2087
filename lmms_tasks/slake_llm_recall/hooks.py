"""The judge's second look at SLAKE, in lmms-eval's calling convention; the rest is `lmms_tasks.slake.hooks`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lmms_scoring.outcomes import Outcome
from lmms_scoring.reply import to_text
from lmms_tasks import records
from lmms_tasks.judge import client, protocol
from lmms_tasks.judge.settings import JudgeError
from lmms_tasks.slake import hooks as slake
from lmms_tasks.subsets import Subset, attributes

if TYPE_CHECKING:
    from datasets import Dataset


class JudgedSubset(Subset):
    """A subset that is loaded only where a judge is set up: the run ends before generation, not after it."""

    def __init__(self, benchmark: str, name: str) -> None:
        super().__init__(benchmark, name)
        # The judge looks again at the replies of the plain task, which --model replay finds by this.
        self.metadata["replies_of"] = f"{benchmark}_{name}"

    def __call__(self, placeholder: Any) -> Dataset:
        """The rows, as `Subset` gives them; ends the run where there is no judge."""
        try:
            judge = client.shared().settings
        except JudgeError as error:
            raise SystemExit(f"lmms-tasks: {error}.") from error
        self.metadata["judge"] = judge.model
        self.metadata["judge_server"] = judge.server
        self.metadata["judge_prompt"] = protocol.PROMPT_VERSION
        return super().__call__(placeholder)


en_open = JudgedSubset(slake.BENCHMARK, "en_open")
en_closed = JudgedSubset(slake.BENCHMARK, "en_closed")
zh_open = JudgedSubset(slake.BENCHMARK, "zh_open")
zh_closed = JudgedSubset(slake.BENCHMARK, "zh_closed")

__getattr__ = attributes(globals())


def process_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
    """The items of `slake`, and the judge's, who is asked only about readable replies that the rule calls wrong."""
    items = slake.process_results(doc, results)
    record, cluster = items["acc"], items["acc"]["cluster"]
    score, failed = record["score"], None
    sent = score == 0.0 and record["outcome"] != Outcome.UNREADABLE.value
    if sent:
        reply = to_text(records.reply_of(results))
        finding = client.shared().ask(protocol.Question(doc["question"], doc["answer"], reply))
        record["judge"] = finding.record()
        score = max(score, float(finding.verdict is not None and finding.verdict.same))
        failed = records.item(float(finding.verdict is None), cluster)
    return {
        **items,
        "acc_llm_recall": records.item(score, cluster),
        "judged": records.item(float(sent), cluster),
        "judge_failed": failed,
    }
