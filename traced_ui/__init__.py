"""What people see: one file a page, and what pages share.

server        the web server: the app, and pictures by id
layout        header, tabs, what all pages share
review        the review page: what each key and click does
review_page   … and what it looks like
playground, datasets, retrain, export     the other pages
jobs          long work, shown while it runs
keyboard      all keys;  script.js: how they and clicks reach the server
highlighting, figures, steps, differences, markup   parts of pages, as safe HTML
theme, styles.css                                   the look
messages      errors as people read them
"""
