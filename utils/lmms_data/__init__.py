"""Access to the data of the benchmarks: where it comes from, getting it, reading it, checking it."""
