"""Reproduce papers: run their experiments, judge their claims, draw their figures. The papers are other packages."""
