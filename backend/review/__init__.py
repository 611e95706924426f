"""Interactive operations, in milliseconds: store reads and single queries to the models.

pair, suggestions   one pair with everything that a page shows about it
ask_models          suggestions, checks of an edit
queue_form          a queue as text fields: in the form, in a link, in a saved view
search, nearest     pairs by meaning and by picture
charts              a dataset at a glance
views               the frozen records that all of these return
"""
