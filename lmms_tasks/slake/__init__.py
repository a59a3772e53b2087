"""SLAKE: bilingual radiology questions."""
