"""Where in the picture a caption's words are: what speaks for each of them.

part_maps   how much each part of the picture speaks for a span of the caption
region      the part that speaks most for it, as a box, or that nothing does
stated_boxes  boxes beside descriptions in a source, and whether a region is where one is stated
"""
