"""lmms-eval with a model that takes every picture and infers nothing: `python taking.py MEASURES.json ARGUMENTS…`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

from lmms_eval.api.model import lmms


class Taking(lmms):  # type: ignore[misc]
    """Loads the pictures of each request's conversation, and answers A."""

    is_simple = False
    measures: ClassVar[dict[str, float]] = {}

    def __init__(self, **_: Any) -> None:
        super().__init__()

    def generate_until(self, requests: list[Any]) -> list[str]:
        measures = self.measures
        began = time.perf_counter()
        measures.setdefault("memory_before", memory())
        for number, request in enumerate(requests):
            _, doc_to_messages, _, doc_id, task, split = request.args
            for message in doc_to_messages(self.task_dict[task][split][doc_id]):
                for part in message["content"]:
                    if part["type"] == "image":
                        part["url"].load()
                        measures["pictures"] = measures.get("pictures", 0) + 1
            if number % 50 == 0:
                measures["memory_peak"] = max(measures.get("memory_peak", 0), memory())
        measures["requests"] = measures.get("requests", 0) + len(requests)
        measures["seconds"] = measures.get("seconds", 0) + time.perf_counter() - began
        return ["ANSWER: A"] * len(requests)

    def generate_until_multi_round(self, requests: list[Any]) -> list[str]:
        raise NotImplementedError

    def loglikelihood(self, requests: list[Any]) -> Any:
        raise NotImplementedError


def memory() -> float:
    """Megabytes that are the process's own; pages of mapped files are the system's."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    return 0.0


def main() -> None:
    """Runs lmms-eval's command with the model `taking`."""
    path = sys.argv.pop(1)
    from lmms_eval import models
    from lmms_eval.__main__ import cli_evaluate
    from lmms_eval.models.registry_v2 import ModelManifest

    sys.modules["bench_taking"] = sys.modules["__main__"]
    models.MODEL_REGISTRY_V2.register_manifest(
        ModelManifest(model_id="taking", chat_class_path="bench_taking.Taking"), overwrite=True
    )
    cli_evaluate()
    Path(path).write_text(json.dumps(Taking.measures))


if __name__ == "__main__":
    main()
