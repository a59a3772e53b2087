"""MedXpertQA: expert medical multiple choice."""
