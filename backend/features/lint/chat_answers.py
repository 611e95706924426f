"""What a chat model says where a description was wanted: its reasoning, the answer to another
question, or a question."""

import re

# ---------------------------------------------------------------- reasoning

_OPEN = r"<(?:think|thinking|reasoning|thought|scratchpad)>"
_CLOSE = r"</(?:think|thinking|reasoning|thought|scratchpad)>"
_MARKS = re.compile(rf"{_OPEN}|{_CLOSE}|</?(?:answer|final_answer|response)>", re.IGNORECASE)
_TO_THE_END = re.compile(rf"^.*{_CLOSE}\s*", re.IGNORECASE | re.DOTALL)
_ANSWER = re.compile(
    r"<(answer|final_answer|response)>\s*(.+?)\s*(?:</\1>|$)", re.IGNORECASE | re.DOTALL
)
_PICTURE = r"[^.\n]{0,80}\b(?:image|picture|photo|caption|scene|description)\b"
#: How reasoning begins, and what it says on its way.
_PLANS = re.compile(
    r"^\W*(?:(?:okay|ok|alright|hmm|wait|so|well|right|first)\W+)*"
    r"(?:the user (?:is asking|wants|has asked|asks|asked|provided|would like)\b"
    rf"|(?:let me|let'?s) (?:look|see|think|start|begin|examine|analy[sz]e|break|check){_PICTURE}"
    r"|i(?:'ll|'m going to| (?:need to|have to|should|want to|will|am going to))"
    rf" (?:look|describe|analy[sz]e|identify|write|determine|examine|create|start){_PICTURE}"
    r"|(?:thoughts?|reasoning|analysis|thinking|step 1|step-by-step)\s*:)",
    re.IGNORECASE,
)
#: One of them stands among so many characters of every match.
_PLAN_WORDS = (
    "the user", "let me", "let's", "lets ", "i'll", "i'm going", "i need", "i have", "i should",
    "i want", "i will", "i am going", "thought", "reasoning:", "analysis:", "thinking", "step 1",
    "step-by-step",
)  # fmt: skip
_BEGINNING = 60


def is_reasoning(text: str) -> bool:
    """
    >>> is_reasoning("Okay, the user wants me to describe this image. First,")
    True
    >>> is_reasoning("<think>A dog?</think> A dog runs."), is_reasoning("A user wants a phone.")
    (True, False)
    """
    if "<" in text and _MARKS.search(text) is not None:
        return True
    beginning = text[:_BEGINNING].lower()  # nearly all captions are told by that
    return any(word in beginning for word in _PLAN_WORDS) and _PLANS.match(text) is not None


def without_reasoning(text: str) -> str:
    """What stands after the reasoning or between the marks of an answer. As it is where that is
    nothing, or where no mark tells them apart.

    >>> without_reasoning("<think>A dog?</think>\\nA dog runs.")
    'A dog runs.'
    >>> without_reasoning("<think>A dog? It could also be")
    '<think>A dog? It could also be'
    """
    rest = _TO_THE_END.sub("", text)
    if (answer := _ANSWER.search(rest)) is not None:
        rest = answer[2]
    rest = rest.strip()
    return text if not rest or _MARKS.search(rest) is not None else rest


# ---------------------------------------------------------------- answers

_ANSWERS = re.compile(
    # An option: "B", "(B)", "B.", "C) A dog", "(C) dogs", "C. A dog", but not "E. coli".
    r"^\s*\(?[A-H][).:]?\s*$|^\s*\(?[A-H]\)\s+\S|^\s*[B-H][.:]\s+(?:an?|the|it|there|yes|no)\s"
    # "The correct answer is B", "Answer: two".
    r"|^\W*(?:the )?(?:correct |right |best |final )?(?:answer|option|choice)(?: is\b|\s*:)"
    # Yes and no, numbers, and places of boxes.
    r"|^\s*(?:yes|no)\s*(?:[,;].*|[.!]?\s*)$"
    r"|^\s*[-+]?\d+(?:[.,]\d+)?\s*%?\s*\.?\s*$"
    r"|^\s*[\[(]\s*-?\d+(?:\.\d+)?(?:\s*,\s*-?\d+(?:\.\d+)?){3,}\s*[\])]\s*$"
    r"|^\s*(?:true|false|unknown|unclear|not (?:sure|visible|applicable|available|specified))"
    r"\.?\s*$",
    re.IGNORECASE | re.DOTALL,
)
#: One sentence that asks about a picture. "What is he looking at?" is somebody's caption.
_QUESTION = re.compile(
    r"^\s*(?:<image>\s*)?(?:(?:how many|what colou?r|which of|is there|are there)\b[^.!?\n]{2,200}"
    r"|(?:what|how|which|where|who|is|are|does|do|can|could)\b[^.!?\n]{2,150}"
    r"\b(?:image|picture|photo)\b[^.!?\n]{0,80})\?\s*$",
    re.IGNORECASE,
)


def is_no_description(text: str) -> bool:
    """
    >>> [is_no_description(text) for text in ("B", "Yes, it is.", "12", "How many dogs?")]
    [True, True, True, True]
    >>> [is_no_description(text) for text in ("A dog", "No parking", "E. coli", "2 dogs")]
    [False, False, False, False]
    """
    asks = text.rstrip().endswith("?")
    return _ANSWERS.match(text) is not None or (asks and _QUESTION.match(text) is not None)
