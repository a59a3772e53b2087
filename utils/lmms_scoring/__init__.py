"""Pure scoring rules for SLAKE, MedXpertQA and VLMs Are Biased."""
