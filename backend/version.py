"""The program's version, stored with every run and written into every dataset card."""

VERSION = "0.1.0"
