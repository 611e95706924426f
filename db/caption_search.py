"""Substring search in captions by trigrams: FTS5 on SQLite, pg_trgm on PostgreSQL.

Both find the captions that contain a text of three or more characters, ignoring case; for shorter
texts every caption is scanned. On SQLite, triggers keep the index in sync with the pairs, without a
second copy of the captions.
"""

#: With trigram positions (160 bytes per pair) the index alone answers a query; without them every
#: candidate caption is read again, which is eight times slower.
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
#: Tables of the index: managed by SQLite, so migrations and copies ignore them.
TABLES = frozenset(
    f"pair_captions{part}" for part in ("", "_data", "_idx", "_docsize", "_config", "_content")
)
#: Length of a trigram; shorter texts cannot use the index.
SHORTEST = 3
