"""Is what a caption quotes written in its picture?

quotations  what a caption says that the picture's text is
matching    how far lines of text show a quotation
measure     the measure: reads the picture (RapidOCR) and compares
"""
