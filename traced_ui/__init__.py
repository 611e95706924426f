"""The user interface: one file per page, and shared parts.

listening, server, headers, login, sessions   the web server: access control and page sessions
api           the same actions for API clients
layout        header, tabs, shared elements
review        the review page: its components, and which of them each event updates
review_actions, page_sessions   … what each key and click does, and the state of each open page
review_page   … and its HTML
playground, datasets, retrain, export, progress, plane, team     the other pages
jobs          running jobs and their progress
type_stubs    importing Gradio faster
keyboard      all key bindings;  script.js: sends keys and clicks to the server;
              late_answers.js: the newest response is drawn last;
              half_done.js: keeps unsaved input across redraws;
              addresses.js: URLs and history of pages and pairs
templates     templates/ contains all HTML, with autoescaping
notebook      a dataset in a notebook: DataFrames, HTML, charts
highlighting, figures, steps, differences, abstractness, markup   parts of pages
theme, styles.css                                   the look
messages      user-facing error messages
"""

from traced_ui import type_stubs

type_stubs.disable()
