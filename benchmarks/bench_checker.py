"""Seconds of the checkers: a release in Python and in Chromium, and a written certificate of 100,000 profiles.

python benchmarks/bench_checker.py release    # a folder with published/ and auditors/, e.g. of `safemargin demo`
python benchmarks/bench_checker.py            # 100,000 profiles and 10 witnesses
"""

import hashlib
import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from safemargin import checker

SIDE, WITNESSES, HALF = 316, 10, 50


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def large() -> tuple[checker.Files, checker.Files]:
    """Two axes of 316 categories, 100 people of every combination; witnesses differ by a checkerboard."""
    people, data, tables, files, shown = SIDE * SIDE * 2 * HALF, dict[str, Any](), list[Any](), checker.Files(), ""
    for name, labels in (("total", []), ("r", [f"r{i}" for i in range(SIDE)]), ("c", [f"c{i}" for i in range(SIDE)])):
        axes, count = ([name], SIDE * HALF) if labels else ([], people // 2)
        heads = [*axes, "option", "count", "status"]
        rows = [[*key, o, count, "exact"] for key in ([[x] for x in labels] or [[]]) for o in ("no", "yes")]
        files[f"{name}.csv"] = "".join(",".join(map(str, row)) + "\n" for row in [heads, *rows]).encode()
        groups = [{label: [label] for label in labels}] if labels else []
        marks = {f"{name}.csv": sha(files[f"{name}.csv"])}
        tables.append({"name": name, "axes": axes, "groups": groups, "files": marks})
        data[name] = rows
        cells = [heads, *([*row[:-2], f"{row[-2]:,}", row[-1]] for row in rows)]
        body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in cells)
        shown += f"<table>{body}</table>"
    files[checker.PAGE] = f'{shown}<script id="tables">{json.dumps(data)}</script>'.encode()
    signs = [(-1) ** (i + j) for i in range(SIDE) for j in range(SIDE)]
    witnesses = [[HALF + side * step * n for n in signs for side in (1, -1)] for step in range(WITNESSES)]
    question = {"question": "", "roll": checker.ROLL, "tables": witnesses, "moves": [], "fixed": []}
    roll = "r,c,people\n" + "".join(f"r{i},c{j},{2 * HALF}\n" for i in range(SIDE) for j in range(SIDE))
    held = {
        checker.ROLL: roll.encode(),
        checker.WITNESSES: json.dumps({"schema": 2, "questions": [question]}).encode(),
    }
    listed = {name: sha(content) for name, content in held.items()}
    stated = {"schema": 2, "kind": "auditors", "salt": sha(b"salt"), "files": listed}
    held[checker.MANIFEST] = json.dumps(stated).encode()
    secrets = [{"options": [option], "share": "1/2", "ceiling": "19/20"} for option in ("no", "yes")]
    asked = {"question": "", "options": ["no", "yes"], "people": people, "secrets": secrets, "least": {}}
    limits = {"kappa": 30, "tau": 3, "sensitive": {}}
    certificate: dict[str, Any] = {
        "schema": 2, "kind": "release", "title": "T", "auditors": sha(held[checker.MANIFEST]), "slack": 0,
        "unproved": 0, "noise": [], "target": {"beta": "1/20", **limits}, "questions": [asked], "tables": tables,
        "onlookers": [{"name": "x", "roll": "joint", "facts": False, "earlier": False}],
        "checked": [["r", "c"], ["r"], ["c"]], "rule": {"label": "not shown"},
        "earlier": {"cycles": [], "held": "not", "net": False},
    }  # fmt: skip
    certificate["statement"] = checker.statement(certificate)
    files[checker.CERTIFICATE] = json.dumps(certificate).encode()
    same = {key: certificate[key] for key in ("schema", "kind", "title", "statement", "auditors")}
    hashes = {name: sha(content) for name, content in files.items()}
    manifest = {**same, "rule": "not shown", "target": {"beta": 0.05, **limits}, "files": hashes}
    files[checker.MANIFEST] = json.dumps(manifest).encode()
    return files, held


def in_python(name: str, files: checker.Files, auditors: checker.Files) -> None:
    start, used = time.perf_counter(), time.process_time()
    result = checker.check(files, auditors)
    taken = f"{time.process_time() - used:.1f} CPU s, {time.perf_counter() - start:.1f} s"
    print(f"{name}: {result.outcome}, {result.cells:,} counts, {taken} {result.failures}", flush=True)


def in_browser(release: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium") or "", args=["--no-sandbox"])
        page = browser.new_page()
        page.goto((release / "published/index.html").resolve().as_uri())
        for kind in ("published", "auditors"):
            page.set_input_files(f"fieldset[data-kind={kind}] input", str(release / kind))
            page.wait_for_selector(f"fieldset[data-kind={kind}].given")
        start = time.perf_counter()
        page.click("form.check button")
        page.wait_for_selector("form.check .card", timeout=300_000)
        said = page.inner_text("form.check .card").splitlines()[0]
        print(f"Chromium: {said} {time.perf_counter() - start:.1f} s")
        browser.close()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1])
        in_python("Python", *(checker.read_folder(str(folder / part)) for part in ("published", "auditors")))
        in_browser(folder)
    else:
        in_python(f"{SIDE * SIDE:,} profiles, {WITNESSES} witnesses", *large())
