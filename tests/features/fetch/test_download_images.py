"""Tables of addresses become datasets, against servers of this machine."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backend.datasets.reading.dataset_reader import read_dataset
from backend.datasets.safe_files.fetching import Fetcher, Limits
from backend.errors import DatasetFormatError, SettingsError
from backend.features.fetch.download_images import download
from tests.datasets.folders import encoded, json_lines, write
from tests.datasets.safe_files.test_fetching import INSIDE, NONSENSE, http, pages, raw_server, sends
from tests.datasets.safe_files.test_images import EPS
from tests.fixtures.interrupting import Hanging


def a_table(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "table.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def failures(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "failures.jsonl").read_text().splitlines()]


def test_invalid_addresses_cost_only_their_rows(tmp_path: Path) -> None:
    with raw_server(sends(http(encoded()))) as (address, requests):
        odd = [7, [address], {"a": 1}, None]
        urls: list[Any] = [f"{address}/ä.png", *NONSENSE, *odd, f"{address}/b.png"]
        rows = [{"url": url, "caption": f"number {n}"} for n, url in enumerate(urls)]
        report = download(a_table(tmp_path, rows), tmp_path / "out", replace(INSIDE, seconds=30))
    assert (report.rows, report.written) == (len(urls), 2)
    captions = [pair.caption for pair in read_dataset(tmp_path / "out")]
    assert captions == ["number 0", f"number {len(urls) - 1}"]
    assert sorted(requests) == ["/%C3%A4.png", "/b.png"]


@pytest.mark.parametrize(
    ("body", "limits", "message"),
    [
        (EPS, INSIDE, "not an image"), (b"<html>", INSIDE, "not an image"),
        (encoded()[:45], INSIDE, "broken"),
        (encoded(), replace(INSIDE, pixels=50), "more than 50 pixels"),
    ],
)  # fmt: skip
def test_fetched_content_is_opened_as_an_untrusted_image(
    tmp_path: Path, body: bytes, limits: Limits, message: str
) -> None:
    with raw_server(sends(http(body))) as (address, _):
        table = a_table(tmp_path, [{"url": address, "caption": "x"}])
        assert download(table, tmp_path / "out", limits).failed == 1
    assert message in failures(tmp_path / "out")[0]["reason"]


def addresses(folder: Path, server: str, rows: int = 6) -> Path:
    """A table of which every first, third and fifth row of six leads to an image."""
    paths = ["/image", "/text", "/moved/image", "/none", "/image", ""]
    urls = [server + paths[n % 6] if paths[n % 6] else None for n in range(rows)]
    return a_table(
        folder,
        [{"URL": url, "TEXT": f"caption {n}", "similarity": 0.3} for n, url in enumerate(urls)],
    )


def test_a_table_of_addresses_becomes_a_dataset(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with raw_server(pages) as (server, _):
        report = download(addresses(tmp_path, server), out, INSIDE)
    assert (report.rows, report.written, report.failed) == (6, 3, 3)
    pairs = list(read_dataset(out))
    assert [pair.caption for pair in pairs] == ["caption 0", "caption 2", "caption 4"]
    assert pairs[0].extra["similarity"] == 0.3
    assert {failed["row"] for failed in failures(out)} == {2, 4, 6}
    assert all(failed["reason"] for failed in failures(out))


def test_a_download_resumes_where_it_stopped(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with raw_server(pages) as (server, requests):
        table = addresses(tmp_path, server, 12)
        download(table, out, INSIDE, at_most=5)
        with (out / "metadata.jsonl").open("ab") as file:
            file.write(b'{"row": 7, "file_na')  # killed in the middle of a line
        before = len(requests)
        report = download(table, out, INSIDE)
        assert (report.already_there, report.rows) == (5, 12)
        assert report.written + report.failed == 7
        assert len(requests) > before
        assert len(list(read_dataset(out))) == 6
        again = len(requests)
        assert download(table, out, INSIDE).already_there == 12
        assert len(requests) == again, "nothing is fetched twice"
        (out / "failures.jsonl").unlink()
        report = download(table, out, INSIDE)
        assert (report.already_there, report.written) == (6, 0), "but failed rows, if one says so"
        assert len(requests) > again


def test_a_folder_with_other_content_is_left_untouched(tmp_path: Path) -> None:
    table = addresses(tmp_path, "http://127.0.0.1:1", 0)
    mine = write(tmp_path / "mine" / "file", "mine")
    with pytest.raises(SettingsError, match="other files"):
        download(table, mine.parent, INSIDE)
    download(table, tmp_path / "out", INSIDE)
    other = write(tmp_path / "other.jsonl", json_lines([{"address": "x", "TEXT": "y"}]))
    with pytest.raises(SettingsError, match="another table"):
        download(other, tmp_path / "out", INSIDE)
    with pytest.raises(DatasetFormatError, match="is a folder"):
        download(tmp_path, tmp_path / "new", INSIDE)
    with pytest.raises(DatasetFormatError, match="with the address"):
        download(other, tmp_path / "new", INSIDE)


def test_an_error_of_any_type_costs_only_its_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Fetcher.fetch

    def broken(self: Fetcher, url: str) -> bytes:
        if url.endswith("/bad"):
            raise TypeError("an unforeseen error")
        return plain(self, url)

    monkeypatch.setattr(Fetcher, "fetch", broken)
    with raw_server(sends(http(encoded()))) as (address, _):
        rows = [{"url": f"{address}/{name}", "caption": "x"} for name in ("bad", "good")]
        report = download(a_table(tmp_path, rows), tmp_path / "out", INSIDE)
    assert (report.written, report.failed) == (1, 1)
    assert "TypeError" in failures(tmp_path / "out")[0]["reason"]


def test_a_disk_that_cannot_be_written_ends_the_run(tmp_path: Path) -> None:
    with raw_server(sends(http(encoded()))) as (address, _):
        table = a_table(tmp_path, [{"url": address, "caption": "x"}])
        download(table, tmp_path / "out", INSIDE, at_most=0)
        write(tmp_path / "out" / "images", "no folder")
        with pytest.raises(OSError, match="images"):
            download(table, tmp_path / "out", INSIDE)


def test_ctrl_c_ends_a_download_at_once(tmp_path: Path, hanging: Hanging) -> None:
    with raw_server(hanging) as (address, _):  # every server is silent
        rows = [{"url": f"{address}/{n}", "caption": "x"} for n in range(50)]
        with pytest.raises(KeyboardInterrupt):
            download(a_table(tmp_path, rows), tmp_path / "out", INSIDE)
    assert not hanging.is_done


def test_columns_of_the_source_do_not_shadow_ours(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with raw_server(sends(http(encoded()))) as (address, _):
        shadows = {"file_name": "/etc/hostname", "reason": "theirs", "row": 99, "similarity": 0.5}
        urls = [f"{address}/0", f"{address}/1", "nowhere"]
        table = a_table(tmp_path, [{"url": url, "caption": "c", **shadows} for url in urls])
        report, again = download(table, out, INSIDE), download(table, out, INSIDE)
    assert (report.written, report.failed, again.already_there) == (2, 1, 3)
    lines = [json.loads(line) for line in (out / "metadata.jsonl").read_text().splitlines()]
    assert [line["row"] for line in lines] == [1, 2]
    assert all((out / line["file_name"]).is_file() for line in lines)
    assert lines[0]["source_file_name"] == "/etc/hostname"
    assert (lines[0]["source_reason"], lines[0]["source_row"]) == ("theirs", 99)
    assert lines[0]["similarity"] == 0.5
    (failed,) = failures(out)
    assert failed["reason"] != "theirs"
