"""VLMs Are Biased: counting on counterfactual images."""
