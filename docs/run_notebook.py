"""Run the code of a notebook and keep what it shows: ``python docs/run_notebook.py docs/notebooks/NAME.ipynb``.

The tests run every notebook in the same way and compare the texts.
"""

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any


def outputs_of(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a cell in a namespace and return its outputs, in the format of notebooks."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    found: list[dict[str, Any]] = []
    if text := printed.getvalue():
        found.append({"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        found.append({"output_type": "execute_result", "metadata": {}, "data": data, "execution_count": None})
    return found


def run(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Return the outputs of each code cell, run in order in one namespace."""
    names: dict[str, Any] = {}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [outputs_of("".join(cell["source"]), names) for cell in cells]


def main(path: Path) -> None:
    """Write the outputs into the notebook."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, outputs) in enumerate(zip(cells, run(notebook), strict=True), 1):
        cell["execution_count"] = number
        cell["outputs"] = [
            {**output, "execution_count": number} if "execution_count" in output else output for output in outputs
        ]
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
