"""The user interface: one file per page, and shared parts.

listening, server, headers, login, sessions   the web server: access control and page sessions
api           the same actions for API clients
layout        header, tabs, shared elements
review        the review page: one component, which Gradio draws once
board/        … its scripts: keys, acts, drafts, the prefetched pairs (main.js starts them)
board         … the answers to their requests;  page_state: what an open page shows
review_actions                                … what each key and click does
review_page   … and its HTML
playground, datasets, retrain, export, progress, plane, team     the other pages
jobs          running jobs and their progress
keyboard      all key bindings
templates     templates/ contains all HTML, with autoescaping
notebook      a dataset in a notebook: DataFrames, HTML, charts
highlighting, figures, steps, differences, abstractness, markup   parts of pages
theme, styles.css                                   the look
messages      user-facing error messages
"""
