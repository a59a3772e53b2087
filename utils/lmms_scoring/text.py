"""Character tables and foldings that several rules share."""

from __future__ import annotations

import string
import unicodedata

#: Chinese and full-width punctuation that SLAKE's reference scorer folds, beside the ASCII punctuation.
CHINESE_PUNCTUATION = "！？。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～、《》【】"

#: Translation of each mark of ASCII and `CHINESE_PUNCTUATION` to a space.
PUNCTUATION_TO_SPACE = dict.fromkeys(map(ord, string.punctuation + CHINESE_PUNCTUATION), " ")


def without_asides(text: str, opening: str, closing: str) -> str:
    """The text with each run from an opening mark to the next closing mark replaced by one space.

    An opening mark that is never closed stays. Takes linear time, where the obvious pattern `\\([^)]*\\)` needs
    quadratic time on a megabyte of opening brackets.

    >>> without_asides("lung (left) and (heart", "(", ")")
    'lung   and (heart'
    """
    start = text.find(opening)
    if start < 0:
        return text
    parts = []
    position = 0
    while start >= 0:
        end = text.find(closing, start)
        if end == -1:
            break
        parts.append(text[position:start])
        position = end + 1
        start = text.find(opening, position)
    parts.append(text[position:])
    return " ".join(parts)


def is_han(char: str) -> bool:
    """True for a Chinese character: the unified ideographs, their extensions, compatibility forms, and 〇."""
    if "\u4e00" <= char <= "\u9fff" or char == "〇":
        return True
    return char >= "\u3400" and unicodedata.name(char, "").startswith("CJK ")
