"""What language models say, in the common languages, when they do not describe a picture."""

import re

_IMAGE = r"(?:image|picture|photo(?:graph)?|content|file)s?"
_DO = (
    r"(?:assist|help|see|view|describe|identify|provide|process|analy[sz]e|access|fulfil|comply|"
    r"generate|interpret|recogni[sz]e)"
)
#: How a refusal begins.
_BEGINS = re.compile(
    r"\W*(?:"
    r"(?:i'?m|i am|we'?re) (?:very |really |so )?(?:sorry|afraid|unable)\b"
    r"|(?:sorry|apologies|unfortunately),? (?:but )?i\b"
    rf"|sorry,? (?:but )?(?:no\b|something went wrong|(?:this|the|that|your) {_IMAGE})|sorry\W*$"
    r"|(?:we|i) (?:sincerely )?apologi[sz]e\b"
    # The state of the picture.
    rf"|(?:(?:it (?:appears|looks like|seems)(?: that)?|unfortunately),? )?"
    rf"(?:(?:the|this|your)(?: provided| uploaded| attached)? )?{_IMAGE}"
    r" (?:is |was |are |were )?(?:(?:currently )?unavailable|missing\W*$|"
    r"no longer available|not (?:found|available|loaded|provided|displayed|accessible)"
    r"(?=\s*(?:[.,!;)\]]|$))"
    r"|(?:could not|cannot|can't|couldn't|failed to|did not|didn't) (?:be )?"
    r"(?:process|load|display|open|retrieve|found|shown|analy[sz]ed|access))"
    rf"|(?:it (?:appears|looks like|seems)(?: that)?,? )?(?:there(?:'s| is| was)|i see) no {_IMAGE}"
    r" (?:in (?:your|the|this) (?:message|chat|request|prompt|conversation|input)|to describe)"
    rf"|it (?:appears|looks like|seems)(?: that)? no {_IMAGE} (?:came|has|have|was|were|is)\b"
    rf"|you (?:haven't|have not|didn't|did not) (?:yet )?(?:\w+ )?"
    rf"(?:share|provide|upload|attach|include|send)[ed]*\b.{{0,20}}\b{_IMAGE}"
    r"|(?:unable|failed|cannot|could not|couldn't|can't|not able)(?: to)? "
    r"(?:describe|generate|caption|process|load|analy[sz]e|view|display|retrieve|identify)\b"
    r"[^.\n]{0,30}\b(?:image|picture|photo|caption|description|content|file|request)"
    r"|(?:content|request|response|image) (?:was |has been |is )?"
    r"(?:filtered|blocked|removed|moderated|flagged)"
    r"(?:\W*$| (?:due to|by (?:our|content|safety|the (?:content|safety|filter)))\b)"
    # German, French, Spanish, Italian, Portuguese, Dutch.
    r"|(?:es )?tut mir (?:sehr )?leid\b|(?:entschuldigung|leider),? "
    r"(?:aber )?(?:ich|kann|ist kein)\b"
    r"|ich kann (?:das|dieses|kein|keine|die|dir|ihnen|dabei|hier)\b.{0,30}\b(?:nicht|bilde?r?)\b"
    r"|(?:je suis )?(?:vraiment )?désolée?\s*(?:$|[,.!]|mais\b|je\b)|malheureusement, je\b"
    r"|je (?:ne peux pas|ne suis pas en mesure|ne vois (?:pas|aucune) (?:d'|l')?image)\b"
    r"|(?:lo siento|lamentablemente)\s*(?:$|[,.!]|pero\b|no\b)"
    r"|no (?:puedo|soy capaz de) (?:ver|ayudar|describir|identificar|procesar|acceder)"
    r"|mi dispiace\b(?:$|,)|(?:purtroppo )?non (?:posso|riesco a|sono in grado di) "
    r"(?:vedere|aiutar|descrivere|identificare)"
    r"|(?:desculpe|sinto muito|lamento)\b(?:$|,)|(?:infelizmente,? )?"
    r"(?:eu )?não (?:consigo|posso) (?:ver|ajudar|descrever|identificar)"
    r"|het spijt me\b|sorry,? (?:maar )?ik kan\b|ik kan (?:de|deze|geen|je|u)\b.{0,30}\bniet\b"
    # Russian, Polish, Turkish, Indonesian, Arabic, Hindi.
    r"|(?:извините|к сожалению|простите),? (?:но )?я\b|я не (?:могу|вижу) "
    r"|(?:przepraszam|niestety),? (?:ale )?nie\b|nie mogę (?:zobaczyć|pomóc|opisać|zidentyfikować)"
    r"|üzgünüm\b|maaf,? (?:tapi )?saya\b|saya tidak (?:bisa|dapat) "
    r"|(?:عذر[اً]+|آسف|أعتذر)|لا (?:أستطيع|يمكنني)|(?:क्षमा|माफ़)|मुझे खेद है|मैं .{0,30}नहीं (?:देख|कर) सक"
    # Chinese, Japanese, Korean.
    r"|(?:很|非常)?(?:抱歉|对不起|對不起)(?=[，,。！!但我\s]|$)|"
    r"我(?:无法|無法|不能|没有办法).{0,6}(?:看|识别|描述|处理|提供|回答|帮|满足|协助|分析|显示|访问)|"
    r"无法(?:查看|识别|描述|处理|显示)"
    r"|作为(?:一个|一名)?(?:人工智能|ai|语言模型|大语言模型)"
    r"|申し訳|すみませんが|画像(?:が|を).{0,12}(?:見え|見る|認識|確認|表示)\w{0,8}(?:ません|できない)"
    r"|죄송|이미지(?:를|가).{0,12}(?:수 없|않)"
    r")",
    re.IGNORECASE | re.DOTALL,
)
#: What it says further on.
_SAYS = re.compile(
    r"\bi(?:'?m| am| was)? (?:can'?t|cannot|can not|(?:am )?(?:unable|not able) to|"
    rf"won'?t(?: be able to)?|will not(?: be able to)?) {_DO}"
    rf"|\b(?:no|isn'?t an?|don'?t see (?:an?|any)) {_IMAGE} "
    r"(?:(?:was|were|is|are|has been|have been) )?"
    r"(?:provided|attached|uploaded|given|shared)\b"
    r"|\b(?:please|if you|could you) (?:please )?(?:upload|attach|provide|share)"
    rf" (?:the|an|your|a|it|this)\b[^.\n]{{0,30}}\b{_IMAGE}"
    rf"|\bi (?:don'?t|do not) see (?:an?|any) {_IMAGE}"
    r"|\bi (?:don'?t|do not) (?:feel comfortable|identify (?:real )?(?:people|persons|individuals)"
    rf"|have (?:the (?:ability|capability)|access to (?:the|this|any) {_IMAGE}))"
    r"|\bi (?:must|have to) (?:respectfully )?decline\b|\bi aim to avoid\b"
    rf"|\bi need to see the {_IMAGE}|\bi(?:'d| would) be (?:happy|glad) to (?:help|describe|assist)"
    r"|\b(?:i'?m|i am) (?:just |only )?an? (?:ai|(?:large )?language model|text-based)\b"
    r"|\bas an? (?:ai|artificial intelligence|(?:large )?language model|text-based)\b"
    r"|\bmy guidelines (?:prevent|do)"
    r"|\b(?:violat\w{1,4}|against|due to|by|per) (?:\w+ ){0,3}"
    r"(?:usage|content|safety|our) (?:\w+ )?polic(?:y|ies)\b",
    re.IGNORECASE,
)
#: One of them is in every match, in lower case; most captions have none.
_SAYS_WORDS = (
    "i can", "i'm", "im not", "im unable", "i am", "i was", "i won", "i will", "provided",
    "attached", "uploaded", "given", "shared", "upload", "attach", "provide", "share", "i don",
    "i do not", "i must", "i have to", "i aim", "i need", "be happy", "be glad", "as a ai",
    "as an ai", "artificial intelligence", "language model", "text-based", "my guidelines", "polic",
)  # fmt: skip


def is_refusal(text: str) -> bool:
    """
    >>> is_refusal("I’m unable to view images."), is_refusal("很抱歉，我无法查看图片。")
    (True, True)
    >>> is_refusal("A man says sorry."), is_refusal("No image of the dog is sharp.")
    (False, False)
    """
    plain = text.replace("\u2019", "'")
    if _BEGINS.match(plain) is not None:
        return True
    lower = plain.lower()
    return any(word in lower for word in _SAYS_WORDS) and _SAYS.search(plain) is not None
