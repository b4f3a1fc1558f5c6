"""The papers that VineSim is built on: a package each, with its studies, claims and figures."""
