"""Controls: the benchmarks' questions without their pictures."""
