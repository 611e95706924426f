"""The user interface: one file per page, and shared parts.

listening, server, headers, login, sessions   the web server: access control and page sessions
api           the same actions for programs
rooms, layout  the pages, their addresses, theme (and styles.css)
header        the bar of every page;  page_dataset: the dataset that it shows
board/        the scripts of the review page: keys, acts, drafts, the prefetched pairs
board         … the page itself and the answers to its requests;  page_state: what it shows
queue_actions, verdict_actions, tag_actions   … what each key and click does;
              page_actions: what they share;  review_actions: all of them
review_page   … and its HTML
datasets, retrain, export, progress, team   the other pages
jobs          running jobs and their progress
keyboard      our key bindings
templates     templates/ contains all HTML, with autoescaping; numbers as text
highlighting, figures, differences, trajectory_chart, reasons, support   parts of pages;
              pair_places: what features and packages add beside a pair
messages      user-facing error messages
"""
