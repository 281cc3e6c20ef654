# SPDX-License-Identifier: Apache-2.0
"""The notebook of the evaluation runs from top to bottom; its own assertions hold."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).resolve().parents[1] / "examples" / "evaluation.ipynb"


@pytest.mark.jit
@pytest.mark.filterwarnings("default")  # the kernel's own libraries may warn; what the cells do is checked by them
def test_notebook_runs(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    assert all(output.output_type != "error" for cell in code for output in cell.outputs)
