"""Issues of pictures: dark, bright, blurry, of odd size or shape, duplicates."""
