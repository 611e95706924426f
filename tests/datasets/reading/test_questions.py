"""Which questions ask for a description of their picture."""

import pytest

from backend.datasets.reading.questions import asks_for_description

#: LLaVA's instructions among them, brief and detailed, and those of other public datasets.
DESCRIPTIONS = """
Describe the image concisely.
Provide a brief description of the given image.
Offer a succinct explanation of the picture presented.
Summarize the visual content of the image.
Give a short and clear explanation of the subsequent image.
Share a concise interpretation of the image provided.
Present a compact description of the photo's key features.
Relay a brief, clear account of the picture shown.
Render a clear and concise summary of the photo.
Write a terse but informative summary of the picture.
Create a compact narrative representing the image presented.
Describe the following image.
Provide a detailed description of the given image
Give an elaborate explanation of the image you see
Share a comprehensive rundown of the presented image
Offer a thorough analysis of the image
Explain the various aspects of the image before you
Clarify the contents of the displayed image with great detail
Characterize the image using a well-detailed description
Break down the elements of the image in a detailed manner
Walk through the important details of the image
Portray the image with a rich, descriptive narrative
Narrate the contents of the image with precision
Analyze the image in a comprehensive and detailed manner
Illustrate the image through a descriptive explanation
Examine the image closely and share its details
Write an exhaustive depiction of the given image
What do you see happening in this image?
What's happening in the scene?
What do you think is going on in this snapshot?
What are the key elements in this picture?
Can you elaborate on the elements of the picture provided?
Could you please describe this photo for me?
Can you describe the main features of this image for me?
What is shown in the picture?
What is depicted in this image?
What does the image show?
What can you see in this picture?
What is in the image?
What's in this photo?
What is this?
What is this picture about?
What is a good caption for this picture?
Write a caption.
Please describe the picture: 1. foreground 2. background
Describe the image with its colors and positions.
Describe this area in the satellite image.
Can you tell me what is shown in this picture?
Tell me about this picture.
Write one sentence about this image.
A short image caption:
caption en
<DETAILED_CAPTION>
Generate an alt text for this image.
Please generate detailed descriptions of the given image.
You are a helpful assistant. Describe the image in one sentence.
How would you describe this photo?
Look at the picture. Is it bright? Please describe it in detail.
Beschreibe das Bild.
Was ist auf dem Bild zu sehen?
Schreibe eine Bildunterschrift.
Décrivez cette image.
Describe la imagen.
¿Qué se ve en la imagen?
Descrivi l'immagine.
Descreva a imagem.
Beschrijf de afbeelding.
Опиши картинку.
Что изображено на картинке?
Opisz obraz.
请描述这张图片
图片中有什么？
画像を説明してください。
이 이미지를 설명해 주세요.
<image>
[IMG]
<|vision_start|><|image_pad|><|vision_end|>
Picture 1: <img></img>
"""
OTHERS = """
Provide a short description for this region: [0.522, 0.029, 0.826, 0.342]
Describe (0.1,0.2,0.3,0.4).
Describe the object in the bounding box.
Describe <box>12, 30, 100, 200</box>
Is it daylight?
How many squares?
What color is the car?
What is the man holding?
What is written on the sign?
What is shown on the sign?
Where is the dog?
Who is this?
Which caption describes the image best?
Which of the following describes the picture?
Is this caption right?
Does the description match the image?
What does the caption say?
Describe the weather in one word.
Answer the question using a single word or phrase. What is in the picture?
Describe the image. Options: indoor, outdoor
What is shown in the picture? A. a dog B. a cat
What is in the image? (A) a dog (B) a cat
Choose the best description. A. a dog B. a cat
Is there a dog in the image? Answer yes or no.
And?
Explain why the man in the image is smiling.
Based on the description, where is the dog?
Based on the descriptions, how many dogs are there?
Compare the two descriptions: same or different?
Which of the captions is right?
Look at the image and answer the following question.
What is happening to the man?
What time is it?
What is the capital of France?
Why is the man smiling?
Wie viele Hunde sind auf dem Bild?
Welche Beschreibung passt?
有几只狗？
Read the text.
Describe the color of the car.
Describe the man's expression.
Describe the relationship between the people.
Combien de chiens ?
"""


@pytest.mark.parametrize("question", DESCRIPTIONS.strip().splitlines())
def test_a_request_for_a_description_is_known(question: str) -> None:
    assert asks_for_description(question)
    assert asks_for_description(f"<image>\n{question}")
    assert asks_for_description(question.upper()) or not question.isascii()


@pytest.mark.parametrize("question", OTHERS.strip().splitlines())
def test_other_questions_are_none(question: str) -> None:
    assert not asks_for_description(question)
    assert not asks_for_description(f"{question}\n<image>")
