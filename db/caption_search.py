"""The index that finds parts of captions: trigrams, on SQLite by FTS5, on PostgreSQL by pg_trgm.

Both answer the same question, "which captions hold this text, letter case aside", of three or more
characters; shorter ones are looked for in every caption. On SQLite triggers keep the index beside
the pairs, without a second copy of the captions.
"""

#: With the places of trigrams (160 bytes a pair) the index answers by itself; without them every
#: caption that it names is read again, eight times slower.
SQLITE = (
    "CREATE VIRTUAL TABLE pair_captions USING fts5("
    "caption, content='pairs', content_rowid='id', tokenize='trigram')",
    "CREATE TRIGGER pair_captions_insert AFTER INSERT ON pairs BEGIN "
    "INSERT INTO pair_captions (rowid, caption) VALUES (new.id, new.caption); END",
    "CREATE TRIGGER pair_captions_delete AFTER DELETE ON pairs BEGIN "
    "INSERT INTO pair_captions (pair_captions, rowid, caption) "
    "VALUES ('delete', old.id, old.caption); END",
    "CREATE TRIGGER pair_captions_update AFTER UPDATE OF caption ON pairs BEGIN "
    "INSERT INTO pair_captions (pair_captions, rowid, caption) "
    "VALUES ('delete', old.id, old.caption); "
    "INSERT INTO pair_captions (rowid, caption) VALUES (new.id, new.caption); END",
)
POSTGRESQL = (
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    "CREATE INDEX ix_pairs_caption_trigrams ON pairs USING gin (caption gin_trgm_ops)",
)
#: Tables of the index: SQLite's own, not ours to compare or to fill.
TABLES = frozenset(
    f"pair_captions{part}" for part in ("", "_data", "_idx", "_docsize", "_config", "_content")
)
#: Fewer characters than this make no trigram.
SHORTEST = 3
