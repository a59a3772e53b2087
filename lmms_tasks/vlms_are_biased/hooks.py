"""VLMs Are Biased in lmms-eval's calling convention. The rules of scoring stand in `lmms_scoring.vlms_are_biased`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image

from lmms_scoring import vlms_are_biased
from lmms_tasks import records
from lmms_tasks.repeats import with_repeats
from lmms_tasks.subsets import Subset, attributes

BENCHMARK = "vlms_are_biased"
TOPIC_METRICS = {"topic_" + topic.lower().replace(" ", "_"): topic for topic in vlms_are_biased.TOPICS}
_METRIC_OF = {topic: metric for metric, topic in TOPIC_METRICS.items()}
_NO_TOPICS = dict.fromkeys(TOPIC_METRICS)

main = Subset(BENCHMARK, "main")
identification = Subset(BENCHMARK, "identification")
withtitle = Subset(BENCHMARK, "withtitle")
original = Subset(BENCHMARK, "original")
remove_background_q1q2 = Subset(BENCHMARK, "remove_background_q1q2")
remove_background_q3 = Subset(BENCHMARK, "remove_background_q3")

__getattr__ = attributes(globals())


def doc_to_visual(doc: Mapping[str, Any]) -> list[Image.Image]:
    """The document's one image, which the receiver may change."""
    return [main.embedded_image(doc["image"], doc["ID"])]


def doc_to_text(doc: Mapping[str, Any]) -> str:
    """The dataset's prompt, untouched."""
    return str(doc["prompt"])


@with_repeats
def process_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
    """The items of all metrics for one reply; the bias metrics are None for a row without an expected bias."""
    bias, topic = doc["expected_bias"], vlms_are_biased.topic(doc["topic"])
    cluster = vlms_are_biased.object_key(doc["ID"])
    score = vlms_are_biased.score(records.reply_of(results), doc["ground_truth"], bias)
    items = records.items(
        score,
        row=doc["ID"],
        reference=doc["ground_truth"],
        cluster=cluster,
        slices={
            "topic": topic,
            "sub_topic": doc["sub_topic"],
            "type_of_question": doc["type_of_question"],
            "pixel": doc["pixel"],
            "bias": bias,
            "biased": score.bias,
        },
    )
    items["bias_ratio"] = None if score.bias is None else records.item(score.bias, cluster)
    items["bias_ratio_flexible"] = None if score.bias is None else records.item(score.bias_flexible, cluster)
    items["task_mean"] = {"topic": topic, "value": score.acc}
    items["task_mean_bias"] = None if score.bias is None else {"topic": topic, "value": score.bias}
    items.update(_NO_TOPICS)
    items[_METRIC_OF[topic]] = records.item(score.acc, cluster)
    return items


def process_results_without_bias(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
    """The same for the controls, none of which has an expected bias."""
    return {metric: item for metric, item in process_results(doc, results).items() if "bias" not in metric}
