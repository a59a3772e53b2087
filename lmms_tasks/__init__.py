"""SLAKE, MedXpertQA and VLMs Are Biased as tasks for lmms-eval."""

__version__ = "0.1.0"
