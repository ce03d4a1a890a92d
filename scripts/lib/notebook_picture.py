"""The picture of a notebook: JupyterLab runs two cells in Chromium. It needs `pip install jupyterlab`."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

CELLS = (
    "%load_ext ptexplore\nimport torch\n\nx = torch.arange(6.0).reshape(2, 3)",
    "%ptexplore x.t().contiguous()",
)
SIZE = {"width": 940, "height": 580}
SHOWN = {"x": 33, "y": 88, "width": 875, "height": 466}  # the cells, without the bars around them
PATIENCE = 120_000  # milliseconds


def picture_of_a_notebook(folder: Path, file: Path) -> None:
    """Write the picture. `folder` is empty, and keeps the settings of this JupyterLab."""
    from playwright.sync_api import sync_playwright

    cells = [
        {"cell_type": "code", "id": f"c{at}", "metadata": {}, "source": text, "outputs": [], "execution_count": None}
        for at, text in enumerate(CELLS)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (folder / "views.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    settings = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    own = {name: str(folder / name.lower()) for name in settings}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}",
        "--ServerApp.token=picture", "--LabApp.news_url=", f"--ServerApp.root_dir={folder}",
    ]  # fmt: skip
    with (folder / "log").open("w", encoding="utf-8") as log:
        server = subprocess.Popen(command, env=os.environ | own, stdout=log, stderr=log)
    try:
        _wait_for(f"http://127.0.0.1:{port}/api")
        with sync_playwright() as playwright:
            programs = map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))
            program = next(filter(None, programs), None)
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            page = browser.new_page(viewport=SIZE)
            page.goto(f"http://127.0.0.1:{port}/doc/tree/views.ipynb?token=picture", timeout=PATIENCE)
            page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=PATIENCE)
            page.locator(".jp-Notebook .jp-Cell").first.click(timeout=PATIENCE)
            page.locator(".lm-MenuBar-itemLabel", has_text="Run").first.click()
            page.click("text=Run All Cells")
            page.wait_for_selector(".jp-OutputArea details", timeout=PATIENCE)
            page.wait_for_timeout(2000)  # until nothing moves
            page.add_style_tag(content=".Toastify { display: none }")  # JupyterLab's question about its news
            page.screenshot(path=file, clip=SHOWN)
            browser.close()
    finally:
        server.terminate()
        server.wait()


def _wait_for(address: str) -> None:
    for _ in range(60):
        try:
            urlopen(address, timeout=2).close()
            return
        except OSError:
            time.sleep(1)
    raise TimeoutError(f"no answer at {address}")
