"""Captioners other than BLIP's and vision-language models."""
