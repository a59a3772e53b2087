"""Reports, comparisons and leaderboard lines from the output of lmms-eval."""
