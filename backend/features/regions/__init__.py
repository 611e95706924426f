"""Where in the picture a caption's words are: what is left of their match without each part."""
