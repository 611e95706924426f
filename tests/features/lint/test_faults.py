"""What each rule finds, and what it must leave alone: both written by hand, as people and programs
write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.features.lint.faults import RULES, faults_of

FAULTY = {
    "loop": [
        "a dog on the the the beach",
        "a cat and a dog and a cat and a dog and a cat and a dog",
        "A man rides a horse. The sky is blue. A man rides a horse.",
        "snow snow snow snow",
        "close up of a close up of a donut sitting on a table",
        "a table with a table with a table with", "ha ha ha and the the the dog",
        "dog, dog, dog, dog, dog", "一只狗和一只狗和一只狗和一只狗",
    ],
    "refusal": [
        "I'm sorry, but I can't assist with that request.",
        "Sorry, I cannot see any image.",
        "As an AI language model, I do not describe people.",
        "I am unable to view images.",
        "Unfortunately, I cannot identify people in pictures.",
        "No image was provided.", "It seems there is no picture attached. Please upload it.",
        "I don't see an image in your message.",
        "I can’t assist with that.", "I won't be able to describe this image.",
        "I apologize, but I cannot describe this.", "I don't feel comfortable describing this.",
        "The image could not be processed.", "Image not found", "Unable to generate caption.",
        "It looks like no image came through.", "This may violate our usage policies.",
        "Je ne peux pas voir l'image", "Désolé, je ne peux pas aider.",
        "Es tut mir leid, aber ich kann dabei nicht helfen.", "Leider kann ich das nicht sehen.",
        "Lo siento, no puedo ayudar.", "Non posso vedere l'immagine.", "Não consigo ver a imagem.",
        "Het spijt me, maar ik kan niet helpen.", "Извините, я не могу помочь.",
        "Przepraszam, nie mogę pomóc.", "很抱歉，我无法查看图片。", "我无法描述这张图片",
        "作为一个AI语言模型", "申し訳ありませんが、できません。",
        "죄송하지만 이미지를 볼 수 없습니다",
    ],
    "reasoning": [
        "<think>The picture shows a dog", "<think>A dog?</think>\nA dog runs.",
        "</think> A dog runs.", "<answer>A dog runs.</answer>",
        "Okay, the user wants me to describe this image. First, I need to",
        "Let me look at the image. I see a dog.", "First, I need to analyze the picture.",
        "Step 1: identify the objects.", "Thought: it may be a dog.",
        "Wait, maybe it's a cat.", "Hmm, this is a dog.", "Got it, let's describe it.",
        "Okay, let’s see. A dog", "We need to describe the image.", "◁think▷A dog?",
        "[THINK]A dog?[/THINK]A dog.", "嗯，用户让我描述图片", "首先，我需要看图片",
        "Zuerst muss ich das Bild ansehen.", "L'utilisateur demande une description.",
    ],
    "answer": [
        "B", "(B)", "C.", "C. A dog", "(A) dogs", "B) a red car", "The correct answer is B.",
        "Answer: two", "Yes", "No.", "Yes, there is a dog in the image.", "3", "12.5%",
        "Ja.", "Nein, kein Hund.", "Oui", "Sí, hay un perro.", "Да", "是", "是的，有一只狗", "はい",
        "예", "I don’t know.", "Je ne sais pas", "不知道", "Yes there is a dog", "maybe",
        "Option B: a dog", "Choice A.", "ANSWER B", "A, B, D", "A or B", "B. Two dogs", "[B]",
        "So the answer is two.", "Based on the image, the answer is B.", "I would choose B.",
        "答案是B", "选B", "Die Antwort ist B.", "Réponse : B", "None of the above", "A: a dog",
        "three", "3 or 4", "7/10", "$5", "12:30 PM", "There are 3.", "3个", "Score: 8",
        "What is in the image? A dog.", "True", "Not visible.", "How many dogs are there?",
        "What is shown in the image?", "<image>\nWhat is in the picture?", "Is there a dog?",
    ],
    "failed answer": [
        '{"error": {"message": "Rate limit", "code": 429}}',
        "<think></think>", "null", "None", "NaN", "Error: 502 Bad Gateway",
        "upstream: service unavailable", "Traceback (most recent call last):",
        "#N/A", "#REF!", "n.a.", "\\N", "None.", "---", "???", "TODO", "[removed]", "无", "なし",
        "No caption available.", "no description", "Keine Beschreibung", "your caption here",
    ],
    "cut ending": [
        "A man in a red jacket is standing next to a",
        "Two dogs are playing with",
        "The image shows a kitchen, in which there are a table and",
        "A woman is holding a large umb-",
        "A view of the harbour, where several boats...",
        "person riding a bike doing a while", "A Chinese Dragon at a", "actors on the set of",
        "a man with something in his mouth . a", "Ein Mann steht neben einem",
        "A dog runs along the [truncated]",
    ],
    "placeholder": [
        "USER: <image> What is this?", "A photo of [NAME] at the beach", "<|im_start|>A dog",
        "A {object} on a table", "Lorem ipsum dolor sit amet", "[INST] describe [/INST] a dog",
        "assistant: A dog runs.", "A dog</s>",
        "A dog. USER: what else? ASSISTANT: a cat", "### Human: describe", "<REGION_PROPOSAL>",
        "assistant\nA dog runs.", "A dog runs.\n\nHuman: and the cat?",
    ],
    "characters": ["A cafÃ© in Paris", "Itâ€™s a dog", "ein groÃŸer Hund", "A caf\ufffd in Paris"],
    "invisible": [
        "A dog\u200b on a bench", "\ufeffA dog", "A dog\x07 runs", "a sof\u00adtware box",
        "A dog\u202d runs",
    ],
    "markup": ["A dog &amp; a cat", "A dog<br>on a mat", "<b>A dog</b>", "It&#39;s a dog",
               "A caf\\u00e9 in Paris", "**A dog** runs.", "A dog runs.\\n\\nIt rains.",
               '<a href="http://a.example/">A dog</a>', "caf&eacute;", "it&rsquo;s a dog",
               "# A dog in the park", "![alt](image.png)", "[A dog](https://a.example)"],
    "json": [
        '{"caption": "A dog runs.", "tags": ["dog"]}', '```json\n{"caption": "A dog."}\n```',
        "~~~\nA dog runs.\n~~~", "'''A dog runs.'''", "A dog runs.\n~~~", "`A dog runs.`",
        "- dog\n- cat", "1. A dog\n2. A cat", "| a | b |\n|---|---|", "b'a dog'", "('a dog',)",
        "tensor([1, 2])", "<class 'str'>",
        "{'caption': 'A dog.'}", '{"caption": "A dog runs on the', '["A dog.", "A cat."]',
    ],
    "camera": ["OLYMPUS DIGITAL CAMERA", "SONY DSC", "DSC_0123.JPG", "IMG_20230401_123456",
               "Exif_JPEG_PICTURE", "KODAK Digital Still Camera", "holiday-photo.jpeg",
               "Processed with VSCO with a6 preset", "PXL_20210101_123456", "_DSC1234",
               "WhatsApp Image 2021-01-01 at 10.10.10.jpeg", "download (1)", "dog photo.jpg",
               "550e8400-e29b-41d4-a716-446655440000", "https://example.com/dog", "@user",
               "image", "thumbnail", "Untitled", "Click to enlarge", "View larger image",
               "Loading...", "Add to cart", "SKU: 12345", "No Image Available", "Stock photo",
               "Image may contain: 1 person, outdoor"],
    "page ending": ["A dog runs on grass | Etsy", "A dog on a beach, stock photo",
                    "A red dog on grass Stock Photo 123456", "A dog runs. #art",
                    "A dog on a beach #dog #cute", "A guy carries a flower DSC_0123.jpg",
                    "A dog on a beach - Royalty Free Stock Images | Shutterstock",
                    "A red dog on grass | 30% off - Free Shipping"],
    "weights": ["A (dog:1.2) runs.", "A woman in a ((long red dress:1.3)) walks home"],
    "credit": ["A dog runs. Photo by Jane Doe / Getty Images", "A dog. Photo by Zoë de la Cruz",
               "A dog on a beach (Photo: J. Doe/Reuters)", "A dog, image © Jane Doe.",
               "A dog runs. (AP Photo/Jane Doe)", "A dog | Credit: Jane Doe", "A dog, © Jane Doe",
               "A dog runs. Image courtesy of NASA", "A dog runs. photo credit: Jane Doe"],
    "coordinates": ["[0.12, 0.3, 0.5, 0.9]", "dog [12, 34, 56, 78]", "(10,20),(30,40)",
                    "[[0.1,0.2,0.3,0.4]]", '<point x="10" y="20">dog</point>', "<12><34><56><78>",
                    "0 0.5 0.5 0.2 0.2", "person: 0.98, dog: 0.87", "bbox: 10 20", "(0.1, 0.2)"],
    "generator": ["a dog <lora:fur:0.8>", "a dog\nNegative prompt: ugly", "dog --ar 16:9",
                  "Steps: 20, Sampler: Euler a, CFG scale: 7", "lowres, bad anatomy, bad hands",
                  "embedding:easynegative", "a {red|blue} dog"],
    "subtitles": ["00:00:01,000 --> 00:00:02,000", "[00:01] a dog", "WEBVTT", "[Music]",
                  "SPEAKER_00: hello", "<v Bob>hello", "<0.00><2.00> a dog",
                  "0.0 - 3.2 seconds, a dog", "Thanks for watching!"],
    "glued": ["#sunset#beach#love", "A dog runs.The cat sits on a mat."],
    "prompt": [
        "Sure! Here is a caption for the image: A dog runs.",
        "Here's a detailed description of the picture: A cat sits.",
        "Caption: A dog runs.", "Write a short caption for this image",
        "A dog runs. I hope this helps!", "The caption should be short.",
        "Sure! A dog running.", "Certainly. A dog runs.",
        "<caption>A dog runs.</caption>", "A dog runs.</description>", "### Response:\nA dog runs.",
        "# Caption\nA dog runs.", r"\boxed{A dog runs.}",
        "A dog runs. Is there anything else you would like to know?",
        "caption - A dog runs.", "Alt text: A dog runs.", "Output: A dog runs.", "(photo) A dog",
        "Beschreibe das Bild.", "请描述这张图片。一只狗", "この画像を説明してください", "QA> a dog",
        "You are a helpful assistant.", "Q: What is this? A: a dog", "Your task is to describe",
        "Caption this image: a dog", "caption en", "Hier ist eine Beschreibung: ein Hund",
    ],
}  # fmt: skip

#: Of every kind that people write, odd ones among them.
FLAWLESS = [
    "A dog runs on the beach.", "a dog", "Two dogs, one of them brown, run.", "No no no!",
    "A very very big dog.", "A sign that reads STOP. A man waits.", "Knock, knock, knock",
    "1girl, long_hair, smile, (blue eyes:1.2)", "boy, dog, tree, red ball,",
    "It's a dog & a cat.", "A cat < 3 years old", "Café in München", "Ärger über Öl",
    "naïve façade", "Ein Hund läuft über die Straße.", "一只狗在跑。它是红色的！",
    "犬が走っている。", "كلب يركض في الحديقة.", "می‌خواهم",
    "family \U0001f468\u200d\U0001f469\u200d\U0001f467 at home",
    "A man says sorry to a woman.", "A man is sorry for his dog.", "A robot that helps people",
    "An error message on a screen reads 404", "A woman looks at a sign with the word NULL",
    "A person takes a picture of a digital camera", "A digital camera on a table.",
    "A man and his assistant: two doctors at work", "A caption contest winner holds a cup",
    "A woman writes a letter", "A brown dog\nA red ball", "A dog runs.\tA cat sits.",
    "Dr. Smith has 3.5 m of rope, e.g. blue.", "www.example.com on a billboard", "U.S.A. flag",
    "A girl looks up", "The door is open to let the light in", "What is he looking at?",
    "A man puts his jacket on", "The lights are on", "A room with a view", "Salt & pepper",
    "The train goes by, by and by", "Bye bye", "a T-shirt with the number 5", "Picture of 2 dogs",
    "A man with a ha ha ha smile", "Photo 51 hangs on a wall", "a hot dog, a hot dog bun and beer",
    "A dog. A dog. A cat.", "“Here is the caption,” says a cartoon dog.", "Mother-in-law",
    "A man sells stock photos", "A wall with #love #peace on it", "A red shirt with #7 and #8",
    "A dog in a shop, on sale", "A man near a sign of Getty Images",
    "#sunset #beach #love", "A jar labelled J.R.Smith", "node.js logo on a laptop", "He is 5'10\".",
    "Straße – ein Hund", "A dog's bowl (empty)", "A sign: NO ENTRY", "A happy couple…in love.",
    "The word ERROR in red letters", "man, woman, dog & cat", "A board with a + b = c",
    "A clock (it reads 9:30) on a wall", "A map (scale 1:5)", "A label (fat: 1.5) on a jar",
    "A glass (pH:7.5) on a table", "A curve (p:0.05) on a screen",
    "A slide that lists (a) Apple, (b) Banana, (c) Cherry",
    "A photo by Lake Como.", "A dog. A photo by the sea", "Photo by Jane Doe", "A dog and a photo",
    "A dog in a picture by Monet", "A sign that reads © Acme", "A bank with a credit card, Visa",
    # No answers, no reasoning.
    "A board with # Answer written on it", "`Hello` and `bye` on a screen", r"C:\users on a screen",
    "E. coli under a microscope", "D. Duck in a boat", "A. Lincoln in 1860", "No parking", "2 dogs",
    "No dogs allowed", "No. 5 bus", "Let me in!", "Let's go to the beach", "I need a holiday",
    "The user of a wheelchair", "A user wants his phone", "What a day!", "Analysis of a painting",
    "A true story", "the answer to everything", "Where the wild things are", "5 * 3 ** 2",
    r"C:\new folder on a screen", "__init__ in a file", "A sure bet", "Certainly the best dog",
    "A woman asks a man for an image of a dog", "I want to ride my bicycle", "Thoughts of you",
    # As in Flickr8k and Conceptual Captions.
    "A man parasails in the waves ,", "Two girls wearing bikins are standing in the lake ,",
    'A man holds a sign that reads " Ok Ok Ok , I need money "', "a red kitchen from magazine ...",
    "A man in a wheelchair is holding a cup out for a man to put some change into",
    "Photo: Ann Lee", "(dog) on a street", "caption contest in a newspaper", "Captain: a dog",
    '"Description" is written on the sign.', "'Caption' printed on a book cover.",
    "(photo: John Smith) A man at a desk.", "(picture: a dog) on a wall (old)",
    "Response: the crowd waits.",
    # Near to what chats and programs write.
    "Sorry, we're closed sign on a door", "Wait for me!", "Wait, what?", "so i made a cake",
    "ok so this is my dog", "Well, well, well", "Image was removed from the wall",
    "The image is not complete", "Failed to load the truck", "Safety policies on a board",
    "No image can capture it", "Can't view the sea", "Der Benutzer hat eine Tastatur vor sich",
    "Ja Rule on a stage", "Nein-Schild an der Tür", "Tak for today", "Oui Oui macaron shop",
    "Leider regnet es auf dem Fest.", "Ich kann die Berge sehen", "logo", "empty", "missing",
    "有一只狗在跑", "不锈钢锅", "是一只狗", "好的天气", "我家的猫",
    "抱歉的表情", "无人机拍摄的画面",
    "用户在使用手机", "首先映入眼帘的是一只狗", "哈哈哈哈哈", "高高兴兴的孩子", "对面的山",
    "すみません看板", "네 명의 사람이 서 있다", "Нет войне плакат", "Да Винчи портрет",
    "Option for dinner: a pizza", "Choice cuts of meat", "A and B blocks", "A 3 star hotel",
    "I'll pick a flower", "Two or three dogs", "2-4 players", "5 cars", "There are two dogs",
    "A graph of (1,2), (3,4)", "x = 3, y = 4 on a board", "Score 3:2 on the board", "#1 dad mug",
    "Steps: a stairway", "Sampler: stitched", "A photographic negative: a man", "a | b",
    "Dog -- no cat", "the man —no hat— runs", "Subscribe button", "00:12 on a clock",
    "View full of flowers", "See all the dogs", "Price tag", "Tap for beer", "untitled painting",
    "Loading dock", "Picture for kids", "Thumbnail of a dog", "Frame 1", "AT&T; store",
    "# 5 jersey", "1. A dog 2. A cat", "You are a star", "Instructions: mix", "USER manual",
    "Image 1 of 2", "[dog] and a cat", "a sign that reads (photo)", "Description de la plage",
    "i wish that this had been out last year :(", "all the ice cream is on the floor :'(",
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "caption"), [(name, text) for name, texts in FAULTY.items() for text in texts]
)
def test_a_fault_is_named(name: str, caption: str) -> None:
    assert name in faults_of(caption)


def test_every_rule_has_examples() -> None:
    assert FAULTY.keys() == RULES.keys()


@pytest.mark.parametrize("caption", FLAWLESS)
def test_what_is_right_is_left_alone(caption: str) -> None:
    assert faults_of(caption) == []


@pytest.mark.parametrize(
    ("name", "caption", "mended"),
    [
        ("loop", "a dog on the the the beach", "a dog on the beach"),
        ("loop", "A man rides. A man rides a horse. It is dry. A man rides a horse.",
         "A man rides. A man rides a horse. It is dry."),
        ("loop", "a cat, a dog, a cat, a dog, a cat, a dog", "a cat, a dog"),
        ("credit", "A dog runs. Photo by Jane Doe / AP", "A dog runs."),
        ("weights", "A ((dog:1.2)) on a (red sofa:0.8)", "A dog on a red sofa"),
        ("weights", "((A dog:1.2) on a sofa)", "(A dog on a sofa)"),
        ("page ending", "A red dog runs. | Stock Photo - Etsy #dog #cute", "A red dog runs."),
        ("page ending", "A red dog, royalty-free images", "A red dog"),
        ("generator", "a dog, red --ar 16:9 --no cats, text --stylize 250", "a dog, red"),
        ("generator", "a dog <lora:fur:0.8>, <lora:b:1> a cat", "a dog, a cat"),
        ("generator", "a dog.\nNegative prompt: ugly\nSteps: 20, Sampler: Euler a", "a dog"),
        ("credit", "A dog (Photo: Jane Doe/AP)", "A dog"),
        ("credit", "A dog - photo by Jane Doe", "A dog"),
        ("characters", "A cafÃ© in Paris", "A café in Paris"),
        ("invisible", "\ufeffA dog\u200b runs", "A dog runs"),
        ("markup", "<b>A dog</b> &amp; a cat<br/>on a mat", "A dog & a cat on a mat"),
        ("glued", "A dog runs.The cat sits on a mat.", "A dog runs. The cat sits on a mat."),
        ("prompt", 'Sure, here is a caption: "A dog runs."', "A dog runs."),
        ("prompt", "Caption: A dog runs.", "A dog runs."),
        *(("prompt", text, "A dog runs.") for text in (
            "(caption) A dog runs.", "[caption]: A dog runs.", "**Caption:** A dog runs.",
            '"Caption": "A dog runs."', "{caption: A dog runs.}", "[Image: A dog runs.]",
            "1. Short caption 2: A dog runs.", "(AI-generated description) A dog runs.")),
        ("prompt", "Sure! A dog running.", "A dog running."),
        ("prompt", "<caption>\nA dog runs.</caption>", "A dog runs."),
        ("prompt", "# Caption\nA dog runs.", "A dog runs."),
        ("prompt", r"\boxed{A dog runs.}", "A dog runs."),
        ("prompt", r"\boxed{A dog}.", "A dog."),
        ("prompt", r"\boxed{A dog runs.}.", "A dog runs."),
        ("prompt", r"\boxed{A dog", "A dog"),
        ("prompt", "Caption: a smile :}", "a smile :}"),
        ("markup", "A caf\\u00e9 with \\ud83d\\ude00", "A café with \U0001f600"),
        ("markup", "**A dog** runs.\\nIt rains.", "A dog runs. It rains."),
        ("loop", "dog, dog, dog, dog, dog", "dog"),
        ("loop", "一只狗和一只狗和一只狗和一只狗", "一只狗和一只狗"),
        ("markup", "# A dog\nIt&rsquo;s in [a park](https://a.example)", "A dog It’s in a park"),
        ("prompt", "Hier ist eine Beschreibung: ein Hund", "ein Hund"),
        ("reasoning", "<think>A cat? No.</think>\n\nA dog runs.", "A dog runs."),
        ("reasoning", "<think>Hm.</think><answer>A dog runs.</answer>", "A dog runs."),
        ("reasoning", "<think>Hm.</think><answer>A dog runs.", "A dog runs."),
    ],
)  # fmt: skip
def test_a_mend_takes_the_fault_away_and_nothing_else(name: str, caption: str, mended: str) -> None:
    mend = RULES[name].mend
    assert mend is not None
    assert mend(caption) == mended
    assert not RULES[name].finds(mended)


@given(st.text(st.sampled_from("aA .,:<>/&;#{}[]()\"'\n\t-|0é狗\u200b\u200d\u00ad"), max_size=120))
def test_any_text_is_read(caption: str) -> None:
    for name in faults_of(caption):
        mend = RULES[name].mend
        if mend is not None:
            assert isinstance(mend(caption), str)


@pytest.mark.parametrize("part", ["-'", "a ", "<", "a,", "#", "{", "sure x", "&#", "ab", ".", " "])
def test_no_text_takes_long(part: str) -> None:
    """A quadratic rule would take minutes for this."""
    text = f"a{part * 400_000}b"
    faults_of(text)
    for rule in RULES.values():
        rule.without(f"Caption: {text}")
