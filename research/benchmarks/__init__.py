"""Published benchmarks of wrong captions, read from their own files (`evaluate --benchmark`).

Nothing is downloaded. One module a benchmark, which ends with a `Benchmark`; `benchmark_registry`
lists them.
"""
