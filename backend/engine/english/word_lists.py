# ruff: noqa: SIM905  (a list of words reads better as a line of text)
"""The words used by the rules, by category, in the singular (or base) form.

The lists cover typical captions of photographs (the 80 object categories of MS-COCO and their
surroundings). Words that may both be true of one picture are never exchanged for each other: they
share a line in `MAY_BOTH_BE_TRUE`.
"""

from collections.abc import Sequence

from backend.engine.languages.language import ENGLISH

#: Words without content of their own: they are wrong only together with another word.
FUNCTION_WORDS = ENGLISH.function_words

#: Closed-class words: they neither are nor describe the subject of a phrase.
CLOSED_CLASS = FUNCTION_WORDS | frozenset(
    (
        "these those his her their our my your some any no each every without onto into over under "
        "above below behind beside near next between through across around along during while "
        "where who which he she they we i you him them here being been has have had do does did "
        "not n't up down out off so than then too also just about against inside outside front top"
    ).split()
)


COLOURS = (
    "red orange yellow green blue purple pink brown black white gray grey beige tan golden silver"
).split()

#: Exact counts; a count is never exchanged for "several", which may be true of both.
NUMBERS = "two three four five six seven eight nine ten".split()

#: Each line: words and their opposites.
OPPOSITE_SIZES = (
    ("big large huge giant".split(), "small little tiny".split()),
    (["tall"], ["short"]),
    (["long"], ["short"]),
    (["wide"], ["narrow"]),
    (["bigger", "larger"], ["smaller"]),
)

OPPOSITE_ATTRIBUTES = (
    (["young"], ["old", "elderly"]),
    (["open"], ["closed"]),
    (["full"], ["empty"]),
    (["wet"], ["dry"]),
    (["clean"], ["dirty"]),
    (["happy", "smiling"], ["sad", "crying"]),
    (["wooden"], ["metal", "plastic"]),
    (["new"], ["old"]),
    (["asleep"], ["awake"]),
)

PEOPLE = "man woman boy girl child kid baby lady guy toddler".split()
ROLES = (
    "chef doctor nurse teacher student soldier officer firefighter farmer skateboarder surfer "
    "skier snowboarder cyclist musician singer dancer waiter worker player pitcher batter"
).split()

#: If the only gendered noun of a caption changes its gender, its pronouns are adapted.
MALE = "man boy guy gentleman".split()
FEMALE = "woman girl lady".split()

NOUNS: dict[str, Sequence[str]] = {
    "animal": (
        "dog cat horse cow sheep bird elephant zebra giraffe bear duck goose goat pig rabbit lion "
        "tiger monkey puppy kitten deer chicken fish turtle penguin swan pigeon parrot seagull"
    ).split(),
    "vehicle": (
        "car bus truck train bicycle bike motorcycle boat airplane plane van taxi tractor scooter "
        "helicopter tram canoe kayak ship sailboat jet wagon"
    ).split(),
    "food": (
        "pizza sandwich cake donut doughnut hamburger burger salad pie cookie cupcake muffin "
        "burrito taco omelet waffle pancake pretzel bagel"
    ).split(),
    "fruit": (
        "apple banana orange pear peach lemon strawberry pineapple watermelon carrot tomato potato "
        "cucumber pumpkin mango"
    ).split(),
    "furniture": (
        "chair table couch sofa bed bench desk stool dresser bookshelf cabinet shelf armchair crib"
    ).split(),
    "sports": (
        "ball frisbee skateboard surfboard snowboard kite racket racquet bat football basketball "
        "baseball volleyball balloon"
    ).split(),
    "kitchen": (
        "plate bowl cup mug glass bottle fork knife spoon pan pot kettle tray teapot vase jar"
    ).split(),
    "appliance": "oven stove refrigerator fridge microwave toaster sink dishwasher".split(),
    "electronics": (
        "laptop computer phone cellphone television tv camera keyboard remote radio clock monitor "
        "tablet lamp"
    ).split(),
    "clothing": (
        "shirt jacket coat dress skirt sweater suit hat cap helmet scarf tie vest hoodie apron"
    ).split(),
    "carried": "umbrella backpack suitcase bag purse basket briefcase book newspaper box".split(),
    "plant": "tree flower bush rose cactus palm tulip sunflower".split(),
    "building": (
        "house church tower barn castle bridge skyscraper hotel school tent windmill fountain"
    ).split(),
    "bathroom": "toilet bathtub shower mirror towel toothbrush".split(),
    "body": "hand foot arm leg head".split(),
    "sky": "sun moon star cloud rainbow".split(),
    "street": "sign hydrant bin mailbox lamppost fence pole".split(),
    "role": ROLES,
}

ON_PLACES = (
    "beach street road grass sidewalk snow sand mountain hill ice court lawn slope track runway "
    "bridge dock porch stage"
).split()
IN_PLACES = (
    "park forest kitchen bedroom bathroom garden city field office restaurant classroom desert "
    "yard woods water store gym library lake river ocean snow room street pool farm village zoo "
    "museum cafe hallway garage"
).split()
MASS_PLACES = frozenset("grass snow sand ice water".split())

WEATHER = "sunny cloudy rainy snowy foggy stormy overcast".split()
TIMES = (
    (["day"], ["night"]),
    (["daytime"], ["nighttime"]),
    (["morning"], ["evening", "night", "afternoon"]),
    (["sunrise"], ["noon"]),
    (["summer"], ["winter"]),
    (["indoors"], ["outdoors"]),
    (["inside"], ["outside"]),
)

#: Relations between objects; longer phrases are matched first.
RELATIONS = (
    "on", "on top of", "under", "underneath", "beneath", "below", "above", "over", "behind",
    "in front of", "beside", "next to",
)  # fmt: skip
#: Opposites that fit in any context.
OPPOSITE_DIRECTIONS = (
    (["left"], ["right"]),
    (["up"], ["down"]),
    (["into"], ["out of"]),
    (["toward", "towards"], ["away from"]),
    (["before"], ["after"]),
)

#: Base forms, grouped by their complements, so that replacements remain grammatical.
VERBS: dict[str, Sequence[str]] = {
    "posture": "sit stand lie kneel crouch sleep run walk jump swim dance crawl fly".split(),
    "handling": "hold throw catch kick hit carry push pull drop chase wash".split(),
    "eating": "eat cook cut slice bake".split(),
    "riding": "ride push pull".split(),
    "face": "smile laugh cry yell yawn frown".split(),
    "reading": "read write draw paint".split(),
}

#: Words of one line may be true of the same picture: they are never exchanged for each other.
MAY_BOTH_BE_TRUE = tuple(
    frozenset(line.split())
    for line in (
        "gray grey silver",
        "beige tan brown golden",
        "golden yellow",
        "orange golden",
        "man guy",
        "woman lady",
        "boy child kid toddler baby",
        "girl child kid toddler baby",
        "dog puppy",
        "cat kitten",
        "bird duck goose chicken swan pigeon parrot seagull penguin",
        "bicycle bike cyclist",
        "motorcycle bike scooter",
        "airplane plane jet",
        "boat ship sailboat canoe kayak",
        "car taxi van",
        "truck van wagon",
        "bus van tram",
        "train tram",
        "donut doughnut",
        "hamburger burger sandwich",
        "cake cupcake muffin",
        "couch sofa",
        "table desk",
        "chair stool armchair",
        "shelf bookshelf cabinet dresser",
        "bed crib",
        "ball football basketball baseball volleyball",
        "racket racquet bat",
        "cup mug glass",
        "bottle jar",
        "vase pot jar",
        "pot pan",
        "kettle teapot pot",
        "plate tray",
        "oven stove",
        "refrigerator fridge",
        "laptop computer monitor keyboard",
        "phone cellphone",
        "television tv monitor",
        "jacket coat hoodie sweater",
        "suit jacket tie shirt",
        "hat cap helmet",
        "backpack bag purse suitcase briefcase",
        "basket bag box",
        "flower rose tulip sunflower",
        "tree palm",
        "bush tree",
        "house barn hotel school castle",
        "church tower skyscraper castle",
        "player pitcher batter",
        "musician singer dancer",
        "street road sidewalk city village bridge",
        "field grass park garden yard farm lawn court track",
        "forest woods park garden zoo",
        "beach sand ocean water lake river dock",
        "pool water lake",
        "snow mountain hill slope ice",
        "room bedroom kitchen bathroom office classroom hallway library",
        "restaurant cafe store kitchen",
        "cloudy rainy foggy stormy overcast snowy",
        "on on-top-of above over",
        "on beside next-to behind in-front-of",
        "under underneath beneath below",
        "above over behind",
        "beside next-to behind in-front-of",
        "hold carry catch throw",
        "push pull drop",
        "kick hit throw",
        "walk run",
        "jump fly run dance",
        "lie sleep sit crawl",
        "kneel crouch sit",
        "smile laugh",
        "cry yell frown",
        "cut slice cook",
        "cook bake",
        "write draw paint",
        "sun cloud",
        "moon star",
        "sign pole lamppost fence",
    )
)

#: Words that may follow an article but are not nouns.
ADJECTIVES = frozenset(
    "young old elderly new empty full open closed wet dry clean dirty happy sad wooden metal "
    "plastic colorful colourful beautiful pretty cute nice busy bright dark different other same "
    "very single lone large-sized stuffed modern fancy plain striped fluffy furry brick concrete "
    "grassy sandy snowy sunny cloudy rainy foggy stormy overcast crowded parked several many few "
    "some first second last next top bottom front back left right male female professional blond "
    "blonde asian american delicious fresh half whole big large huge giant small little tiny tall "
    "short long wide narrow bigger larger smaller".split()
) | frozenset(COLOURS)
