"""The earlier address of `traced_curator.open_dataset`."""

from traced_curator import open_dataset as open_dataset
