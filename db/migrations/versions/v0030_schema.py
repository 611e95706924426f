"""The schema of revision 0030, from which databases are upgraded.

Written out in full and never changed: migrations of released databases must stay the same.

Revision ID: 0030
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

from db.caption_search import POSTGRESQL, SQLITE

revision = "0030"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "curators",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("password_hash", sa.String(length=255), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("active", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "role IN ('curator', 'adjudicator')", name=op.f("ck_curators_role_is_known")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_curators")),
        sa.UniqueConstraint("name", name=op.f("uq_curators_name")),
    )
    op.create_table(
        "datasets",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("root", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        sa.Column("guidelines", sa.Text(), server_default="", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("overlap_share", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.Column("overlap_people", sa.Integer(), server_default=sa.text("2"), nullable=False),
        sa.Column("models", sa.JSON(), server_default="{}", nullable=False),
        sa.Column("ranking", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("ranking_claim", sa.String(length=32)),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_datasets")),
        sa.UniqueConstraint("name", name=op.f("uq_datasets_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "settings",
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_settings")),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("curator_id", sa.Integer(), nullable=False),
        sa.Column("label", sa.String(length=80), nullable=False),
        sa.Column("may_review", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["curator_id"], ["curators.id"], name=op.f("fk_api_keys_curator_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("digest", name=op.f("uq_api_keys_digest")),
    )
    op.create_table(
        "classifiers",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("basis", sa.String(length=255), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column("report", sa.JSON(), nullable=False),
        sa.Column("active", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["datasets.id"], name=op.f("fk_classifiers_dataset_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_classifiers")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "import_problems",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("row", sa.Integer()),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("external_id", sa.Text()),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["datasets.id"], name=op.f("fk_import_problems_dataset_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_import_problems")),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("dataset_id", sa.Integer()),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("done", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("total", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("message", sa.Text(), server_default="", nullable=False),
        sa.Column("result", sa.JSON(), server_default="{}", nullable=False),
        sa.Column("owner", sa.String(length=255), server_default="", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "status IN ('queued', 'running', 'done', 'failed', 'cancelled')",
            name=op.f("ck_jobs_status_is_known"),
        ),
        sa.ForeignKeyConstraint(["dataset_id"], ["datasets.id"], name=op.f("fk_jobs_dataset_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    op.create_table(
        "logins",
        sa.Column("token_digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("curator_id", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["curator_id"], ["curators.id"], name=op.f("fk_logins_curator_id")),
        sa.PrimaryKeyConstraint("token_digest", name=op.f("pk_logins")),
    )
    op.create_table(
        "pairs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=False),
        sa.Column("external_id", sa.String(length=600), nullable=False),
        sa.Column("image_path", sa.Text(), nullable=False),
        sa.Column("caption", sa.Text(), nullable=False),
        sa.Column("split", sa.String(length=255)),
        sa.Column("source_file", sa.Text(), server_default="", nullable=False),
        sa.Column("source_row", sa.Integer()),
        sa.Column("extra", sa.JSON(), server_default="{}", nullable=False),
        sa.Column("words_read", sa.Integer()),
        sa.Column("s_0", sa.Double()),
        sa.Column("gain", sa.Double()),
        sa.Column("p_error_even", sa.Double()),
        sa.Column("p_error_odd", sa.Double()),
        sa.Column("icc", sa.Double()),
        sa.Column("truncated", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("random_key", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.Column("suspect_word", sa.String(length=64)),
        sa.Column("suspect_kind", sa.String(length=32)),
        sa.Column("disagreement", sa.Double()),
        sa.Column("support", sa.Double()),
        sa.Column("weakest", sa.Double()),
        sa.Column("specificity", sa.Double()),
        sa.Column("second_opinion", sa.Double()),
        sa.Column("verdict_version", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("standing_version", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("decision", sa.String(length=16)),
        sa.Column("corrected_caption", sa.Text()),
        sa.Column("decided_at", sa.DateTime(timezone=True)),
        sa.Column("decided_by", sa.String(length=255)),
        sa.Column("enriches", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        sa.Column("hidden", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.CheckConstraint(
            "(decision = 'correction') = (corrected_caption IS NOT NULL)",
            name=op.f("ck_pairs_correction_has_caption"),
        ),
        sa.CheckConstraint(
            "decision IN ('correct', 'correction', 'drop', 'wrong', 'abstract', 'unsure')",
            name=op.f("ck_pairs_decision_is_known"),
        ),
        sa.ForeignKeyConstraint(["dataset_id"], ["datasets.id"], name=op.f("fk_pairs_dataset_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pairs")),
        sa.UniqueConstraint(
            "dataset_id", "external_id", name=op.f("uq_pairs_dataset_id_external_id")
        ),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("dataset_id", sa.Integer()),
        sa.Column("scorer_kind", sa.String(length=64), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("revision", sa.String(length=255), nullable=False),
        sa.Column("explorer", sa.String(length=64), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("code_version", sa.String(length=64), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.CheckConstraint(
            "status IN ('running', 'done', 'failed')", name=op.f("ck_runs_status_is_known")
        ),
        sa.ForeignKeyConstraint(["dataset_id"], ["datasets.id"], name=op.f("fk_runs_dataset_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    op.create_table(
        "views",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("fields", sa.JSON(), nullable=False),
        sa.Column("author", sa.String(length=255), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["dataset_id"], ["datasets.id"], name=op.f("fk_views_dataset_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_views")),
        sa.UniqueConstraint("dataset_id", "name", name=op.f("uq_views_dataset_id_name")),
    )
    op.create_table(
        "claims",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("curator", sa.String(length=255), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_claims_pair_id")),
        sa.PrimaryKeyConstraint("pair_id", name=op.f("pk_claims")),
    )
    op.create_table(
        "copy_trajectories",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("caption", sa.LargeBinary(), nullable=False),
        sa.Column("scores", sa.LargeBinary(), nullable=False),
        sa.Column("similarities", sa.LargeBinary(), nullable=False),
        sa.Column("removed", sa.LargeBinary(), nullable=False),
        sa.Column("first_step_scores", sa.LargeBinary(), nullable=False),
        sa.Column("truncated", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("captions", sa.LargeBinary()),
        sa.Column("second_scores", sa.LargeBinary()),
        sa.Column("second_first_step_scores", sa.LargeBinary()),
        sa.Column("expectation", sa.LargeBinary()),
        sa.Column("captioner", sa.String(length=64)),
        sa.Column("whole", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.ForeignKeyConstraint(
            ["pair_id"], ["pairs.id"], name=op.f("fk_copy_trajectories_pair_id")
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_copy_trajectories_run_id")),
        sa.PrimaryKeyConstraint("run_id", "pair_id", "caption", name=op.f("pk_copy_trajectories")),
    )
    op.create_table(
        "correction_attempts",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("proposer", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=False),
        sa.Column("detail", sa.String(length=255), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["pair_id"], ["pairs.id"], name=op.f("fk_correction_attempts_pair_id")
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_correction_attempts_run_id")
        ),
        sa.PrimaryKeyConstraint(
            "pair_id", "proposer", "run_id", name=op.f("pk_correction_attempts")
        ),
    )
    op.create_table(
        "detections",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer()),
        sa.Column("classifier_id", sa.Integer()),
        sa.Column("p_error", sa.Double()),
        sa.Column("suspects", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["classifier_id"], ["classifiers.id"], name=op.f("fk_detections_classifier_id")
        ),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_detections_pair_id")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_detections_run_id")),
        sa.PrimaryKeyConstraint("pair_id", name=op.f("pk_detections")),
    )
    op.create_table(
        "map_places",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("x", sa.Double(), nullable=False),
        sa.Column("y", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_map_places_pair_id")),
        sa.PrimaryKeyConstraint("pair_id", name=op.f("pk_map_places")),
    )
    op.create_table(
        "near_duplicates",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("group_id", sa.Integer(), nullable=False),
        sa.Column("similarity", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_near_duplicates_pair_id")),
        sa.PrimaryKeyConstraint("pair_id", name=op.f("pk_near_duplicates")),
    )
    op.create_table(
        "opinions",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("author", sa.String(length=255), nullable=False),
        sa.Column("decision", sa.String(length=16), nullable=False),
        sa.Column("corrected_caption", sa.Text()),
        sa.Column("settles", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("enriches", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "(decision = 'correction') = (corrected_caption IS NOT NULL)",
            name=op.f("ck_opinions_correction_has_caption"),
        ),
        sa.CheckConstraint(
            "decision IN ('correct', 'correction', 'drop', 'wrong', 'abstract', 'unsure')",
            name=op.f("ck_opinions_decision_is_known"),
        ),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_opinions_pair_id")),
        sa.PrimaryKeyConstraint("pair_id", "author", name=op.f("pk_opinions")),
    )
    op.create_table(
        "pair_tags",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("author", sa.String(length=255), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_pair_tags_pair_id")),
        sa.PrimaryKeyConstraint("name", "pair_id", name=op.f("pk_pair_tags")),
    )
    op.create_table(
        "phrase_scores",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("phrases", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_phrase_scores_pair_id")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_phrase_scores_run_id")),
        sa.PrimaryKeyConstraint("pair_id", "run_id", name=op.f("pk_phrase_scores")),
    )
    op.create_table(
        "picture_issues",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("issue", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_picture_issues_pair_id")),
        sa.PrimaryKeyConstraint("pair_id", "issue", name=op.f("pk_picture_issues")),
    )
    op.create_table(
        "picture_signals",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("brightness_perc_5", sa.Double(), nullable=False),
        sa.Column("brightness_perc_99", sa.Double(), nullable=False),
        sa.Column("aspect_ratio", sa.Double(), nullable=False),
        sa.Column("entropy", sa.Double(), nullable=False),
        sa.Column("blurriness", sa.Double(), nullable=False),
        sa.Column("blurriness_grayscale_std", sa.Double(), nullable=False),
        sa.Column("size", sa.Double(), nullable=False),
        sa.Column("pixels", sa.String(length=32), nullable=False),
        sa.Column("phash", sa.String(length=16), nullable=False),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_picture_signals_pair_id")),
        sa.PrimaryKeyConstraint("pair_id", name=op.f("pk_picture_signals")),
    )
    op.create_table(
        "retrievals",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("of", sa.Integer(), nullable=False),
        sa.Column("likeness", sa.Double(), nullable=False),
        sa.Column("better", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_retrievals_pair_id")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_retrievals_run_id")),
        sa.PrimaryKeyConstraint("pair_id", name=op.f("pk_retrievals")),
    )
    op.create_table(
        "second_opinions",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("p_yes", sa.Double()),
        sa.Column("deletions", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_second_opinions_pair_id")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_second_opinions_run_id")),
        sa.PrimaryKeyConstraint("pair_id", "run_id", name=op.f("pk_second_opinions")),
    )
    op.create_table(
        "suggestions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("proposer", sa.String(length=64), nullable=False),
        sa.Column("caption", sa.Text(), nullable=False),
        sa.Column("caption_digest", sa.LargeBinary(length=16), nullable=False),
        sa.Column("s_before", sa.Double(), nullable=False),
        sa.Column("s_after", sa.Double(), nullable=False),
        sa.Column("p_before", sa.Double()),
        sa.Column("p_after", sa.Double()),
        sa.Column("run_id", sa.Integer()),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("similarity", sa.Double()),
        sa.Column("kind", sa.String(length=16), server_default="correction", nullable=False),
        sa.Column("provenance", sa.JSON(none_as_null=True)),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_suggestions_pair_id")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_suggestions_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_suggestions")),
        sa.UniqueConstraint(
            "pair_id",
            "proposer",
            "caption_digest",
            name=op.f("uq_suggestions_pair_id_proposer_caption_digest"),
        ),
    )
    op.create_table(
        "trajectories",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("scores", sa.LargeBinary(), nullable=False),
        sa.Column("similarities", sa.LargeBinary(), nullable=False),
        sa.Column("removed", sa.LargeBinary(), nullable=False),
        sa.Column("first_step_scores", sa.LargeBinary(), nullable=False),
        sa.Column("truncated", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("captions", sa.LargeBinary()),
        sa.Column("second_scores", sa.LargeBinary()),
        sa.Column("second_first_step_scores", sa.LargeBinary()),
        sa.Column("expectation", sa.LargeBinary()),
        sa.Column("captioner", sa.String(length=64)),
        sa.Column("whole", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_trajectories_pair_id")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_trajectories_run_id")),
        sa.PrimaryKeyConstraint("pair_id", "run_id", name=op.f("pk_trajectories")),
    )
    op.create_table(
        "word_marks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("end", sa.Integer(), nullable=False),
        sa.Column("author", sa.String(length=255), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_word_marks_pair_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_word_marks")),
        sa.UniqueConstraint(
            "pair_id", "author", "start", "end", name=op.f("uq_word_marks_pair_id_author_start_end")
        ),
    )
    op.create_table(
        "verdicts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("decision", sa.String(length=16)),
        sa.Column("corrected_caption", sa.Text()),
        sa.Column("suggestion_id", sa.Integer()),
        sa.Column("author", sa.String(length=255), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("replaces", sa.Integer(), nullable=False),
        sa.Column("standing_version", sa.Integer(), nullable=False),
        sa.Column("undoes", sa.Integer()),
        sa.Column("redoes", sa.Integer()),
        sa.Column("batch", sa.String(length=32)),
        sa.Column("enriches", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        sa.CheckConstraint(
            "(decision = 'correction') = (corrected_caption IS NOT NULL)",
            name=op.f("ck_verdicts_correction_has_caption"),
        ),
        sa.CheckConstraint(
            "decision IN ('correct', 'correction', 'drop', 'wrong', 'abstract', 'unsure')",
            name=op.f("ck_verdicts_decision_is_known"),
        ),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_verdicts_pair_id")),
        sa.ForeignKeyConstraint(
            ["suggestion_id"], ["suggestions.id"], name=op.f("fk_verdicts_suggestion_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_verdicts")),
        sa.UniqueConstraint("pair_id", "version", name=op.f("uq_verdicts_pair_id_version")),
        sqlite_autoincrement=True,
    )
    _create_indexes()
    _make_verdicts_append_only()
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)


def _create_indexes() -> None:
    """Where indexes promise the same, SQLite takes the newest: the order matters."""
    _index("ix_classifiers_dataset_id", "classifiers", ["dataset_id"])
    _index("uq_classifiers_active", "classifiers", ["dataset_id"], "active", unique=True)
    _index("ix_import_problems_dataset_id", "import_problems", ["dataset_id"])
    _index("ix_jobs_dataset_id", "jobs", ["dataset_id"])
    _index("ix_jobs_status", "jobs", ["status"])
    _index("ix_runs_dataset_id", "runs", ["dataset_id"])
    _index("ix_trajectories_run", "trajectories", ["run_id", "pair_id"])
    _index("ix_logins_curator_id", "logins", ["curator_id"])
    _index("ix_claims_curator", "claims", ["curator"])
    _index("ix_copy_trajectories_pair_id", "copy_trajectories", ["pair_id"])
    _index("ix_phrase_scores_run", "phrase_scores", ["run_id", "pair_id"])
    _index("ix_retrievals_run", "retrievals", ["run_id", "pair_id"])
    _index("ix_picture_issues_issue", "picture_issues", ["issue", "pair_id"])
    _index("ix_near_duplicates_group", "near_duplicates", ["group_id", "pair_id"])
    _index("ix_map_places_place", "map_places", ["x", "y", "pair_id"])
    op.create_index(
        "ix_trajectories_first_step", "trajectories", ["run_id", "pair_id"],
        sqlite_where=sa.text("whole IS 0"), postgresql_where=sa.text("whole IS false"),
    )  # fmt: skip
    _index(
        "ix_pairs_decided",
        "pairs",
        ["dataset_id", "decision", sa.text("p_error_even DESC"), "id"],
        "decision IS NOT NULL",
    )
    _index("ix_pairs_gain", "pairs", ["dataset_id", sa.text("gain DESC"), "id"])
    _index("ix_pairs_icc", "pairs", ["dataset_id", "icc", "id"])
    _index("ix_pairs_p_error", "pairs", ["dataset_id", sa.text("p_error_even DESC"), "id"])
    _index("ix_pairs_s_0", "pairs", ["dataset_id", "s_0", "id"])
    _index("ix_pairs_split", "pairs", ["dataset_id", "split", sa.text("p_error_even DESC"), "id"])
    _index(
        "ix_pairs_unreviewed",
        "pairs",
        ["dataset_id", sa.text("p_error_even DESC"), "id"],
        "decision IS NULL",
    )
    _index("ix_pairs_disagreement", "pairs", ["dataset_id", sa.text("disagreement DESC"), "id"])
    _index(
        "ix_pairs_suspect_word",
        "pairs",
        ["dataset_id", "suspect_word", sa.text("p_error_even DESC"), "id"],
    )
    _index(
        "ix_pairs_suspect_kind",
        "pairs",
        ["dataset_id", "suspect_kind", sa.text("p_error_even DESC"), "id"],
    )
    _index("ix_pairs_support", "pairs", ["dataset_id", "support", "id"])
    _index("ix_pairs_weakest", "pairs", ["dataset_id", "weakest", "id"])
    _index("ix_pairs_specificity", "pairs", ["dataset_id", "specificity", "id"])
    _index("ix_pairs_random_key", "pairs", ["dataset_id", "random_key", "id"])
    _index("ix_pairs_p_error_odd", "pairs", ["dataset_id", sa.text("p_error_odd DESC"), "id"])
    _index(
        "ix_pairs_suspect_word_odd",
        "pairs",
        ["dataset_id", "suspect_word", sa.text("p_error_odd DESC"), "id"],
    )
    _index(
        "ix_pairs_suspect_kind_odd",
        "pairs",
        ["dataset_id", "suspect_kind", sa.text("p_error_odd DESC"), "id"],
    )
    _index(
        "ix_pairs_split_odd", "pairs", ["dataset_id", "split", sa.text("p_error_odd DESC"), "id"]
    )
    _index(
        "ix_pairs_unreviewed_odd",
        "pairs",
        ["dataset_id", sa.text("p_error_odd DESC"), "id"],
        "decision IS NULL",
    )
    _index(
        "ix_pairs_decided_odd",
        "pairs",
        ["dataset_id", "decision", sa.text("p_error_odd DESC"), "id"],
        "decision IS NOT NULL",
    )
    _index("ix_verdicts_author", "verdicts", ["author", "id"])
    _index("ix_verdicts_suggestion_id", "verdicts", ["suggestion_id"])
    _index("ix_pair_tags_pair_id", "pair_tags", ["pair_id"])
    _index("ix_second_opinions_run", "second_opinions", ["run_id", "pair_id"])
    _index("ix_api_keys_curator_id", "api_keys", ["curator_id"])
    _index("ix_pairs_picture", "pairs", ["dataset_id", sa.text("substr(image_path, 1, 400)"), "id"])
    _index("ix_pairs_caption", "pairs", ["dataset_id", sa.text("substr(caption, 1, 80)"), "id"])
    _index("ix_pairs_position", "pairs", ["dataset_id", "id"])
    _index("ix_pairs_noted", "pairs", ["dataset_id", "id"], "note != ''")
    _index("ix_pairs_hidden", "pairs", ["dataset_id", "id"], "hidden")


def _index(
    name: str, table: str, columns: list[Any], where: str | None = None, unique: bool = False
) -> None:
    only = None if where is None else sa.text(where)
    op.create_index(
        op.f(name), table, columns, unique=unique, sqlite_where=only, postgresql_where=only
    )


def _make_verdicts_append_only() -> None:
    """Have the database itself refuse to change a verdict, whichever program requests it."""
    if op.get_bind().dialect.name == "sqlite":
        op.execute(
            "CREATE TRIGGER verdicts_append_only BEFORE UPDATE ON verdicts "
            "BEGIN SELECT RAISE(ABORT, 'verdicts are append-only'); END"
        )
        return
    op.execute(
        "CREATE FUNCTION verdicts_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'verdicts are append-only'; END $$"
    )
    op.execute(
        "CREATE TRIGGER verdicts_append_only BEFORE UPDATE ON verdicts "
        "FOR EACH ROW EXECUTE FUNCTION verdicts_append_only()"
    )


def downgrade() -> None:
    raise NotImplementedError("There is nothing before this schema.")
