"""What the documentation shows is run, and what it links to is there."""

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from safemargin import cli

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
RUN = [page for page in PAGES if page.parent != ROOT or page.name == "README.md"]
DATA = ROOT / "examples" / "data"
"""A folder per page that needs files, named like the page."""

FENCE = re.compile(
    r'^(?P<indent> *)```(?P<language>\w*)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^(?P=indent)```$',
    re.DOTALL | re.MULTILINE,
)
LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)\)")
COMMAND = "$ safemargin"
SHELL = set("|&;<>$*?~`(){}[]")
"""Characters by which a command needs a shell."""
WIDTH = "120"
EXIT = re.compile(r"# exit (\d+)$")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page; one with a title shows the file of that name, or its beginning."""

    language: str
    text: str
    line: int
    title: str | None = None


@dataclass(frozen=True)
class Step:
    """A command of a console block and the lines shown below it."""

    command: str
    shown: tuple[str, ...]

    @property
    def code(self) -> int:
        """The exit code it must have: what a trailing `# exit 1` says, else 0."""
        found = EXIT.search(self.command)
        return int(found[1]) if found else 0


def blocks(page: str) -> list[Block]:
    return [
        Block(found["language"], found["text"], page.count("\n", 0, found.start()) + 2, found["title"])
        for found in FENCE.finditer(page)
    ]


def steps(text: str) -> list[Step]:
    """The commands of a console block; a line that ends in a backslash goes on in the next."""
    found: list[Step] = []
    for line in text.replace("\\\n", "").splitlines():
        if line.startswith("$ "):
            found.append(Step(line, ()))
        elif found:
            found[-1] = Step(found[-1].command, (*found[-1].shown, line))
    return [step for step in found if step.command.startswith(COMMAND)]


def appears(shown: tuple[str, ...], output: str) -> bool:
    """Whether the shown lines stand in the output, one below the other; `...` is any text, or any lines."""
    pattern = ""
    for line in shown:
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        elif line.strip():
            pattern += r"\s*" + r".*".join(re.escape(part) for part in line.strip().split("...")) + r" *\n"
    return re.search("^" + pattern, output + "\n", re.MULTILINE) is not None


def has_words(printed: str, shown: str) -> bool:
    """Whether words stand in what was printed, however the lines are broken; `...` is any text."""
    pattern = ".*?".join(re.escape(" ".join(part.split())) for part in shown.split("..."))
    return re.search(pattern, " ".join(printed.split())) is not None


def shows(block: Block, file: Path) -> bool:
    """Whether a block is the text of a file, or its first lines if it ends in `...`."""
    text = file.read_text(encoding="utf-8")
    return text.startswith(block.text[: -len("...\n")]) if block.text.endswith("\n...\n") else text == block.text


def run_console(text: str, folder: Path) -> None:
    for step in steps(text):
        command = step.command.removeprefix("$ ")
        code, output = run_in_shell(command, folder) if SHELL & set(command) else run_here(command)
        assert code == step.code, f"{command}\nexits with {code}:\n{output}"
        assert appears(step.shown, output), f"{command}\nprints:\n{output}\nnot:\n{chr(10).join(step.shown)}"


def run_here(command: str) -> tuple[int, str]:
    """Run a plain command in this process, which saves the start of a new one."""
    output = io.StringIO()
    arguments = shlex.split(command, comments=True)
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(output), redirect_stderr(output):
        patch.setenv("COLUMNS", WIDTH)
        patch.setattr(sys, "argv", arguments)
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return code, output.getvalue()


def run_in_shell(command: str, folder: Path) -> tuple[int, str]:
    """Run a command with pipes and the like, as it is installed."""
    installed = Path(sys.executable).parent
    assert (installed / "safemargin").exists(), "install the project first: pip install -e '.[dev]'"
    path = f"{installed}:{os.environ['PATH']}"
    run = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": WIDTH},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return run.returncode, run.stdout


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks run in order, in one folder with the files of the page, and Python blocks share their names.

    A block of text after one of Python is what that prints.
    """
    if (DATA / page.stem).exists():
        shutil.copytree(DATA / page.stem, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    monkeypatch.setenv("COLUMNS", WIDTH)
    before, printed = "", ""
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.title is not None:
            assert shows(block, tmp_path / block.title), f"{page.name}:{block.line}: {block.title} reads otherwise"
        elif block.language == "python":
            source = "\n" * (block.line - 1) + block.text
            output = io.StringIO()
            with redirect_stdout(output):
                exec(compile(source, str(page), "exec"), names)
            printed = output.getvalue()
        elif block.language == "text" and before == "python":
            assert has_words(printed, block.text), (
                f"{page.name}:{block.line} shows\n{block.text}\nand it prints\n{printed}"
            )
        elif block.language == "console":
            run_console(block.text, tmp_path)
        before = block.language


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_fences_are_closed(page: Path) -> None:
    """A block behind a stray fence would silently not be run."""
    text = page.read_text(encoding="utf-8")
    assert len(re.findall(r"^ *```", text, re.MULTILINE)) == 2 * len(blocks(text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_resolve(page: Path) -> None:
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = [found["target"].partition("#")[0] for found in LINK.finditer(prose) if "://" not in found["target"]]
    missing = [target for target in targets if target and not (page.parent / target).exists()]
    assert missing == []


def test_every_file_of_the_examples_belongs_to_a_page() -> None:
    texts = {page.stem: page.read_text(encoding="utf-8") for page in RUN}
    entries = [entry for folder in DATA.iterdir() if folder.is_dir() for entry in folder.iterdir()]
    unused = [str(entry.relative_to(DATA)) for entry in entries if entry.name not in texts.get(entry.parent.name, "")]
    assert len(entries) > 50 and unused == []


def test_no_page_begins_with_a_script_that_writes_data() -> None:
    """Data are files that a reader can open: the first Python block of a page may not write any."""
    first = {
        page.name: [b.text for b in blocks(page.read_text(encoding="utf-8")) if b.language == "python"][:1]
        for page in RUN
    }
    assert [name for name, texts in first.items() for text in texts if "write_text" in text or "to_csv" in text] == []


def test_a_shown_file_must_be_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n")
    (block,) = blocks('```csv title="a.csv"\nx,y\n1,2\n...\n```\n')
    assert block.title == "a.csv" and shows(block, tmp_path / "a.csv")
    assert not shows(Block("csv", "x,y\n1,2\n", 1), tmp_path / "a.csv"), "the rest is missing"
    assert not shows(Block("csv", "x,y\n9,2\n...\n", 1), tmp_path / "a.csv")


def test_blocks_and_steps_are_found() -> None:
    console = "$ cd city\n$ safemargin bound \\\n    x  # exit 1\na\n...\n$ ls\nb"
    page = f"a\n```python\nx = 1\n```\n\n```console\n{console}\n```\n"
    assert [(block.language, block.line) for block in blocks(page)] == [("python", 3), ("console", 7)]
    (step,) = steps(blocks(page)[1].text)
    assert (step.command, step.shown, step.code) == ("$ safemargin bound     x  # exit 1", ("a", "..."), 1)


@pytest.mark.parametrize(
    ("shown", "output", "expected"),
    [
        ((), "", True),
        (("b", "c"), "a\nb\nc\nd", True),
        (("a", "c"), "a\nb\nc", False),
        (("a", "...", "c"), "a\nb\nb\nc", True),
        (("a", "...", "c"), "a\nc", True),
        (("c", "a"), "a\nb\nc", False),
        (("took ... s",), "took 1.5 s", True),
        (("a",), "aa", False),
        (("a",), "  a  ", True),
        (("1+1",), "11", False),
    ],
)
def test_shown_lines_must_appear(shown: tuple[str, ...], output: str, expected: bool) -> None:
    assert appears(shown, output) is expected


def test_the_figure_on_the_first_pages_is_that_of_the_demo() -> None:
    """The page on the demo is run; README and the first page show its figure, beside the same command."""
    demo = (ROOT / "docs/demo.md").read_text(encoding="utf-8")
    figure = re.search(r"nearly complete: ([0-9.]+ %) of the people are in exact groups", demo)
    assert figure is not None
    for page in ("README.md", "docs/index.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert f"**{figure[1]}**" in text and "safemargin demo" in text and "public_page.png" in text
