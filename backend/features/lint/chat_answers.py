"""What a chat model says where a description was wanted: its reasoning, the answer to another
question, or a question."""

import re

# ---------------------------------------------------------------- reasoning

_THOUGHT = r"(?:seed:)?(?:think|thinking|reasoning|thought|scratchpad|reflection|analysis)"
_OPEN = rf"(?:<{_THOUGHT}>|\u25c1think\u25b7|\[THINK\])"
_CLOSE = rf"(?:</{_THOUGHT}>|\u25c1/think\u25b7|\[/THINK\])"
_MARKS = re.compile(
    rf"{_OPEN}|{_CLOSE}|</?(?:answer|final_answer|response|summary)>", re.IGNORECASE
)
_TO_THE_END = re.compile(rf"^.*{_CLOSE}\s*", re.IGNORECASE | re.DOTALL)
_ANSWER = re.compile(
    r"<(answer|final_answer|response)>\s*(.+?)\s*(?:</\1>|$)", re.IGNORECASE | re.DOTALL
)
_PICTURE = r"[^.\n]{0,80}\b(?:image|picture|photo|caption|scene|description)\b"
#: How reasoning begins, and what it says on its way.
_PLANS = re.compile(
    r"^\W*(?:(?:okay|ok|alright|hmm|wait|so|well|right|first|now|got it)\W+)*"
    r"(?:the user (?:is asking|wants|has asked|asks|asked|provided|would like)\b"
    rf"|(?:let me|let'?s) (?:look|see|think|start|begin|examine|analy[sz]e|break|check){_PICTURE}"
    r"|i(?:'ll|'m going to| (?:need to|have to|should|want to|will|am going to))"
    rf" (?:look|describe|analy[sz]e|identify|write|determine|examine|create|start){_PICTURE}"
    r"|(?:we|i) (?:need to|are asked to|have been asked to|was asked to) "
    r"(?:describe|analy[sz]e|identify|write|provide|generate|create)\b"
    r"|we are given (?:an?|the) (?:image|picture|photo)\b"
    r"|to (?:describe|caption|analy[sz]e) (?:this|the) (?:image|picture|photo), (?:i|we|let)\b"
    r"|looking at (?:this|the) (?:image|picture|photo), (?:i|we|it|there)\b"
    r"|(?:the|final) caption should\b"
    r"|(?:thoughts?|reasoning|analysis|thinking|step 1|step-by-step)\s*:)"
    # A word of hesitation, and then the picture or the one who thinks; "so i made a cake" is
    # somebody's caption.
    r"|^\W*(?:(?:okay|ok|alright|got it|hmm+|well|so|wait)(?:[,.!…]+\s*|\s+(?=so,)))+"
    r"(?:let's|let me|(?:i|we)(?:'ll| need| should| must| have to| can see| think)\b|"
    r"(?:the|this) (?:image|picture|photo|scene)\b|looking at\b)"
    r"|^\W*(?:okay|alright), the (?:image|picture|photo)\b"
    r"|^\W*(?:hmm+|wait|actually|alternatively),\s+"
    r"(?:it(?:'s| is| could| might| may)\b|maybe|perhaps|no,|this\b|that\b)"
    # Other languages.
    r"|^\W*(?:(?:okay|also|gut|zuerst|zunächst)\W+)*(?:(?:ich )?(?:muss|werde|soll|sollte) ich\b|"
    r"der (?:be)?nutzer (?:möchte|will|fragt|bittet)\b)"
    r"|^\W*l'utilisateur (?:veut|demande|souhaite)\b|^\W*el usuario (?:quiere|pide|solicita)\b"
    r"|^\W*пользователь (?:хочет|просит)\b"
    r"|^\W*(?:(?:嗯|好的|好|首先)[，,。！\s]+)*(?:用户(?:要求|让我|想|希望|给|提供)|"
    r"(?:我(?:需要|要|来|应该|得)|让我(?:来|先)?(?:看|分析|想|描述)))|^\W*(?:嗯|好的)[，,。！]",
    re.IGNORECASE,
)
#: One of them stands among so many characters of every match.
_PLAN_WORDS = (
    "the user", "let me", "let's", "lets ", "i'll", "i'm going", "i need", "i have", "i should",
    "i want", "i will", "i am going", "thought", "reasoning:", "analysis:", "thinking", "step 1",
    "step-by-step", "we need", "we are", "i was", "asked to", "to describe", "to caption",
    "to analy", "looking at", "caption ", "draft", "okay", "ok", "alright", "got it", "hmm",
    "well", "so", "wait", "actually", "alternatively", "also", "zuerst", "zunächst", "nutzer",
    "utilisateur", "usuario", "пользователь", "嗯", "好", "首先", "用户", "我", "让我",
)  # fmt: skip
_BEGINNING = 60


def is_reasoning(text: str) -> bool:
    """
    >>> is_reasoning("Okay, the user wants me to describe this image. First,")
    True
    >>> is_reasoning("<think>A dog?</think> A dog runs."), is_reasoning("A user wants a phone.")
    (True, False)
    """
    if any(mark in text for mark in "<\u25c1[") and _MARKS.search(text) is not None:
        return True
    beginning = text[:_BEGINNING].lower()  # nearly all captions are told by that
    plain = text.replace("\u2019", "'")
    return any(word in beginning for word in _PLAN_WORDS) and _PLANS.match(plain) is not None


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

#: Yes and no, alone or before a sentence; signs of Chinese, Japanese and Korean need a comma.
_YES_NO = (
    r"(?:yes|no|yep|yeah|nope|ja|nein|oui|non|si|sí|sì|да|нет|sim|não|nee|tak|nie|evet|hayır|"
    r"हाँ|नहीं|نعم|لا|是|是的|不是|没有|はい|いいえ|예|네|아니요|아니오)"
)
_COUNT = (
    r"(?:\d+(?:[.,]\d+)*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|"
    r"[一二两三四五六七八九十])"
)
#: The letter of an option, or several.
_OPTION = r"(?-i:[(\[]?[A-H][)\]]?)"
_ANSWER_IS = (
    r"(?:answer|antwort|réponse|respuesta|risposta|resposta|antwoord|ответ|odpowiedź|cevap)"
)
_ANSWERS = re.compile(
    # An option: "B", "(B)", "B.", "C) A dog", "(C) dogs", "C. A dog", but not "E. coli".
    r"^\s*[(\[]?(?:[A-HYN]|i{1,3}|iv|[\u2460-\u2469])[)\]]?[.:]?\s*$|^\s*\(?[A-H]\)\s+\S"
    r"|^\s*[B-H][.:]\s+(?:an?|the|it|there|yes|no|none|all|both|two|three|four|some)\s"
    rf"|^\s*{_OPTION}(?:\s*(?:,|and|or|&)\s*{_OPTION})+\s*\.?\s*$|^\s*[A-H][、．]|^\s*A:\s"
    rf"|^(?:\s*{_OPTION}[.:]?\s*\n)+\s*{_OPTION}[.:]?\s*$"
    rf"|^\W*(?:option|choice|answer|ans)\b\s*:?\s*{_OPTION}(?:\s*[.:]|\s*$)"
    rf"|^\W*i(?:'d| would|'ll| will)? (?:choose|pick|select|go with) (?:option )?{_OPTION}(?:\W|$)"
    r"|^\W*(?:none|all|both) of the (?:above|options|choices)\W*$|^\W*选\s*[A-H]"
    # "The correct answer is B", "Answer: two", "So the answer is two".
    r"|^\W*(?:(?:so|therefore|thus|hence|based on [^,\n]{1,60}|from [^,\n]{1,60}),?\s+)?"
    r"(?:the |die |la |a |o |el )?(?:correct |right |best |final |richtige )?"
    rf"(?:{_ANSWER_IS}|(?<=correct )option|(?<=right )choice)(?: (?:is|ist|est|es|è|é)\b|\s*[:：])"
    rf"|^\W*(?:the )?(?:option|choice) is {_OPTION}\W*$"
    r"|^\W*(?:答案|回答|答え|정답)(?:是|为|は|은|\s*[:：])|^\W*ans\s*:"
    # Yes and no, numbers.
    rf"|^\s*{_YES_NO}\s*(?:[,;，、；].*|[.!。！]?\s*)$|^\s*[不有对错否]\s*[.!。！]?\s*$"
    r"|^\s*(?:yes|no),? (?:there|it|he|she|they|you|i) (?:is|are|was|were|does|do|can|has|have)\b"
    rf"|^\s*[-+~≈$€£#]*\s*{_COUNT}(?:\s*(?:[-–/:]|to|or|out of)\s*{_COUNT})?\s*"
    r"(?:%|stars?|[ap]\.?m\.?|[个只名位人张条辆])?\s*[.。]?\s*$"
    rf"|^\s*there (?:is|are) (?:only )?{_COUNT}\s*\.?\s*$"
    rf"|^\s*(?:score|rating|grade|count|total)\s*:\s*{_COUNT}(?:\s*/\s*{_COUNT})?\s*$"
    r"|^\s*(?:true|false|correct|incorrect|wahr|falsch|vrai|faux|verdadero|falso|正确|错误|unknown|"
    r"unclear|maybe|perhaps|unanswerable|不知道|无法确定|わかりません|모르겠습니다|"
    r"keine ahnung|not (?:sure|visible|applicable|available|specified)|i (?:don'?t|do not) know|"
    r"je ne sais pas|no (?:lo )?sé|non (?:lo )?so|não sei|не знаю|nie wiem|ich weiß (?:es )?nicht)"
    r"\s*[.!。]?\s*$",
    re.IGNORECASE | re.DOTALL,
)
#: A sentence that asks about a picture, alone or before its answer. "What is
#: he looking at?" is somebody's caption.
_QUESTION = re.compile(
    r"^\s*(?:<image>\s*)?(?:(?:how many|what colou?r|which of|is there|are there)\b"
    r"[^.!?\n]{2,200}\?\s*$"
    r"|(?:what|how|which|where|who|is|are|does|do|can|could)\b[^.!?\n]{2,150}"
    r"\b(?:image|picture|photo)\b[^.!?\n]{0,80}\?)",
    re.IGNORECASE,
)


def is_no_description(text: str) -> bool:
    """
    >>> [is_no_description(text) for text in ("B", "Yes, it is.", "12", "How many dogs?")]
    [True, True, True, True]
    >>> [is_no_description(text) for text in ("A dog", "No parking", "E. coli", "2 dogs")]
    [False, False, False, False]
    """
    asks = "?" in text
    return _ANSWERS.match(text.replace("\u2019", "'")) is not None or (
        asks and _QUESTION.match(text) is not None
    )
