"""What importing a file of the package loads, read from its text."""

import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"


def imported(path: Path) -> set[str]:
    """Full names in the import statements of a file; names that a lazy package gives, by the module they come from.

    The list of names of a lazy package is not followed: it is what others may ask for.
    """
    names = set()
    for node in statements(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {home(node.module or "", alias.name) for alias in node.names} | {node.module or ""}
    # `bounds.check` after `from safemargin import bounds`: the package loads the name when it is used.
    packages = {name.partition(".")[2] for name in names if name.startswith("safemargin.") and name.count(".") == 1}
    return names | {
        home(f"safemargin.{node.value.id}", node.attr)
        for node in statements(path)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in packages
    }


def loaded_by_name(path: Path) -> set[str]:
    """What a file loads with `import_module` and a plain text."""
    return {
        str(name.value)
        for node in statements(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "import_module"
        for name in node.args
        if isinstance(name, ast.Constant)
    }


@cache  # reading all files of the package takes seconds
def statements(path: Path) -> list[ast.AST]:
    """Imports, calls and attributes in a file."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Module):
            waiting += [inner for inner in node.body if not is_for_type_checkers(inner)]
        else:
            waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Call | ast.Attribute):
            found.append(node)
    return found


def is_for_type_checkers(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def home(module: str, name: str) -> str:
    """The full name of what `from module import name` gives."""
    below = names_given(SOURCE.joinpath(*module.split("."), "__init__.pyi"))
    return f"{module}.{below[name]}.{name}" if name in below else f"{module}.{name}"


@cache
def names_given(face: Path) -> dict[str, str]:
    """The module of each name that a package gives: by the stub that `lazy_loader` reads."""
    if not face.is_file() or face.parent.name == "safemargin":
        return {}
    tree = ast.parse(face.read_text(encoding="utf-8"))
    lines = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(line.module) for line in lines for alias in line.names}
