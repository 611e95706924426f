"""Every benchmark by its name. One more is one module, and its name here."""

from collections.abc import Mapping

from backend.errors import SettingsError
from research.benchmarks.aro import ARO
from research.benchmarks.benchmark import Benchmark
from research.benchmarks.detailverifybench import DETAILVERIFYBENCH
from research.benchmarks.foil import FOIL
from research.benchmarks.hat import HAT, NOCAPS_FOIL
from research.benchmarks.mhaldetect import MHALDETECT
from research.benchmarks.seetrue import SEETRUE
from research.benchmarks.sugarcrepe import SUGARCREPE, SUGARCREPE_PLUS
from research.benchmarks.winoground import WINOGROUND

BENCHMARKS: Mapping[str, Benchmark] = {
    benchmark.name: benchmark
    for benchmark in (
        FOIL, SUGARCREPE, SUGARCREPE_PLUS, WINOGROUND, ARO, HAT, NOCAPS_FOIL, MHALDETECT,
        DETAILVERIFYBENCH, SEETRUE,
    )
}  # fmt: skip


def benchmark_named(name: str) -> Benchmark:
    """Raises SettingsError, which lists the names."""
    if name not in BENCHMARKS:
        raise SettingsError(f"There is no benchmark '{name}'; use one of: {', '.join(BENCHMARKS)}.")
    return BENCHMARKS[name]
