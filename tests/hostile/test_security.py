"""SECURITY.md names tests that exist."""

import pytest

from tests.hostile.security import ROOT, Threat, threats


@pytest.mark.parametrize("threat", threats(), ids=lambda threat: threat.name[:30])
def test_the_tests_of_a_threat_exist(threat: Threat) -> None:
    assert threat.tests
    for test in threat.tests:
        path, _, name = test.partition("::")
        assert (ROOT / path).exists()
        assert not name or f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")
