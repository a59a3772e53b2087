"""Build a tiny random Qwen2.5-VL checkpoint, to try the whole way of a local Hugging Face model without a download.

It has the architecture, processor and files of the real model, about a hundred thousand random weights, and a tokenizer
with one token a byte. It runs on a CPU in seconds. What it says is noise: its scores are near zero, and show that the
pipeline works, nothing else.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

# Qwen2.5-VL's own layout of a conversation, written for this tokenizer's special tokens.
_CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}"
    "{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% elif part['type'] == 'video' %}<|vision_start|><|video_pad|><|vision_end|>"
    "{% elif 'text' in part %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_SPECIAL_TOKENS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)

RUN = """\
lmms-eval --model qwen2_5_vl \\
  --model_args pretrained={folder},device=cpu,device_map=cpu,min_pixels=784,max_pixels=12544 \\
  --tasks slake_en_open --limit 4 --output_path results --log_samples"""


def build(folder: str | Path, seed: int = 0) -> Path:
    """The folder, in which the checkpoint now lies (under 1 MB, the same bytes for the same seed and library versions)."""
    import torch
    from transformers import Qwen2_5_VLForConditionalGeneration, logging

    logging.disable_progress_bar()
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer()
    torch.manual_seed(seed)
    model = Qwen2_5_VLForConditionalGeneration(_config(tokenizer))
    model.generation_config.eos_token_id = tokenizer.convert_tokens_to_ids("<|im_end|>")
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.save_pretrained(folder)
    _processor(tokenizer).save_pretrained(folder)
    return folder


def _tokenizer() -> Any:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import Qwen2TokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    bytewise = Tokenizer(models.BPE(vocab={char: index for index, char in enumerate(alphabet)}, merges=[]))
    bytewise.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bytewise.decoder = decoders.ByteLevel()
    bytewise.add_special_tokens([AddedToken(token, special=True) for token in _SPECIAL_TOKENS])
    return Qwen2TokenizerFast(
        tokenizer_object=bytewise,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        unk_token=None,
        chat_template=_CHAT_TEMPLATE,
    )


def _config(tokenizer: Any) -> Any:
    from transformers import Qwen2_5_VLConfig

    token = tokenizer.convert_tokens_to_ids
    return Qwen2_5_VLConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 32768,
            "rope_scaling": {"type": "mrope", "mrope_section": [1, 1, 2]},
            "bos_token_id": token("<|endoftext|>"),
            "eos_token_id": token("<|im_end|>"),
            "pad_token_id": token("<|endoftext|>"),
        },
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 4,
            "out_hidden_size": 32,
            "fullatt_block_indexes": [1],
        },
        image_token_id=token("<|image_pad|>"),
        video_token_id=token("<|video_pad|>"),
        vision_start_token_id=token("<|vision_start|>"),
        vision_end_token_id=token("<|vision_end|>"),
        tie_word_embeddings=True,
    )


def _processor(tokenizer: Any) -> Any:
    from transformers import Qwen2_5_VLProcessor, Qwen2VLImageProcessor, Qwen2VLVideoProcessor

    return Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(),
        tokenizer=tokenizer,
        video_processor=Qwen2VLVideoProcessor(),
        chat_template=_CHAT_TEMPLATE,
    )


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("folder", metavar="DIR", type=Path, help="where the checkpoint goes; made if need be")
    parser.add_argument("--seed", type=int, default=0, help="of the random weights (default: 0)")


def run(args: argparse.Namespace) -> int:
    """Builds the checkpoint and says how to run it."""
    if args.folder.is_file() or (
        args.folder.is_dir() and any(args.folder.iterdir()) and not (args.folder / "config.json").exists()
    ):
        print(f"lmms-tasks tiny-vlm: {args.folder} is a file, or a folder with other things in it; name a new folder")
        return 2
    folder = build(args.folder, args.seed)
    size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    print(
        f"{folder}: a random Qwen2.5-VL of {size / 1e6:.1f} MB. Try it on the CPU, without the hub:\n\n"
        f"LMMS_TASKS_DATA=sample {RUN.format(folder=folder)}\n\n"
        "Its weights are random, so it answers noise: scores near zero are right, and show that the way from picture to "
        "score works."
    )
    return 0
