"""SLAKE with a judge's second look at what the rule marks wrong."""
