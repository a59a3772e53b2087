"""Comparison of the official rules with the installed reference scorers."""
