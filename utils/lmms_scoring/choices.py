"""The letter that a reply to a single-answer multiple-choice question gives, by the reference rule and by a reader."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from lmms_scoring.outcomes import Reading
from lmms_scoring.reply import LONGEST, Stated, beginning, clean, echoes, refuses, stated, unlatex

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
    for marker in _markers_backwards(text):
        begin = _LATEX.match(text, marker.end()).end()  # type: ignore[union-attr]
        for form in (_BRACKETED, _RUN):
            found = form.match(text, begin)
            part = _leading_labels(found[1], labels) if found else ""
            if part:
                return part if part in labels else None
    last = next((letter for letter in reversed(text) if letter.isupper()), None)
    return last if last in labels else None


def _markers_backwards(text: str) -> Iterator[re.Match[str]]:
    """The markers of a text, the last first."""
    lowered = text.lower()
    if "ſ" in text or len(lowered) != len(text):  # ſ counts as an s, and İ for one is longer in lower case
        yield from reversed(list(_MARKER.finditer(text)))
        return
    at = lowered.rfind("answer")
    while at >= 0:
        marker = _MARKER.match(text, at)
        if marker:
            yield marker
        at = lowered.rfind("answer", 0, at)


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

#: Sentences that state a choice by its letter, beside the forms that every benchmark shares: the words that they begin
#: with, the form up to the letter, and what must stand before it.
CHOICES = (
    (
        ("choose", "chose", "select", "pick", "go with", "going with", "opt for", "say", "answer"),
        r"(?:choose|chose|select|pick|go(?:ing)? with|opt for|say|answer)\b",
        r"\b(?:i|we)(?:'d|'ll|'m| would| will| shall| must| should| am| are)?(?: \w{2,10}ly)? \Z",
    ),
    (
        ("correct ", "right ", "best ", "final ", "my ", "most ", "chosen ", "selected "),
        r"\b(?:correct|right|best|final|my|most \w{3,15}|chosen|selected) "
        r"(?:option|choice|letter|selection)s?(?: [^.;!?\n]{0,60}?)?(?: is| are| would be|:)",
        "",
    ),
    (("answers ",), r"answers (?:[^.:;!?\n]{0,60}? )?are", ""),
    (("选",), r"选择?(?=[ \t:(\[]{0,6}[a-z](?![a-z]))", ""),
)

#: Words that make a sentence a verdict, whose labelled option is the answer: "the most likely diagnosis is: (C) …".
VERDICT_WORDS = re.compile(
    r"\b(?:most|best|correct|right|next|appropriate|likely|closest|therefore|thus|hence)\b", re.IGNORECASE
)
_VERDICT = re.compile(
    r"(?: (?:is|are|be)[ \t]{0,3}:?|\b(?:conclusion|verdict|choice|final)[ \t]{0,3}:)"
    r"(?=[\s-]{0,6}[\[(]?[a-z](?![a-z']))",
    re.IGNORECASE,
)
_VERDICT_STARTS = (" is", " are", " be", "conclusion", "verdict", "choice", "final")

#: A choice whose letter comes first: "option C is the correct answer"; and what must then stand before the letter. A
#: pattern that began with `\b` would be tried at every word.
LETTER_FIRST = (
    (
        ("correct", "best", "right", "most ", "answer"),
        r"([A-Z])(?<!\w[A-Z])[\])]?,? (?:is|as|seems|appears to be|would be) (?:clearly |therefore |thus |also |equally |likewise )?"
        r"(?:the )?(?:single )?"
        r"(?:correct|best|right|answer|most (?:likely|appropriate|accurate|suitable|plausible|consistent))\b",
    ),
    (("正确", "佳", "合适"), r"([A-Z])(?:选项|项)?(?:是|为)?(?:最)?(?:正确|佳|合适)"),
)
_BEFORE_LETTER = re.compile(
    r"(?:\b(?:option|choice|answer)[ \t]{1,2}|[\[(]|^|[.;:\n,。]\s?|\b(?:therefore|thus|so|hence) |选项 ?)\Z",
    re.IGNORECASE,
)

#: Words in the sentence before a declaration that make it a supposition or another's opinion: it is no answer.
SUPPOSED = re.compile(
    r"\b(?:if|unless|had|were|otherwise|whether|might|tempt\w*|mistake\w*|incorrectly|wrongly|someone|students?)\b",
    re.IGNORECASE,
)
#: Words in the clause before a declaration that turn it round.
NEGATED = re.compile(r"\b(?:not|isn't|never|neither|cannot|can't)\b", re.IGNORECASE)
_FORCED = re.compile(r"if (?:i|we|you) (?:had|have|must|were|was|am|are)\b[^,]{0,40}|if only one\b", re.IGNORECASE)

#: What takes a label back right after it: "B is unlikely", "A: incorrect".
REJECTED = re.compile(
    r"[\s:.,(-]{0,4}(?:(?:is|are|was|would be|seems|being|option|because it is) )?"
    r"(?:not\b(?!\s{0,3}(?:option )?[\[(]?[A-Z]\b)|(?:is|are|was)n't|"
    r"unlikely|incorrect|wrong|false|less likely|ruled out|excluded|improbable|eliminated|不|排除|错误)",
    re.IGNORECASE,
)

#: Words that may stand between a declaration and its letter.
FILLERS = re.compile(
    r"(?:[\s:=>#-]|(?:the|is|are|be|option|options|choice|choices|answer|letter|letters|labell?ed|statement|"
    r"most likely|likely|probably|clearly|definitely|therefore|thus|indeed|still|simply|either|both|"
    r"correct|best|right|final|not (?:option )?[\[(]?[A-Z][\])]?,? but(?: rather)?)(?![a-z])|选项|是|为)*",
    re.IGNORECASE,
)
#: The same for a whole reply, which has no declaration before its letter.
_OPTION = re.compile(r"(?:[\s>#-]|(?:the |my )?(?:option|choice|letter)|选项|选择|选)*", re.IGNORECASE)
_FILLING = 120
#: Signs between a label and what it labels.
_DRESS = " \t.:)-"

_LABEL = re.compile(r"([\[(<{]{0,2})\s{0,3}([A-Za-z])(?![A-Za-z0-9_'])(?:\s{0,3}([\])>}]{1,2}))?")
_LETTERS_ONLY = re.compile(r"[\[(<{\s]{0,4}([A-Z]{2,10})(?![A-Za-z0-9])")
_LIST = re.compile(
    r"\s{0,3}(?:[,/、;&+|和或及与]|,?\s{0,3}(?:and|or|plus))\s{0,3}"
    r"(?:(?:and|or|also|possibly|maybe|perhaps|options?|choice)\s{0,3}|选项){0,3}"
    r"[\[(]?([a-z])(?![a-z]|\.[eg])[\])]?(?=\s{0,3}(?:$|[\]).,;:/&|+、。和或及与]|(?:and|or|are|both|plus)\b))",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\s{0,3}(?:through|thru|to|-|~|至|到)\s{0,3}[\[(]?[A-Z](?![A-Za-z0-9])")

#: What may follow a bare letter that is a label: punctuation, or a word that goes on to explain it.
_EXPLAINS = re.compile(
    r"\s{0,3}(?:[.:;,!|=(\n。、]|-(?=\s)|/(?!\w)|(?:because|since|is|因|由于|项|选项)(?![a-z]))",
    re.IGNORECASE,
)
_EXPLAINS_MORE = re.compile(
    r"\s{1,3}(?:as|due|given|for|was|which|that|based|with|from|according|among|would|seems|not|best|rather|over|"
    r"instead|and|but|here)\b"
)
#: Letters that are words by themselves, and so take a narrower choice of words after them.
_WORDS = frozenset("AI")

_ALSO = re.compile(
    r"\b(?:and|or|as well as|plus)\s{0,3}(?:also |so is |option |options |both |possibly |either ){0,3}"
    r"(?:[\[(]([A-Z])[\])]|([A-Z])(?=\s{0,2}(?:[).:,;]|$|\n)))"
)
#: What makes the label that a sentence calls right one more beside an earlier one.
_TOO = re.compile(r" (?:too|also|as well|equally|likewise)\b", re.IGNORECASE)
#: What makes an answer depend on something.
_CONDITIONAL = re.compile(r"\b(?:unless|otherwise|in which case|in that case)\b", re.IGNORECASE)
#: What announces a correction in the middle of a text.
_SECOND_THOUGHT = re.compile(
    r"\b(?:wait|hold on|scratch that|on second thoughts?|on reflection|actually|correction)[\s,.:-]{0,4}",
    re.IGNORECASE,
)
#: A last sentence that is nothing but a label.
_CLOSING = re.compile(
    r"(?:^|[.!?]\s)(?:therefore|thus|hence|so|definitely|probably|clearly),? (?:it is |it's )?(?:option |choice )?"
    r"[\[(]?([A-Z])[\])]?\.?\Z",
    re.IGNORECASE,
)
_INLINE_ITEM = re.compile(r"[\[(]?(?<![A-Za-z])([A-Z])[\]).:]{1,2}\s")
_NUMBERING = re.compile(r"[ \t>#-]{0,6}(?:\d{1,2}[.)] ?)?")
_ITEM = re.compile(
    rf"{_NUMBERING.pattern}(?:(?:option|choice) )?"
    r"(?:[\[(]([A-Z])[\])]|([A-Z])[).:](?=\s|$)|([A-Z])[ \t]{0,3}$|([A-Z]) \()(.*)",
    re.IGNORECASE,
)
_JOINER = re.compile(r"[ \t-]{0,6}(?:and|or|or possibly|as well as|和|或|以及)[ \t:,]{0,3}$", re.IGNORECASE)
_GAP = re.compile(r"[\s$,;/&()\\]{0,9}(?:and|or|or possibly|和|或)?[\s$(\\]{0,9}", re.IGNORECASE)
_QUOTES = re.compile(r"\"|(?<![A-Za-z])'|'(?![A-Za-z])")
_THOUGHT = re.compile(r"let(?:'s| us) |okay|ok\b|first", re.IGNORECASE)

_BARE = re.compile(r"\s{0,9}(?:\*\*)?[(\[]?([A-Z])[)\]]?\.?(?:\*\*)?\s{0,9}\Z")
_CHOICES = tuple(
    (words, re.compile(form, re.IGNORECASE), re.compile(before, re.IGNORECASE)) for words, form, before in CHOICES
)
_LETTER_FIRST = tuple((words, re.compile(form)) for words, form in LETTER_FIRST)
_NOTHING: tuple[str, ...] = ()

#: The last line of most replies. Nothing can follow it or take it back, so that no other place need be looked for.
_LAST_LINE = re.compile(
    r"(?:final |correct )?answer ?: ?[\[(]?([A-Z])[\])]?\.?"
    r"|(?:(?:so|thus|therefore|hence),? )?(?:the )?(?:correct |final |best |most likely )?answer is [\[(]?([A-Z])[\])]?\.?",
    re.IGNORECASE | re.ASCII,
)
_LONGEST_LAST_LINE = 60

#: Places looked at: no honest reply has more, and a reply of nothing but markers stays linear.
_MOST_PLACES = 50
_TAIL = 8000


def letter(reply: object, options: Mapping[str, str]) -> Reading:
    r"""The label that a careful human grader reads in a reply, or the reason why there is none.

    `options` maps the labels of the item to their texts. The last declaration in the visible reply decides, a later one
    being the correction of an earlier one: `<answer>`, `\boxed{}`, JSON, `ANSWER:`, "the answer is", "I choose".
    A declaration holds a label in any common dress, or the exact text of one option. Without a declaration the
    label must open the reply, end it on a line of its own, follow "… is:", or be called the correct one.

    No answer: two labels, a label with the text of another option, a label taken back, reasoning that was cut off, a
    list that walks through the options. A single letter means the label, even where the text of an option is a letter.

    >>> options = {"A": "Hepatic abscess", "B": "Gallstone", "C": "Duodenal ulcer"}
    >>> letter("So it must be the duodenum. Answer: duodenal ulcer", options)
    Reading(value='C', how='marker')
    >>> letter("ANSWER: B. Duodenal ulcer", options)
    Reading(value=None, how='two answers')
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


class _Reader:
    """One reply and the options of its item; the texts of the options are folded at their first use."""

    def __init__(self, text: str, options: Mapping[str, str]) -> None:
        self.text = text
        self.options = options
        self._initials: list[tuple[str, str]] = []
        self._folded: dict[str, list[tuple[str, str]]] = {}

    def read(self) -> Reading:
        """The reading of the whole reply."""
        for find in (self.whole, self.declared, self.undeclared):
            reading = find()
            if reading is not None:
                return reading
        if echoes(self.text):
            return Reading(None, "placeholder")
        return Reading(None, "refusal" if refuses(self.text) else "none stated")

    # The three places, in order ---------------------------------------------------------------------------------------

    def whole(self) -> Reading | None:
        """The reading of a reply that is nothing but a label or an option, or a list of them."""
        if "\n" in self.text or len(self.text) > LONGEST:
            return None
        labels = self.labels(_QUOTES.sub("", self.text), complete=True)
        if labels:
            return _one((*labels, *self.walked(self.text)), "whole")
        named = self.named_text(self.text)
        return Reading(named, "option text") if named else None

    def declared(self) -> Reading | None:
        """The reading of the last declaration that says anything, or None without one."""
        closing = self.closing_line()
        if closing:
            return closing
        found, after = None, 0
        places = stated(self.text)[::-1][:_MOST_PLACES]
        for number, place in enumerate(places):
            found = self.declaration(place, places[number + 1 : number + 2])
            if found:
                after = place.start
                break
        for place in self.choices(after):
            choice = self.declaration(place, [])
            if choice:
                found, after = choice, place.start
                break
        return found and self.corrected(found, after)

    def closing_line(self) -> Reading | None:
        """The reading of a last line that is nothing but a plain declaration."""
        begin = self.text.rfind("\n") + 1
        if len(self.text) - begin > _LONGEST_LAST_LINE:
            return None
        line = _LAST_LINE.fullmatch(self.text, begin)
        if not line:
            return None
        label = (line[1] or line[2]).upper()
        return Reading(label, "marker" if line[1] else "statement") if label in self.options else None

    def corrected(self, reading: Reading, after: int) -> Reading:
        """The reading, or what a second thought after it says instead: "the answer is C… wait, D is the answer"."""
        thoughts = list(_SECOND_THOUGHT.finditer(self.text, after))
        if thoughts and reading.value:
            rest = self.text[thoughts[-1].end() : thoughts[-1].end() + 200]
            first = _LETTER_FIRST[0][1].match(rest)
            labels = (first[1],) if first else self.labels(rest.partition("\n")[0], complete=True)
            if labels and set(labels) <= self.options.keys():
                return _one(labels, reading.how)
        return reading

    def declaration(self, place: Stated, before: list[Stated]) -> Reading | None:
        """The reading of one declaration, or None where it says nothing of its own."""
        if place.how == "statement" and self.disowned(place.start):
            return None
        labels = self.value(place)
        if labels:
            return _one((*labels, *self.beside(place, before)), place.how)
        if place.how in ("tag", "boxed", "json", "marker") and self.foreign(place.text):
            return Reading(None, "not an option")
        return None

    def undeclared(self) -> Reading | None:
        """The reading of a label that opens the reply, ends it, or is called the right one.

        Where a label opens the reply, every other such place must agree; else the last of them decides.
        """
        lines = self.text.split("\n", 2000)
        first = self.leading(lines)
        found: list[tuple[int, tuple[str, ...], str]] = []
        begin = max(0, len(self.text) - _TAIL)
        tail = self.text[begin:]
        for opening in beginning(_VERDICT, _VERDICT_STARTS, tail, tail.lower()):
            start = begin + opening.start()
            labels = self.verdict(start, *self.value_of(begin + opening.end()))
            if labels and not self.disowned(start):
                found.append((start, labels, "verdict"))
        for words, form in _LETTER_FIRST:
            for place in form.finditer(self.text, begin) if any(word in tail for word in words) else ():
                before = self.text[max(0, place.start() - 14) : place.start()]
                if place[1] in self.options and _BEFORE_LETTER.search(before) and not self.disowned(place.start()):
                    found.append((place.start(), self.together(place, form), "statement"))
        if self.complete(lines[-1]) and not any(_ITEM.match(line) for line in lines[-4:-1]):
            found.append((len(self.text), self.items(lines, len(lines) - 1), "line"))
        closing = _CLOSING.search(lines[-1][-80:])
        if closing and closing[1].upper() in self.options:
            found.append((len(self.text), (closing[1].upper(),), "line"))
        if first:
            return _one([*first, *(label for _, labels, _ in found for label in labels)], "leading")
        if not found:
            return None
        start, labels, how = max(found)
        if how == "statement" and _TOO.search(re.split(r"[.!?;\n]", self.text[start : start + 200])[0]):
            labels = tuple(label for _, more, _ in found for label in more)
        named = [more for _, more, kind in found if kind == how == "statement" and len(set(more)) > 1]
        joint = next((more for more in named if set(labels) <= set(more)), labels)
        return _one(joint, how)

    # Pieces -----------------------------------------------------------------------------------------------------------

    def choices(self, begin: int) -> list[Stated]:
        """The sentences that state a choice by its letter, from `begin` on, the last first."""
        found = []
        text = self.text[begin:]
        lowered = text.lower()
        for words, form, before in _CHOICES:
            for opening in beginning(form, words, text, lowered):
                if not before.pattern or before.search(text, max(0, opening.start() - 40), opening.start()):
                    at, end = self.value_of(begin + opening.end())
                    found.append(Stated(self.text[at:end], "statement", begin + opening.start(), end))
        return sorted(found, key=lambda place: place.start, reverse=True)[:_MOST_PLACES]

    def value_of(self, at: int) -> tuple[int, int]:
        """Begin and end of what an opening that ends at `at` says: to the end of its line, or of the next full one."""
        end = self.text.find("\n", at, at + LONGEST)
        if end != -1 and not self.text[at:end].strip(" \t:"):
            at = end
            while at < end + 20 and self.text[at].isspace():  # the text ends in no space
                at += 1
            end = self.text.find("\n", at, at + LONGEST)
        return at, min(at + LONGEST, len(self.text)) if end == -1 else end

    def disowned(self, start: int) -> bool:
        """True where the sentence up to `start` makes what follows a mere supposition, or turns it round."""
        sentence = re.split(r"[.!?;\n]", self.text[max(0, start - 120) : start])[-1]
        if SUPPOSED.search(_FORCED.sub("", sentence)):
            return True
        return bool(NEGATED.search(re.split(r"[,:]", sentence)[-1]))

    def value(self, place: Stated) -> tuple[str, ...]:
        """The labels that a declaration names: one by its letter or text, or several where it lists them."""
        text = _QUOTES.sub("", place.text if place.how == "json" else unlatex(place.text))
        if place.how in ("marker", "statement"):
            at = self.text.rfind(place.text, place.start, place.end)
            if "\n" in self.text[place.start : at]:
                listed = self.items(self.text[at : place.end + 2000].split("\n"), 0)
                if listed:
                    return listed
        labels = self.labels(text, complete=False)
        if labels:
            return labels
        named = self.named_text(text)
        if not named and place.how == "marker":
            # Some options are tables of several lines.
            named = self.named_text(self.text[self.text.find(place.text, place.start) :][:LONGEST])
        return (named,) if named else _NOTHING

    def beside(self, place: Stated, before: list[Stated]) -> tuple[str, ...]:
        """The labels of an equal declaration that stands right before this one: `\\boxed{C} or \\boxed{D}`."""
        if place.how not in ("boxed", "tag") or not before or before[0].how != place.how:
            return _NOTHING
        joined = _GAP.fullmatch(self.text, before[0].end, place.start)
        return self.value(before[0]) if joined else _NOTHING

    def verdict(self, start: int, at: int, end: int) -> tuple[str, ...]:
        """The labels of a verdict: a label in brackets, alone, or followed by the text of its option."""
        if "\n" in self.text[start:at]:
            return self.items(self.text[at : end + 2000].split("\n"), 0)
        sentence = re.split(r"[.!?\n]", self.text[max(0, start - 150) : at])[-1]
        if not (sentence.rstrip().endswith(":") or VERDICT_WORDS.search(sentence)):
            return _NOTHING
        text = self.text[at:end].strip()
        form = _LABEL.match(text)
        if not form or form[2] not in self.options:
            return _NOTHING
        rest = text[form.end() :].lstrip(_DRESS)
        if (form[1] and form[3]) or not rest or self.begins(rest) == form[2]:
            return self.labels(text, complete=False)
        return _NOTHING

    def together(self, place: re.Match[str], form: re.Pattern[str]) -> tuple[str, ...]:
        """The labels that one sentence calls right, of which `place` is one."""
        sentence = re.split(r"[.!?\n]", self.text[place.end() : place.end() + 200])[0]
        more = [found[1] for found in form.finditer(sentence)]
        also = _ALSO.search(sentence.partition(";")[0])
        if also:
            more.append(also[1] or also[2])
        return (place[1], *(label for label in more if label in self.options))

    def walked(self, line: str) -> tuple[str, ...]:
        """The labels in a line that are each followed by the text of their option."""
        return tuple(
            found[1]
            for found in _INLINE_ITEM.finditer(line[:_TAIL])
            if found[1] in self.options and self.begins(line[found.end() : found.end() + LONGEST]) == found[1]
        )

    def leading(self, lines: list[str]) -> tuple[str, ...]:
        """The labels that open the reply, or () where the opening is a heading or the first step of a walk."""
        labels = self.items(lines, 0)
        if not labels:
            named = self.named_text(lines[0])
            return (named,) if named else _NOTHING
        labels = tuple(dict.fromkeys((*labels, *self.walked(lines[0]))))
        others = {label for line in lines for label in self.items([line], 0)} - set(labels)
        if len(labels) == 1 and others:
            own = self.begins(_ITEM.sub(r"\5", lines[0]).strip(_DRESS)) == labels[0]
            walk = min(others) == chr(ord(labels[0]) + 1)
            if walk or not (own or self.complete(lines[0])):
                return _NOTHING
        return labels

    def complete(self, line: str) -> bool:
        """True for a line that is only a label, or a label with the text of its option."""
        found = _ITEM.match(line)
        if not found:
            return False
        label = (found[1] or found[2] or found[3] or found[4]).upper()
        return label in self.options and _fold(found[5]) in ("", _fold(self.options[label]))

    def items(self, lines: list[str], at: int) -> tuple[str, ...]:
        """The labels of the option lines (`(C) Duodenal ulcer`) that stand together from line `at` on."""
        labels: list[str] = []
        for line in lines[at:]:
            found = _ITEM.match(line)
            if found:
                here = self.item(found)
                if not here and not labels:
                    return _NOTHING
                labels += [label for label in here if label not in labels]
            elif line.strip() and not _JOINER.match(line):
                break
        return tuple(labels)

    def item(self, found: re.Match[str]) -> tuple[str, ...]:
        """The labels of one option line; none for a rejected one and for what only looks like one."""
        label = (found[1] or found[2] or found[3] or found[4]).upper()
        rest = found[5].strip(_DRESS)
        if label not in self.options or (label in _WORDS and not found[1] and _THOUGHT.match(rest)):
            return _NOTHING
        own = self.begins(rest) == label
        colon = found[2] and found[0][found.end(2) - found.start()] == ":"
        if (found[4] or (label == "A" and colon and rest)) and not own:
            return _NOTHING
        numbering = _NUMBERING.match(found[0])
        return self.labels(found[0][numbering.end() :], complete=False)  # type: ignore[union-attr]

    def labels(self, text: str, *, complete: bool) -> tuple[str, ...]:
        """The labels that a text opens with; () where it opens otherwise.

        `complete` is for a whole reply, which has no declaration before it: a bare letter then needs its punctuation.
        """
        text = text.strip()
        begin = (_OPTION if complete else FILLERS).match(text, 0, _FILLING).end()  # type: ignore[union-attr]
        found = _LABEL.match(text, begin)
        if not found:
            several = _LETTERS_ONLY.match(text, begin)
            if several and self.options.keys() >= set(several[1]) and not self.begins(text[begin:]):
                return tuple(dict.fromkeys(several[1])) if len(set(several[1])) > 1 else _NOTHING
            return _NOTHING
        label, end = found[2].upper(), found.end()
        after = text[end:]
        if label not in self.options or after.lstrip().startswith("?") or _RANGE.match(after):
            return _NOTHING
        rest = after.rstrip().lstrip(_DRESS)
        if not rest or rest.rstrip(_DRESS) == self.options[label].strip(_DRESS):
            return (label,)
        bare = rest.strip(_DRESS + "([]")
        if bare in self.options:
            return (label, bare)
        own = self.begins(rest)
        if own and own != label:
            return (label, own)
        if not own:
            several_labels = self.listed(text, found)
            if len(set(several_labels)) > 1:
                return several_labels
            if not (found[1] or found[3]) and not self.stands_alone(text, found, complete=complete):
                return _NOTHING
        tail = rest[len(self.options[label]) :] if own else rest
        if REJECTED.match(tail) or _CONDITIONAL.search(re.split(r"[.!?\n]", tail)[0]):
            return _NOTHING
        also = _ALSO.search(tail)
        second = (also[1] or also[2]) if also else ""
        if second in self.options:
            return (label, second)
        if own:
            return (label, *self.walked(tail[:LONGEST])) if _INLINE_ITEM.match(tail.lstrip(" ,;/|.")) else (label,)
        return (label,)

    def listed(self, text: str, first: re.Match[str]) -> tuple[str, ...]:
        """The labels of a list that begins with the label `first`: "C, D", "C and D", "(C)/(D)"."""
        labels = [first[2].upper()]
        end = first.end()
        while more := _LIST.match(text, end):
            if more[1].upper() not in self.options:
                break
            labels.append(more[1].upper())
            end = more.end()
        return tuple(labels)

    def stands_alone(self, text: str, found: re.Match[str], *, complete: bool) -> bool:
        """True where a bare letter is a label and no word, initial or first letter of a term (`D-dimer`, `E. coli`)."""
        sign = text[found.end() : found.end() + 1]
        word = text[found.end() + 1 :].strip().partition(" ")[0]
        explained = _EXPLAINS.match(text, found.end())
        if not explained and (found[2].upper() in _WORDS or not _EXPLAINS_MORE.match(text, found.end())):
            return False
        if sign == "." and word.islower() and not _EXPLAINS.match(" " + text[found.end() + 1 :].lstrip()):
            return False
        if found[2].islower() and sign not in tuple(".:,;"):
            return False
        if complete and found[2].upper() in _WORDS and _THOUGHT.match(text[found.end() + 1 :].lstrip()):
            return False
        return not complete or sign in tuple(".:")

    def foreign(self, text: str) -> bool:
        """True for a declared value that is short and plain, so that it is an answer, only none of the options."""
        return len(text) <= 60 and not NEGATED.search(text) and "?" not in text

    # Texts of options -------------------------------------------------------------------------------------------------

    def candidates(self, text: str) -> list[tuple[str, str]]:
        """The labels and folded texts of the options that begin with the same letter or digit; no one-letter texts."""
        if not self._initials:
            self._initials = [(_initial(option), label) for label, option in self.options.items()]
        initial = _initial(text)
        found = self._folded.get(initial)
        if found is None:
            found = [(label, _fold(self.options[label])) for first, label in self._initials if first == initial]
            found = self._folded[initial] = [(a, b) for a, b in found if len(b) > 1 or b.isdigit()]
        return found

    def named_text(self, text: str) -> str | None:
        """The label of the one option whose text this is, but for case, punctuation and spaces; None otherwise."""
        for part, rest in _readings_of(text):
            options = self.candidates(part)
            wanted = _squeeze(_fold(part)) if options else ""
            labels = [label for label, option in options if _squeeze(option) == wanted]
            if labels:
                return labels[0] if len(labels) == 1 and not REJECTED.match(rest) else None
        return None

    def begins(self, text: str) -> str | None:
        """The label of the longest option text that a text begins with, or None."""
        options = self.candidates(text)
        folded = _fold(text[: 100 + 2 * max(len(option) for _, option in options)]) + " " if options else ""
        fitting = [(len(option), label) for label, option in options if folded.startswith(option + " ")]
        return max(fitting)[1] if fitting else None


_ALNUM = re.compile(r"[^\W_]")


def _initial(text: str) -> str:
    first = text[:1]
    if first.isalnum() and first.isascii():
        return first.lower()
    found = _ALNUM.search(text)
    return found[0].casefold() if found else ""


_CLAUSE = re.compile(r"[.;\n]\s|[\s,](?:because|since|due to|given)\s|\s\(")


def _readings_of(text: str) -> Iterator[tuple[str, str]]:
    """The text itself, then its first clause with what follows, as far as either may be the text of an option."""
    yield text, ""
    clause = _CLAUSE.search(text)
    if clause and clause.start() > 3:
        yield text[: clause.start()], text[clause.start() :]


def _one(labels: Iterable[str], how: str) -> Reading:
    distinct = set(labels)
    return Reading(distinct.pop(), how) if len(distinct) == 1 else Reading(None, "two answers")


# Signs and decimal points carry meaning (CD4+, <5, 1.5); a hyphen between words does not.
_MEANINGFUL = re.compile(r"[+<>≤≥±%°]|\d[.,]\d|(?<!\w)-\d|\w-(?!\w)")
_WORDS_OF = re.compile(r"[^\W_]+")
_SEPARATORS = re.compile(r"(?:(?!(?<=\d)[.,]\d)[^\w+<>≤≥±%°-]|_|(?<!\w)-(?!\d)|(?<=\w)-(?=\w))+")
_LOOSE = re.compile(r"(?<!\d) | (?!\d)")


def _fold(text: str) -> str:
    if not _MEANINGFUL.search(text):
        return " ".join(_WORDS_OF.findall(text.casefold()))
    return _SEPARATORS.sub(" ", text.casefold()).strip()


def _squeeze(folded: str) -> str:
    return _LOOSE.sub("", folded)
