"""ClipCap: a captioner made of CLIP, a prefix network and a language model."""
