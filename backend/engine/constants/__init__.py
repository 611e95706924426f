"""What stands in most captions of a dataset at the same place and says nothing about a picture: the
trigger of a generator, the opening of a language model, words of quality.

    part      a constant part, and where it stands in a caption
    judging   which words of a part say nothing about a picture
    constant_search  the constant parts of a dataset's captions

A word can be constant and say something ("a dog" in front of every caption): it is listed, and
stays a part of what models are asked about.
"""
