"""MedXpertQA by its authors' protocol of two turns."""
