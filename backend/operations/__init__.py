"""What can be run: one file for each operation, with its options, its work and its report. The
command line, the API, jobs and pages read them from `registry`.
"""
