"""The attacks, and the tests that carry them out."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Attack:
    """`tests`: folders or files below tests/, or single tests in them after '::'."""

    tried: str
    tests: tuple[str, ...]


ATTACKS = (
    Attack("images that are FIFOs, sockets, devices, bombs, EPS, cut files",
           ("datasets/test_untrusted_images.py", "datasets/test_images.py")),
    Attack("the malformed pictures of Pillow's own tests", ("datasets/test_pillow_images.py",)),
    Attack("uploads to the playground that are no pictures", ("traced_ui/test_playground.py",)),
    Attack("rows, names, tables and bytes drawn at random", ("datasets/test_any_input.py",)),
    Attack("tars, zips and Parquet that escape or explode",
           ("datasets/test_bombs.py", "datasets/test_shards.py")),
    Attack("Arrow and Parquet with damaged footers and offsets, or that unpack without end",
           ("datasets/test_forms.py", "datasets/test_parquet_footer.py")),
    Attack("malformed rows, links out of the folder, what is no dataset",
           ("datasets/test_reading.py",)),
    Attack("uploads of datasets that leave their folder or fill the disk",
           ("datasets/test_uploads.py",)),
    Attack("transfers: files of other jobs, archives that are none",
           ("traced_ui/test_transfers.py",)),
    Attack("servers, disks and models that hang when Ctrl-C is pressed",
           ("datasets/test_daemon_pool.py", "jobs/test_image_batches.py",
            "jobs/test_correct_queue.py::test_ctrl_c_waits_for_no_answer")),
    Attack("addresses and servers of a download: nonsense, drips, redirects, inner networks",
           ("datasets/test_fetching.py", "datasets/test_fetching_hostile.py")),
    Attack("language model servers that redirect, refuse or send web pages",
           ("engine/language_models/test_endpoint_hostile.py",
            "engine/language_models/test_endpoint.py")),
    Attack("answers of a language model in every form but the right one",
           ("engine/correction/test_answers.py",
            "engine/correction/test_language_model_suggestions.py")),
    Attack("captions that give a language model orders", ("engine/correction/test_prompting.py",)),
    Attack("models with code of their own, or whose parts do not fit",
           ("engine/test_hub.py",)),
    Attack("classifiers that were stored",
           ("engine/detection/test_classifier.py::test_a_stored_classifier_predicts_the_same",)),
    Attack("pictures and captions sent without being asked for",
           ("jobs/test_correct_queue.py::test_a_dry_run_shows_all_and_sends_nothing",)),
    Attack("a rule that passes for a person",
           ("jobs/test_correct_queue.py::test_only_a_rule_accepts_and_it_is_no_person",)),
    Attack("damaged weights, pickles, too little memory", ("engine/test_damaged_models.py",)),
    Attack("NUL and half characters in searches and corrections",
           ("db/test_unstorable_searches.py",)),
    Attack("SQL in searches",
           ("db/test_queue.py::test_a_search_finds_what_holds_the_text_and_nothing_else",)),
    Attack("folders with links, pipes and files of others that an export is to replace",
           ("datasets/test_writing.py",)),
    Attack("exports over another dataset's images", ("jobs/test_export_dataset.py",)),
    Attack("imports that fail, end in the middle, or hold nothing but bad rows",
           ("jobs/test_import_dataset.py",)),
    Attack("formulas in exported tables",
           ("datasets/test_shards.py::test_formulas_are_escaped_and_restored",)),
    Attack("HTML and script in captions and names",
           ("traced_ui/test_parts.py", "traced_ui/test_templates.py", "jobs/test_bags_sheet.py")),
    Attack("routes that do not exist, paths through the server", ("traced_ui/test_server.py",)),
    Attack("calls without a login, guessed passwords, foreign tokens",
           ("traced_ui/test_login.py",)),
    Attack("programs without a login",
           ("traced_ui/test_api.py::test_a_program_logs_in_like_people",)),
    Attack("passwords, names and devices of accounts", ("accounts",)),
    Attack("a server for everybody without accounts",
           ("cli/test_command_line.py::test_errors_are_reported_and_have_a_status",)),
    Attack("verdicts for pairs that nobody has seen", ("traced_ui/test_read_ahead.py",)),
    Attack("sessions without end", ("traced_ui/test_sessions.py",)),
    Attack("rows made to stop an import, over all readers, on both databases",
           ("datasets/test_hostile_rows.py",)),
    Attack("text tables that swallow rows, bombs in zips and row groups",
           ("datasets/test_text_tables.py",)),
    Attack("foreign host names and other pages' requests", ("traced_ui/test_hosts.py",)),
    Attack("paths out of the folders that a team may use", ("traced_ui/test_folders.py",)),
    Attack("guesses in parallel, neighbours' cookies", ("traced_ui/test_guessing.py",)),
    Attack("arguments of the named endpoints that are none", ("traced_ui/test_arguments.py",)),
    Attack("a server stopped with jobs and clients, a port in use", ("traced_ui/test_serving.py",)),
    Attack("jobs interrupted again and again", ("jobs/test_interrupted_jobs.py",)),
    Attack("a cold start killed between its copies", ("jobs/test_noisy_copies.py",)),
    Attack("a password in the process list, damaged databases", ("db/test_backup.py",)),
    Attack("addresses of databases that are none",
           ("db/test_session.py::test_a_url_that_cannot_work_is_refused",
            "db/test_session.py::"
            "test_a_server_that_is_not_there_is_reported_without_the_password")),
    Attack("ids and versions that no column can hold",
           ("db/test_session.py::test_an_id_that_no_column_can_hold_is_a_missing_row",)),
    Attack("full and read-only disks", ("faults/test_disk.py",)),
    Attack("the images of a scored dataset gone or changed", ("faults/test_images_gone.py",)),
)  # fmt: skip
