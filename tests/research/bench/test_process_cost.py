"""Programs under measurement in a new interpreter."""

import pytest

from research.bench.process_cost import cost_of

_PROGRAM = """
def run():
    import json, os
    held = b"x" * 2**26
    print(json.dumps([sys.argv[1:], os.environ["TRACED_DATA_DIRECTORY"]]))
"""


def test_a_program_s_answer_and_cost_are_reported(tmp_path: object) -> None:
    cost = cost_of(_PROGRAM, ["3", "maps"], str(tmp_path))
    assert cost.answer == [["3", "maps"], str(tmp_path)]
    assert cost.processor_seconds > 0
    assert cost.peak_mebibytes > 64


def test_a_failing_program_raises_an_error(tmp_path: object) -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        cost_of("def run():\n    1 / 0", [], str(tmp_path))
