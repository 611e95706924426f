"""What people see: one file a page, and what pages share.

server, headers, login, sessions   the web server: who may come in, what it keeps of each
api           the same actions for programs
layout        header, tabs, what all pages share
review        the review page: its parts, and which of them an event changes
desk, seats   … what each key and click does, and where each open page is
review_page   … and what it looks like
playground, datasets, retrain, export, progress, plane, team     the other pages
jobs          long work, shown while it runs
keyboard      all keys;  script.js: how they and clicks reach the server;
              half_done.js: what is being written outlives a redraw
highlighting, figures, steps, differences, abstractness, markup   parts of pages, as safe HTML
theme, styles.css                                   the look
messages      errors as people read them
"""
