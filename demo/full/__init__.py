"""`make demo-full`: agents, Collectors, detector and backends, each a real program."""
