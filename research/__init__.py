"""Research beside the product: drawn worlds, training, evaluation, benchmarks (README.md)."""
