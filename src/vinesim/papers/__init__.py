"""The papers: one folder each, with its studies, figures and claims."""
