"""Long-running work, one job per file. Every job takes a progress callback, commits in batches, and
can be killed at any moment: the next start continues after the last commit. `runner` runs them in
the background of the web app.
"""
