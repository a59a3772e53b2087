"""The letter that a reply to a single-answer multiple-choice question gives, by the reference rule and by a reader."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from lmms_scoring.outcomes import Reading
from lmms_scoring.reply import Stated, clean, refuses, stated, unlatex

# --- the reference rule ---------------------------------------------------------------------------------------------

_MARKER = re.compile(r"answer\s*:\s*\**\s*", re.IGNORECASE)
_LATEX = re.compile(r"(?:(?:\$|\\\(|\\(?:boxed|fbox|text|textbf|mathbf|mathrm)\s*\{)\s*)*")
_BRACKETED = re.compile(r"[(\[（【]\s*([A-Za-z\d](?:\s*[,，/、]\s*[A-Za-z\d])*)\s*[)\]）】]")
_RUN = re.compile(r"([A-Za-z\d][A-Za-z\d ,，/、]*)")
_WORD = re.compile(r"[A-Za-z\d]+")
_CONNECTORS = ("and", "or")


def official_letter(text: str, letters: Iterable[str]) -> str | None:
    """The letter that the reference rule reads, or None; `letters` are the labels of the item, case counts.

    The last `answer:` marker that is followed by labels decides, and must be followed by exactly one. Only where no
    marker is followed by labels, the last upper-case letter of the whole text is the answer, if it is a label.

    Source: EvalScope 1.14.1, `parse_answers` (single answer, English marker), re-implemented from its rules.

    >>> official_letter("ANSWER: B, not C", "ABCDE"), official_letter("Cardiac tamponade", "ABCDE")
    ('B', 'C')
    """
    labels = frozenset(letters)
    for marker in reversed(list(_MARKER.finditer(text))):
        begin = _LATEX.match(text, marker.end()).end()  # type: ignore[union-attr]
        for form in (_BRACKETED, _RUN):
            found = form.match(text, begin)
            part = _leading_labels(found[1], labels) if found else ""
            if part:
                return part if part in labels else None
    last = next((letter for letter in reversed(text) if letter.isupper()), None)
    return last if last in labels else None


def _leading_labels(run: str, labels: frozenset[str]) -> str:
    """The longest leading part of a run that holds only labels, "and"/"or" between two of them included."""
    end = 0
    waiting = False
    for word in _WORD.finditer(run):
        if word[0] in labels or labels.issuperset(word[0]):
            end, waiting = word.end(), False
        elif end and not waiting and word[0].lower() in _CONNECTORS:
            waiting = True
        else:
            break
    return run[:end]


# --- what the reply answers -----------------------------------------------------------------------------------------

#: Sentences that state a choice by its letter, beside the forms that every benchmark shares. The letter follows.
CHOICES = (
    r"\b(?:i|we)(?:'d|'ll| would| will| shall| must| should)?(?: \w{2,10}ly)? (?:choose|chose|select|pick|go with|opt for|answer)\b:?",
    r"\b(?:correct|right|best|final|most \w{3,15}|chosen|selected) (?:answer |answer choice |multiple-choice )?"
    r"(?:option|choice|letter|answer|selection)s?(?: [^.:;!?\n]{0,60}?)?(?: is| are|:)",
    r"(?:应该|应当|应|故|所以|因此|我)?(?:选择|选)[ \t]{0,3}:?(?=[ \t(\[]{0,3}[A-Za-z][^a-z]|[ \t(\[]{0,3}[A-Za-z]$)",
)  # fmt: skip

#: Openings after which a labelled option is the reply's answer: "the most likely diagnosis is: (C) Duodenal ulcer".
VERDICTS = (
    r"\b(?:most|best|correct|right|first|next|appropriate|likely|closest|conclusion|diagnosis|treatment|therefore|thus|"
    r"hence|so|overall)\b[^.!?\n]{0,200}?\b(?:is|are|be|would be)\b[ \t]{0,3}:?",
    r"\b(?:conclusion|verdict|choice|option selected|selected option|final)[ \t]{0,3}:",
)

#: A choice whose letter comes first: "option C is the correct answer".
LETTER_FIRST = (
    r"(?:\b(?:option|choice|answer)[ \t]{0,2})?[\[(]?\b([A-Za-z])[\])]?(?:[:.)] [^.\n]{1,200}?)?,? (?:is|as|seems|appears to be|would be) "
    r"(?:clearly |therefore |thus |most likely )?(?:the )?(?:single )?(?:correct|best|right|most (?:likely|appropriate|accurate|suitable|plausible|consistent))"
    r"(?: (?:answer|option|choice|one|explanation|diagnosis))?",
)  # fmt: skip

#: Words in the sentence before a declaration that make it a supposition or another's opinion: it is no answer.
SUPPOSED = re.compile(
    r"\b(?:if|unless|had|were|otherwise|whether|might|tempt\w*|mistake\w*|incorrectly|wrongly|someone|students?)\b",
    re.IGNORECASE,
)
#: Words in the clause before a declaration that turn it round.
NEGATED = re.compile(r"\b(?:not|isn't|never|neither|cannot|can't)\b", re.IGNORECASE)
_FORCED = re.compile(r"\bif (?:i|we|you) (?:had|have|must|were|was|am|are)\b[^,\n]{0,40}", re.IGNORECASE)

#: Words that may stand between a declaration and its letter.
FILLERS = re.compile(
    r"(?:[\s:\"'=>*#-]|(?:the|is|are|be|option|options|choice|choices|answer|letter|letters|labell?ed|number|statement|"
    r"most likely|likely|probably|clearly|definitely|therefore|thus|indeed|still|simply|either|both|"
    r"correct|best|right|final|选项|选择|选|是|为)(?![A-Za-z]))*",
    re.IGNORECASE,
)
_FILLING = 120

_LABEL = re.compile(r"([\[(<{]{0,2})\s{0,3}([A-Za-z])(?![A-Za-z0-9_'’])\s{0,3}([\])>}]{0,2})")
_LETTERS_ONLY = re.compile(r"[\[(<{\s]{0,4}([A-Z]{2,10})(?![A-Za-z0-9])")
_LIST = re.compile(
    r"\s{0,3}(?:[,/、;&+|]|,?\s{0,3}\b(?:and|or|plus|versus|vs\.?|和|或|及|与)(?![a-z]))\s{0,3}"
    r"(?:(?:and|or|also|possibly|maybe|perhaps|option|options|choice|选项)(?![A-Za-z])\s{0,3}){0,3}"
    r"([\[(]?)([A-Za-z])(?![A-Za-z0-9_'’])([\])]?)",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\s{0,3}(?:through|thru|to|-|~|至|到)\s{0,3}[\[(]?[A-Z](?![A-Za-z0-9])")
_EXPLAINS = re.compile(
    r"\s{0,3}(?:[\]).:;,!|\-=(\n\"'}>]|/(?!\s{0,2}[A-Za-z](?![A-Za-z]))|$|"
    r"(?:because|since|as|due|given|for|is|was|which|that|based|with|from|according|among|would|seems|not|best|"
    r"and|but|here|correctly|因为|因|由于|项|选项|。|，|、)(?![a-z]))",
    re.IGNORECASE,
)
_ALSO = re.compile(
    r"\b(?:and|or|as well as|plus)\s{1,3}(?:also |option |options |both |possibly |either ){0,2}"
    r"(?:[\[(]([A-Z])[\])]|([A-Z])(?=\s{0,2}(?:[).:,;]|$|\n)))"
)
_ITEM = re.compile(r"[ \t>#-]{0,6}(?:\d{1,2}[.)] ?)?(?:(?:option|choice) )?(?:[\[(]([A-Z])[\])]|([A-Z])[).:](?=\s|$)|([A-Z])[ \t]{0,3}$)(.*)", re.IGNORECASE)  # fmt: skip
_JOINER = re.compile(r"[ \t-]{0,6}(?:and|or|or possibly|as well as|和|或|以及)[ \t:,]{0,3}$", re.IGNORECASE)


def letter(reply: object, options: Mapping[str, str]) -> Reading:
    """The label that a careful human grader reads in a reply, or the reason why there is none.

    `options` maps the labels of the item to their texts. The last declaration in the visible reply decides, a later one
    being the correction of an earlier one: `<answer>`, `\\boxed{}`, JSON, `ANSWER:`, "the answer is", "I choose".
    A declaration holds a label in any common dress, or the exact text of one option. Without a declaration the
    label must open the reply, stand alone on its line after "… is:", or be called the correct one.
    Two labels, a label with the text of another option, and reasoning that was cut off are no answer. A single
    letter always means the label, even where the text of an option is a letter.
    """
    if isinstance(reply, str):
        bare = _BARE.match(reply)
        if bare and bare[1] in options:
            return Reading(bare[1], "whole")
    text = clean(reply)
    if text is None:
        return Reading(None, "truncated reasoning")
    if not text:
        return Reading(None, "empty")
    return _Reader(text, options).read()


_BARE = re.compile(r"\s{0,9}(?:\*\*)?[(\[]?([A-Z])[)\]]?\.?(?:\*\*)?\s{0,9}\Z")
_CHOICES = re.compile("|".join(f"(?:{form})" for form in CHOICES), re.IGNORECASE)
_VERDICTS = re.compile("|".join(VERDICTS), re.IGNORECASE)
_LETTER_FIRST = re.compile("|".join(LETTER_FIRST), re.IGNORECASE)
_NOTHING: tuple[str, ...] = ()


class _Reader:
    """One reply and the options of its item; the texts of the options are folded at their first use."""

    def __init__(self, text: str, options: Mapping[str, str]) -> None:
        self.text = text
        self.options = options
        self._folded: dict[str, str] | None = None

    def read(self) -> Reading:
        """The reading of the whole reply."""
        for find in (self.whole, self.declared, self.undeclared):
            reading = find()
            if reading is not None:
                return reading
        return Reading(None, "refusal" if refuses(self.text) else "none stated")

    # The three places, in order ------------------------------------------------------------------------------------

    def whole(self) -> Reading | None:
        """The reading of a reply that is nothing but a label or an option, or a list of them."""
        if "\n" in self.text or len(self.text) > 1000:
            return None
        if self.named_text(self.text):
            return Reading(self.named_text(self.text), "option text")
        labels = self.labels(self.text, complete=True)
        return _one(labels, "whole") if labels else None

    def declared(self) -> Reading | None:
        """The reading of the last declaration that says anything, or None without one."""
        places = stated(self.text)
        places += [Stated(self.text[at:end], "statement", start, end) for start, at, end in self.sentences(_CHOICES)]
        for place in sorted(places, key=lambda place: (place.start, place.end), reverse=True):
            if place.how == "statement" and self.disowned(place.start):
                continue
            labels = self.value(place)
            if labels:
                return _one(labels, place.how)
            if place.how in ("tag", "boxed", "json", "marker") and self.foreign(place.text):
                return Reading(None, "not an option")
        return None

    def undeclared(self) -> Reading | None:
        """The reading of a label that opens the reply or is called the right one; all such places must agree."""
        found: list[tuple[tuple[str, ...], str]] = []
        lines = self.text.split("\n", 400)
        first = self.items(lines, 0)
        if first:
            found.append((first, "leading"))
        for start, at, end in self.sentences(_VERDICTS):
            labels = self.verdict(at, end)
            if labels and not self.disowned(start):
                found.append((labels, "verdict"))
        for place in _LETTER_FIRST.finditer(self.text):
            label = next(group for group in place.groups() if group)
            if label in self.options and not (label in "AI" and place[0].startswith(label + " as")):
                if not self.disowned(place.start()):
                    found.append(((label,), "statement"))
        if not found:
            return None
        if len(lines) > 1:
            last = self.items(lines, len(lines) - 1)
            if last:
                found.append((last, "line"))
        if first:
            return _one({label: None for labels, _ in found for label in labels}, "leading")
        return _one(found[-1][0], found[-1][1])

    # Pieces -----------------------------------------------------------------------------------------------------------

    def sentences(self, opening: re.Pattern[str]) -> Iterable[tuple[int, int, int]]:
        """Start, place of the value, and end of what an opening says, to the end of its line or of the next."""
        for found in opening.finditer(self.text):
            at = found.end()
            end = self.text.find("\n", at, at + 1000)
            if end >= 0 and not self.text[at:end].strip():
                while at < len(self.text) and at < found.end() + 50 and self.text[at].isspace():
                    at += 1
                end = self.text.find("\n", at, at + 1000)
            yield found.start(), at, min(at + 1000, len(self.text)) if end < 0 else end

    def disowned(self, start: int) -> bool:
        """True where the sentence up to `start` makes what follows a mere supposition or another's opinion."""
        before = self.text[max(0, start - 120) : start]
        sentence = re.split(r"[.!?;\n]", before)[-1]
        if SUPPOSED.search(_FORCED.sub("", sentence)):
            return True
        return bool(NEGATED.search(re.split(r"[,:]", sentence)[-1]))

    def value(self, place: Stated) -> tuple[str, ...]:
        """The labels that a declaration names: one by its letter or text, or several where it lists them."""
        text = unlatex(place.text) if place.how != "json" else place.text
        by_text = self.named_text(text)
        if by_text:
            return (by_text,)
        lines = self.text[place.start : place.end].count("\n")
        if lines and place.how in ("marker", "statement"):
            following = self.text[place.end - len(place.text) : place.end + 2000].split("\n")
            listed = self.items(following, 0)
            if listed:
                return listed
        return self.labels(text, complete=False)

    def verdict(self, at: int, end: int) -> tuple[str, ...]:
        """The labels of a verdict: only a label in brackets, or one followed by the text of its option, will do."""
        text = self.text[at:end].strip()
        if "\n" in self.text[max(0, at - 3) : at] and text:
            following = self.text[at : end + 2000].split("\n")
            return self.items(following, 0)
        form = _LABEL.match(text)
        if not form or form[2].upper() not in self.options:
            return _NOTHING
        label = form[2].upper()
        rest = text[form.end() :].lstrip(" \t.:)-")
        if (form[1] and form[3]) or (form[2] == label and self.begins(rest) == label):
            return self.labels(text, complete=False)
        return _NOTHING

    def items(self, lines: list[str], at: int) -> tuple[str, ...]:
        """The labels of the option lines (`(C) Duodenal ulcer`) that stand together from line `at` on."""
        labels: list[str] = []
        for line in lines[at:]:
            found = _ITEM.match(line)
            if found:
                here = self.labels(line.lstrip(" \t>#-"), complete=False)
                if not here and not labels:
                    return _NOTHING
                labels += [label for label in here if label not in labels]
            elif line.strip() and not _JOINER.match(line):
                break
            elif not line.strip() and labels and at:
                break
        return tuple(labels)

    def labels(self, text: str, *, complete: bool) -> tuple[str, ...]:
        """The labels that a text opens with; () where it opens otherwise. `complete`: it must hold nothing else."""
        text = text.strip()
        filling = FILLERS.match(text, 0, _FILLING)
        begin = filling.end() if filling else 0
        found = _LABEL.match(text, begin)
        if not found:
            several = _LETTERS_ONLY.match(text, begin)
            if several and all(letter in self.options for letter in several[1]) and not self.begins(text[begin:]):
                return tuple(dict.fromkeys(several[1]))
            return _NOTHING
        label = found[2].upper()
        if label not in self.options:
            return _NOTHING
        rest = text[found.end() :]
        bracketed = bool(found[1] or found[3])
        if rest.lstrip().startswith("?") or _RANGE.match(rest):
            return _NOTHING
        labels = [label]
        end = found.end()
        while more := _LIST.match(text, end):
            other = more[2].upper() if (more[1] or more[2].isupper() or found[2].islower()) else ""
            if other not in self.options or self.begins(rest) == label:
                break
            if not (more[3] or _EXPLAINS.match(text, more.end())):
                break
            labels.append(other)
            end = more.end()
        if len(set(labels)) > 1:
            return tuple(labels)
        rest = rest.strip(" \t.:)-*\"'")
        if not rest:
            return (label,)
        own = self.begins(rest)
        if own and own != label:
            return (label, own)
        if not own and not bracketed:
            if not _EXPLAINS.match(text, found.end()):
                return _NOTHING
            if found[2].islower() and text[found.end() : found.end() + 1] not in tuple(").:,]"):
                return _NOTHING
        if complete and not own and not bracketed and text[found.end() : found.end() + 1] not in tuple(").:"):
            return _NOTHING
        tail = rest[len(self.options[label]) :] if own else rest
        also = _ALSO.search(tail)
        if also and (also[1] or also[2]) in self.options and (also[1] or also[2]) != label:
            return (label, also[1] or also[2])
        return (label,)

    def foreign(self, text: str) -> bool:
        """True for a declared value that is short and plain, so that it is an answer, only none of the options."""
        return len(text) <= 60 and not NEGATED.search(text) and "?" not in text

    # Texts of options ---------------------------------------------------------------------------------------------------

    @property
    def folded(self) -> dict[str, str]:
        """The folded text of each option that is longer than a letter."""
        if self._folded is None:
            folded = {label: _fold(text) for label, text in self.options.items()}
            self._folded = {label: text for label, text in folded.items() if len(text) > 1 or text.isdigit()}
        return self._folded

    def named_text(self, text: str) -> str | None:
        """The label of the one option whose text this is, but for case, punctuation and spaces; None otherwise."""
        folded = _fold(text)
        labels = [label for label, option in self.folded.items() if option == folded]
        if not labels:
            first = re.split(r"[.;\n]\s|\s(?:because|since|due to|given)\s|\s\(", text, maxsplit=1)[0]
            folded = _fold(first)
            labels = [label for label, option in self.folded.items() if option == folded] if len(folded) > 3 else []
        return labels[0] if len(labels) == 1 else None

    def begins(self, text: str) -> str | None:
        """The label of the longest option text that a text begins with, or None."""
        folded = _fold(text) + " "
        best, longest = None, 0
        for label, option in self.folded.items():
            if len(option) > longest and folded.startswith(option + " "):
                best, longest = label, len(option)
        return best


def _one(labels: Iterable[str], how: str) -> Reading:
    distinct = set(labels)
    return Reading(distinct.pop(), how) if len(distinct) == 1 else Reading(None, "two answers")


_SEPARATORS = re.compile(r"[\W_]+")


def _fold(text: str) -> str:
    return _SEPARATORS.sub(" ", text.casefold()).strip()


Reader = Callable[[object, Mapping[str, str]], Reading]
