"""The house rules that a reader can check: which package may import which, and what stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAY_IMPORT = {
    "games": set(),
    "kernels": set(),
    "inference": {"kernels"},
    "agents": {"games", "inference"},
    "arena": {"agents", "games", "inference", "kernels"},
}
FORBIDDEN = {
    "games": {"torch", "asyncio", "sqlalchemy", "sqlite3"},
    "kernels": {"asyncio", "sqlalchemy", "sqlite3"},
    "inference": {"chess", "sqlalchemy", "sqlite3"},
    "agents": {"torch", "sqlalchemy", "sqlite3"},
}


def imports_of(path):
    """Top-level names of everything a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_dependencies_point_one_way(package):
    files = list((ROOT / package).rglob("*.py"))
    assert files
    for path in files:
        for name in imports_of(path):
            if name in MAY_IMPORT and name != package:
                assert name in MAY_IMPORT[package], f"{path.relative_to(ROOT)} imports {name}"
            assert name not in FORBIDDEN.get(package, ()), f"{path.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize("module", ["inference.scheduler", "inference.radix", "inference.kv_pool", "inference.choices"])
def test_scheduler_cache_and_trie_need_no_torch(module):
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_the_command_line_starts_without_torch_and_transformers():
    code = "import sys, arena.cli; sys.exit(bool({'torch', 'transformers', 'sqlalchemy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_transformers_modelling_code_is_never_imported():
    for package in MAY_IMPORT:
        for path in (ROOT / package).rglob("*.py"):
            if "drivers" in path.parts:  # transformers itself under test, in a process of its own
                continue
            text = path.read_text()
            assert "AutoModel" not in text, path
            assert "transformers.models" not in text, path
