"""`--model replay`: answers from saved replies, so that an old run is scored again without a GPU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from accelerate import Accelerator
from lmms_eval.api.model import lmms
from tqdm import tqdm

from lmms_tasks.models import replies

#: The columns in which our benchmarks keep the reference, and the dataset's own id.
_REFERENCES = ("answer", "label", "ground_truth")
_ROWS = ("qid", "id", "ID")
#: What lmms-eval passes to every model.
_LMMS_EVALS = frozenset({"batch_size", "max_batch_size", "device"})


class Replay(lmms):  # type: ignore[misc]
    """A model that repeats saved replies.

    Args (as `--model_args`):
        path: a file of replies, or a folder of them; see `lmms_tasks.models.replies.load`.
        missing: "error" (default) stops at a document without a saved reply; "empty" answers it with "".
    """

    is_simple = False

    def __init__(self, path: str | None = None, missing: str = "error", **others: Any) -> None:
        super().__init__()
        if path is None:
            raise SystemExit("--model replay needs saved replies: --model_args path=FILE_OR_FOLDER")
        unknown = sorted(others.keys() - _LMMS_EVALS)
        if unknown:
            raise SystemExit(f"--model replay has no argument {', '.join(unknown)}: it takes path and missing")
        if missing not in {"error", "empty"}:
            raise SystemExit(f"--model replay: missing is {missing!r}, but can be error or empty")
        self._path = str(path)
        self._fill = missing == "empty"
        self.accelerator = Accelerator()
        self.device = self.accelerator.device
        self._rank, self._world_size = self.accelerator.process_index, self.accelerator.num_processes
        try:
            self._replies = replies.load(self._path)
        except (OSError, ValueError) as error:
            raise SystemExit(f"--model replay: {error}") from error
        self._given: Counter[tuple[str, int]] = Counter()

    def generate_until(self, requests: list[Any]) -> list[str]:
        """The last turn of the saved reply to each request."""
        return [turns[-1] for turns in self._answers(requests)]

    def generate_until_multi_round(self, requests: list[Any]) -> list[list[str]]:
        """The turns of the saved reply to each request."""
        return list(self._answers(requests))

    def loglikelihood(self, requests: list[Any]) -> list[tuple[float, bool]]:
        """Not to be had: saved replies have no probabilities."""
        raise SystemExit("--model replay gives saved replies and no probabilities: it cannot run this task")

    def _answers(self, requests: list[Any]) -> Iterable[list[str]]:
        for request in tqdm(requests, desc="Replaying", disable=self.rank != 0):
            # Chat and simple requests differ in front, but end alike.
            doc_id, task, split = request.args[-3:]
            # A task that asks the same questions as another names it: that one's logs serve it too.
            other = (getattr(request, "metadata", None) or {}).get("replies_of")
            yield self._answer(task, doc_id, split, other)

    def _answer(self, task: str, doc_id: int, split: str, other: str | None) -> list[str]:
        key = (task, doc_id)
        saved = self._replies.get(key) or self._replies.get((other or task, doc_id))
        if saved is None:
            if self._fill:
                return [""]
            have = sum(1 for name, _ in self._replies if name == task)
            raise SystemExit(
                f"--model replay: {self._path} has no reply to {task}, doc_id {doc_id} (it has {have} of this task). "
                "Limit the run to what was saved (--limit, --offset), or add missing=empty to --model_args."
            )
        self._check(saved, task, doc_id, self.task_dict[task][split])
        # A saved run with fewer repeats than are asked for begins again with its first.
        reply = saved.replies[self._given[key] % len(saved.replies)] if saved.replies else ""
        self._given[key] += 1
        turns = reply if isinstance(reply, list) else [reply]
        return ["" if turn is None else str(turn) for turn in turns] or [""]

    def _check(self, saved: replies.Saved, task: str, doc_id: int, rows: Any) -> None:
        if self._given[(task, doc_id)] or (saved.target is None and saved.row is None):
            return
        columns = [name for name in (*_REFERENCES, *_ROWS) if name in rows.column_names]
        document: Mapping[str, Any] = rows.select_columns(columns)[doc_id] if columns else {}
        for names, logged, what in ((_ROWS, saved.row, "row"), (_REFERENCES, saved.target, "target")):
            present = [str(document[name]) for name in names if name in document]
            if logged is not None and present and str(logged) not in present:
                raise SystemExit(
                    f"--model replay: {saved.where} answers {what} {logged!r}, but doc_id {doc_id} of {task} is "
                    f"{what} {present[0]!r}: the replies belong to other data. Use the data they were made with "
                    "(LMMS_TASKS_DATA, LMMS_TASKS_REVISION)."
                )


class ReplaySimple(Replay):
    """The same for `--force_simple`."""

    is_simple = True
