"""The judge: a language model that compares a reply with the reference, over any OpenAI-compatible endpoint."""
