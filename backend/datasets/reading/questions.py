"""Which question about a picture asks for a description of it, so that its answer is a caption.

A question asks for one if it is empty but for the picture's mark, or if one of its sentences

* asks to describe, caption or summarise, or for a caption, a description, a summary ("Write a
  caption", "Caption:", "Provide a brief description", "Beschreibe das Bild", "请描述这张图片");
* asks to explain, analyse, narrate, … the picture, its contents or the scene;
* asks what the whole picture shows, or what is in it or happens in it ("What is shown in the
  picture?", "What do you see?", "What is this?").

It asks for none if it offers choices, wants one word, a letter, yes or no, one property (the
colours, the mood) or a part of the picture, or if the sentence that speaks of a description begins
as a question about it ("Is this caption right?", "Which …").

The rule knows words of English, German, French, Spanish, Italian, Portuguese, Dutch, Russian,
Polish, Chinese, Japanese and Korean; questions in other languages are stated by the user.
"""

import re

#: Where trainers put a picture, a film or a sound; "Picture 1:" is Qwen's.
PICTURE_MARK = re.compile(
    r"<\|?/?(?:image|img|video|audio|picture|imagehere|image_pad|vision_start|vision_end|"
    r"image_placeholder|image_start|image_end)[ _-]?\d*\|?/?>|\[/?(?:img|image)\d*\]|"
    r"picture \d+:",
    re.IGNORECASE,
)
_NUMBER = r"(?:\d{1,6}(?:\.\d{1,20})?|\.\d{1,20})"
_SENTENCE = re.compile(r"[^.?!。？！\n]+[.?!。？！]?")
#: Words that begin a question about a description instead of asking for one, in any sentence.
_ABOUT = re.compile(
    r"(?:is|are|was(?! (?:ist|sieht|siehst|sehen|zeigt))|were|do|does|did|has|have|which|who|whose|"
    r"why|when|where|how many|how much|based on the (?:\w+ )?(?:descriptions?|captions?)|"
    r"ist|sind|welche[rsn]?|wie viele|est-ce|quelle?s?|cuál(?:es)?|quale)\b"
)
_CLOSED = re.compile(
    r"\b(?:yes or no|true or false|(?:one|single|1|two|few) words?\b|word or phrase|"
    r"option'?s? letter|letter of|multiple[- ]choice|(?:choose|select|pick) (?:one|the|from|an?)|"
    r"answer the (?:\w+ )?question|following (?:options|choices|captions|descriptions)|"
    r"which of (?:the|these|those)|(?:compare|match) (?:\w+ ){0,3}(?:descriptions?|captions?)|"
    r"options?:|choices:|ja oder nein|oui ou non|sí o no|"
    # One property of what is to be seen.
    r"describe (?:the|its|his|her|their) (?:[\w']+ )?(?:colou?rs?|weather|mood|emotions?|"
    r"expressions?|shapes?|position|location|relationships?|differences?|reasons?)\b"
    r"(?! of the (?:image|picture)))|"
    r"是或否|选项|选择|"
    # A part of the picture, in words or by its place.
    r"\b(?:given|specified|marked|highlighted|following) (?:region|area|box)\b|"
    r"bounding box|<(?:box|ref|region|loc_?\d*)>|"
    rf"[\[(] ?(?:{_NUMBER} ?, ?){{3}}{_NUMBER} ?[\])]"
)
_CHOICE = re.compile(r"(?:^|\s)\(?[A-Da-d][.):：]\s*\S")
_DESCRIBE = re.compile(
    # To describe, caption, summarise, in their imperatives, infinitives and polite forms.
    r"\b(?:describe|describing|captions?(?! (?:is|are|say|read))|summari[sz]e|"
    r"beschreib(?:e|t|en)?|décris|décrivez|décrire|describa|describir|describ[ií]|"
    r"descrivi|descrivere|descriva|descreva|descrever|beschrijf|beschrijven|"
    r"опиши(?:те)?|описать|opisz|opisać)\b|"
    # A description, a caption and other names of one.
    r"\b(?:descriptions?|depictions?|alt[- ]?texts?|summary|summaries|rundown|synopsis|"
    r"beschreibung|bildbeschreibung|bildunterschrift|légende|descripción|pie de foto|"
    r"descrizione|didascalia|descrição|legenda|beschrijving|bijschrift|"
    r"описание|подпись|opis|podpis)\b|"
    r"描述|描写|描繪|说明|說明|説明|標題|标题|概述|キャプション|묘사|설명|캡션"
)
_PICTURE = (
    r"(?:image|picture|photo(?:graph)?|pic|scene|snapshot|illustration|drawing|painting|figure|"
    r"frame|artwork|visual|screenshot|shot)s?"
)
_WHOLE = (
    r"(?:(?:in|of|on|by|about|within|from) )?"
    rf"(?:(?:\w+ ){{0,3}}{_PICTURE}\b.*|here|there|it|this)?"
)
_EXPLAIN = re.compile(
    r"\b(?:explain(?! (?:why|how|what|whether|if|your|the (?:reason|meaning)))|analy[sz]e|narrate|"
    r"portray|depict|characteri[sz]e|clarify|examine|illustrate|elaborate|break down|walk through|"
    r"details?|explanation|analysis|interpretation|account|narrative|overview|impression|report|"
    r"(?:tell|talk|say)(?: \w+){0,2} about|write (?:\w+ ){1,3}(?:sentence|paragraph|story|title))\b"
    rf".*\b(?:{_PICTURE}|contents?)\b"
)
_WHAT = re.compile(
    r"what(?:'s| is| are| do| does| can| could| would| might)?(?: being)?(?: you| we| one)?"
    r"(?: think| say)?(?: is| be)? ?"
    r"(?:(?:clearly |mainly )?(?:shown?|depicted|displayed|visible|pictured|portrayed|illustrated|"
    r"presented|happening|going on|taking place|see(?:n)?|observed?|notice)"
    rf"(?: happening| going on| taking place)? ?{_WHOLE}"
    rf"|(?:in|on|the (?:main )?(?:content|subject|theme|key elements|main elements)s?(?: of| in)) "
    rf"(?:\w+ ){{0,3}}{_PICTURE}"
    rf"|(?:the|this|that|your) (?:\w+ ){{0,2}}{_PICTURE} (?:show|depict|display|contain|about|of).*"
    rf"|(?:this|it|that)(?: {_PICTURE})?(?: about| of| show| showing)?"
    rf"|(?:a|the) (?:\w+ ){{0,2}}(?:caption|description|title) (?:for|of) .*)"
)
_POLITE = re.compile(
    r"(?:please )?(?:(?:can|could|would|will) you )?(?:please )?"
    r"(?:tell me |let me know |say )(?=what)"
)
#: How somebody begins to ask a model for a description of a picture.
_REQUEST = re.compile(
    r"(?:please |(?:can|could|would|will) you )*(?:describe|write|provide|give|generate|create|"
    r"compose|offer|summari[sz]e|explain|analy[sz]e|tell me|caption)\b.*"
    rf"\b(?:the|this|that|given|following|provided) (?:\w+ )?{_PICTURE}\b|"
    r"(?:beschreib(?:e|en|t)?|schreib(?:e|en)?)\b.*\b(?:bild|foto)|(?:décris|décrivez)\b.*\bimage|"
    r"(?:describ[ea]|descrivi|descriva|descreva)\b.*\b(?:imagen|immagine|imagem|foto)|"
    r"beschrijf\b.*\b(?:afbeelding|foto)|опиши(?:те)?\b.*(?:картинк|изображени|фото)|"
    r"opisz\b.*(?:obraz|zdjęci)|[请請].*(?:描述|描写|描繪|说明|說明).*(?:图|圖|画|照片)|"
    r".{0,10}(?:画像|写真).*(?:説明|描写)して(?:ください|下さい)|"
    r".{0,10}(?:이미지|사진|그림).*(?:설명|묘사)해 ?(?:주세요|줘)"
)
#: Who speaks in a text, in front of it.
_ASKING = re.compile(r"(?:user|human|question|q)\s?[:：]")
_ANSWERING = re.compile(r"(?:assistant|gpt|answer|a)\s?[:：]")
#: Longer questions hold a text of their own; what they ask is at their beginning.
_READ = 4000
_WHAT_ELSEWHERE = re.compile(
    r"was (?:ist|sieht man|siehst du|sehen sie|zeigt)\b.*\b(?:bild|foto|hier)\b|"
    r"(?:que voi[st]|que montre|qu'y a-t-il)\b.*\b(?:image|photo)\b|"
    r"qué (?:se ve|hay|muestra|ves)\b.*\b(?:imagen|foto)\b|"
    r"cosa (?:c'è|mostra|vedi|si vede)\b.*\b(?:immagine|foto)\b|"
    r"o que (?:há|mostra|se vê|você vê)\b.*\b(?:imagem|foto)\b|"
    r"что .*(?:изображен|на (?:картинке|фото|изображении))|"
    r"(?:图|画|照片).*(?:什么|甚麼)|(?:画像|写真|絵).*(?:何が|なに)|(?:이미지|사진).*(?:무엇|뭐)"
)


def asks_for_description(question: str) -> bool:
    """Whether the answer to the question describes the picture.

    >>> asks_for_description("<image>\\nWhat is shown in the picture?")
    True
    >>> asks_for_description("How many dogs are there?"), asks_for_description("Is it a photo?")
    (False, False)
    """
    text = PICTURE_MARK.sub(" ", question[:_READ]).replace("_", " ").strip()
    if not any(letter.isalnum() for letter in text):
        return True
    plain = " ".join(text.lower().replace("’", "'").split())
    if _CLOSED.search(plain) or len(_CHOICE.findall(text)) > 1:
        return False
    sentences = (s.strip().rstrip(".?!。？！ ") for s in _SENTENCE.findall(text.lower()))
    return any(map(_asks, sentences))


def is_request(text: str) -> bool:
    """Whether a text among captions is none, but asks for a description of the picture or shows it
    first.

    >>> is_request("Describe the image."), is_request("<image>"), is_request("Describe the sea.")
    (True, True, False)
    """
    plain = " ".join(text[:_READ].lower().split())
    if PICTURE_MARK.match(plain):
        return True
    return _REQUEST.match(plain) is not None and asks_for_description(text)


def is_question(text: str) -> bool:
    """Whether a text among others is a question about a picture: one that asks for a description,
    shows the picture or ends as a question.

    >>> is_question("<image>\\nDescribe it."), is_question("Any dog?"), is_question("A dog.")
    (True, True, False)
    """
    return text.rstrip().endswith(("?", "？")) or is_request(text)


def name_speakers(question: str, answer: str) -> bool:
    """Whether two texts begin with those who say them.

    >>> name_speakers("Q: Any dog?", "A: No."), name_speakers("A: a dog", "B: a cat")
    (True, False)
    """
    texts = question.lstrip().lower(), answer.lstrip().lower()
    return _ASKING.match(texts[0]) is not None and _ANSWERING.match(texts[1]) is not None


def asks_something_else(question: str) -> bool:
    """Whether a question begins as one that asks for no description, and is no polite request.

    >>> asks_something_else("How many dogs?"), asks_something_else("Can you do it in detail?")
    (True, False)
    """
    plain = " ".join(PICTURE_MARK.sub(" ", question[:_READ]).lower().split())
    begins = _ABOUT.match(plain) is not None or plain.startswith(("what", "how"))
    return begins and plain.endswith(("?", "？")) and not asks_for_description(question)


def _asks(sentence: str) -> bool:
    sentence = _POLITE.sub("", " ".join(sentence.replace("’", "'").split()))
    if _ABOUT.match(sentence):
        return False
    if sentence.startswith(("what", "how")):
        return _WHAT.fullmatch(sentence) is not None or (
            sentence.startswith("how would you") and "describe" in sentence
        )
    return any(rule.search(sentence) for rule in (_DESCRIBE, _EXPLAIN, _WHAT_ELSEWHERE))
