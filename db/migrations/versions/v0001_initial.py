"""The first schema.

Written out in full and never changed: migrations of released databases must stay the same.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "datasets",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("root", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
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
    op.create_index(op.f("ix_classifiers_dataset_id"), "classifiers", ["dataset_id"], unique=False)
    op.create_index(
        "uq_classifiers_active",
        "classifiers",
        ["dataset_id"],
        unique=True,
        sqlite_where=sa.text("active"),
        postgresql_where=sa.text("active"),
    )
    op.create_table(
        "import_problems",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("row", sa.Integer(), nullable=True),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("external_id", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["datasets.id"], name=op.f("fk_import_problems_dataset_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_import_problems")),
    )
    op.create_index(
        op.f("ix_import_problems_dataset_id"), "import_problems", ["dataset_id"], unique=False
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=True),
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
    op.create_index(op.f("ix_jobs_dataset_id"), "jobs", ["dataset_id"], unique=False)
    op.create_index(op.f("ix_jobs_status"), "jobs", ["status"], unique=False)
    op.create_table(
        "pairs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=False),
        sa.Column("external_id", sa.String(length=600), nullable=False),
        sa.Column("image_path", sa.Text(), nullable=False),
        sa.Column("caption", sa.Text(), nullable=False),
        sa.Column("split", sa.String(length=255), nullable=True),
        sa.Column("source_file", sa.Text(), server_default="", nullable=False),
        sa.Column("source_row", sa.Integer(), nullable=True),
        sa.Column("extra", sa.JSON(), server_default="{}", nullable=False),
        sa.Column("words_read", sa.Integer(), nullable=True),
        sa.Column("s_0", sa.Double(), nullable=True),
        sa.Column("gain", sa.Double(), nullable=True),
        sa.Column("p_error", sa.Double(), nullable=True),
        sa.Column("icc", sa.Double(), nullable=True),
        sa.Column("truncated", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("verdict_version", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("standing_version", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("decision", sa.String(length=16), nullable=True),
        sa.Column("corrected_caption", sa.Text(), nullable=True),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("decided_by", sa.String(length=255), nullable=True),
        sa.CheckConstraint(
            "(decision = 'correction') = (corrected_caption IS NOT NULL)",
            name=op.f("ck_pairs_correction_has_caption"),
        ),
        sa.CheckConstraint(
            "decision IN ('correct', 'correction', 'drop', 'abstract', 'unsure')",
            name=op.f("ck_pairs_decision_is_known"),
        ),
        sa.ForeignKeyConstraint(["dataset_id"], ["datasets.id"], name=op.f("fk_pairs_dataset_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pairs")),
        sa.UniqueConstraint(
            "dataset_id", "external_id", name=op.f("uq_pairs_dataset_id_external_id")
        ),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_pairs_decided",
        "pairs",
        ["dataset_id", "decision", sa.text("p_error DESC"), "id"],
        unique=False,
        sqlite_where=sa.text("decision IS NOT NULL"),
        postgresql_where=sa.text("decision IS NOT NULL"),
    )
    op.create_index(
        "ix_pairs_gain", "pairs", ["dataset_id", sa.text("gain DESC"), "id"], unique=False
    )
    op.create_index("ix_pairs_icc", "pairs", ["dataset_id", "icc", "id"], unique=False)
    op.create_index(
        "ix_pairs_p_error", "pairs", ["dataset_id", sa.text("p_error DESC"), "id"], unique=False
    )
    op.create_index("ix_pairs_position", "pairs", ["dataset_id", "id"], unique=False)
    op.create_index("ix_pairs_s_0", "pairs", ["dataset_id", "s_0", "id"], unique=False)
    op.create_index(
        "ix_pairs_split",
        "pairs",
        ["dataset_id", "split", sa.text("p_error DESC"), "id"],
        unique=False,
    )
    op.create_index(
        "ix_pairs_unreviewed",
        "pairs",
        ["dataset_id", sa.text("p_error DESC"), "id"],
        unique=False,
        sqlite_where=sa.text("decision IS NULL"),
        postgresql_where=sa.text("decision IS NULL"),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=True),
        sa.Column("scorer_kind", sa.String(length=64), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("revision", sa.String(length=255), nullable=False),
        sa.Column("explorer", sa.String(length=64), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("code_version", sa.String(length=64), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.CheckConstraint(
            "status IN ('running', 'done', 'failed')", name=op.f("ck_runs_status_is_known")
        ),
        sa.ForeignKeyConstraint(["dataset_id"], ["datasets.id"], name=op.f("fk_runs_dataset_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    op.create_index(op.f("ix_runs_dataset_id"), "runs", ["dataset_id"], unique=False)
    op.create_table(
        "detections",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=True),
        sa.Column("classifier_id", sa.Integer(), nullable=True),
        sa.Column("p_error", sa.Double(), nullable=True),
        sa.Column("suspects", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["classifier_id"], ["classifiers.id"], name=op.f("fk_detections_classifier_id")
        ),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_detections_pair_id")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_detections_run_id")),
        sa.PrimaryKeyConstraint("pair_id", name=op.f("pk_detections")),
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
        sa.Column("p_before", sa.Double(), nullable=True),
        sa.Column("p_after", sa.Double(), nullable=True),
        sa.Column("run_id", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
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
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_trajectories_pair_id")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_trajectories_run_id")),
        sa.PrimaryKeyConstraint("pair_id", "run_id", name=op.f("pk_trajectories")),
    )
    op.create_index("ix_trajectories_run", "trajectories", ["run_id", "pair_id"], unique=False)
    op.create_table(
        "verdicts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("decision", sa.String(length=16), nullable=True),
        sa.Column("corrected_caption", sa.Text(), nullable=True),
        sa.Column("suggestion_id", sa.Integer(), nullable=True),
        sa.Column("author", sa.String(length=255), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("replaces", sa.Integer(), nullable=False),
        sa.Column("stands", sa.Integer(), nullable=False),
        sa.Column("undoes", sa.Integer(), nullable=True),
        sa.Column("redoes", sa.Integer(), nullable=True),
        sa.CheckConstraint(
            "(decision = 'correction') = (corrected_caption IS NOT NULL)",
            name=op.f("ck_verdicts_correction_has_caption"),
        ),
        sa.CheckConstraint(
            "decision IN ('correct', 'correction', 'drop', 'abstract', 'unsure')",
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
    op.create_index("ix_verdicts_author", "verdicts", ["author", "id"], unique=False)
    op.create_index(op.f("ix_verdicts_suggestion_id"), "verdicts", ["suggestion_id"], unique=False)
    _make_verdicts_append_only()


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
    raise NotImplementedError("There is nothing before the first schema.")
