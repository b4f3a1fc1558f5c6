"""Figures as PNG, SVG and PDF files, drawn by Matplotlib."""
