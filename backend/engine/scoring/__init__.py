"""s(x, y): how well a caption describes an image.

protocol     what every scorer can do
loading      a scorer from a hub name or a directory
clip         CLIP: cosine of image and text embedding
blip         BLIP: ITC cosine, ITM match probability
revision     which weights exactly, as a commit or a digest
reference    the plain way through the processors, which tests compare against
"""
