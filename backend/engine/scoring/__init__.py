"""s(x, y): how well a caption describes an image.

protocol     the interface of every scorer
loading      load a scorer from a hub name or a directory
clip         CLIP: cosine of image and text embedding
blip         BLIP: ITC cosine, ITM match probability
revision     the exact weights, identified by a commit or a digest
reference    unoptimised reference implementation that the tests compare against
"""
