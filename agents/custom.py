"""A user's own agents: from `package.module:Class` or `./file.py:Class` to a class."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

from agents.base import Agent
from agents.seeds import derive_seed


class CustomAgentError(ValueError):
    """A class that cannot be found, imported, used as an agent or made. The message names it and says why."""


def load_agent_class(target: str) -> type[Agent]:
    """The agent class at `target`: a module and a class, or a Python file and a class, with a colon between.

    Imports the module, which runs its code. Raises CustomAgentError.
    """
    place, colon, class_name = target.rpartition(":")
    if not colon or not place or not class_name:
        raise CustomAgentError(f"{target!r} is not of the form package.module:Class or ./file.py:Class")
    module = _import_file(Path(place)) if place.endswith(".py") else _import_module(place)
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        agents = [name for name, value in vars(module).items() if _is_agent(value) and value is not Agent]
        has = f"its agents are {', '.join(agents)}" if agents else "it has no agents"
        raise CustomAgentError(f"{place} has no class {class_name!r}; {has}")
    if not _is_agent(found):
        raise CustomAgentError(f"{target} is not a subclass of agents.base.Agent")
    if inspect.isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise CustomAgentError(f"{target} does not define {missing}")
    if not inspect.iscoroutinefunction(inspect.unwrap(found.choose_move)):
        raise CustomAgentError(f"{target}: choose_move must be an async def")
    return found


def make_agent(target: str, arguments: Mapping[str, Any], name: str) -> Agent:
    """An agent of the class at `target`, called with `arguments`, and with `name` if it takes one.

    Its `name` is set in either case. Raises CustomAgentError.
    """
    agent_class = load_agent_class(target)
    parameters = inspect.signature(agent_class).parameters.values()
    takes_name = any(p.name == "name" or p.kind is p.VAR_KEYWORD for p in parameters)
    try:
        agent = agent_class(**arguments, **({"name": name} if takes_name else {}))
        agent.name = name
    except (Exception, SystemExit) as error:
        raise CustomAgentError(f"cannot make {target}: {type(error).__name__}: {error}") from error
    return agent


def check_template_hash(agent: Agent, game: str, target: str) -> None:
    """Raises CustomAgentError if the agent cannot say which template it has for `game`: that is recorded."""
    try:
        template = agent.template_hash(game)
    except (Exception, SystemExit) as error:
        raise CustomAgentError(f"{target}: template_hash raised {type(error).__name__}: {error}") from error
    if not isinstance(template, str | None):
        raise CustomAgentError(f"{target}: template_hash must give a str or None, not {template!r}")


def _is_agent(value: object) -> TypeGuard[type[Agent]]:
    return isinstance(value, type) and issubclass(value, Agent)


def _import_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        hint = f"; for a file write ./{name}.py:Class" if Path(f"{name}.py").exists() else ""
        raise CustomAgentError(f"cannot import {name}: {type(error).__name__}: {error}{hint}") from error


def _import_file(path: Path) -> ModuleType:
    """The module in `path`, imported once a process however many agents name it."""
    if not path.is_file():
        raise CustomAgentError(f"there is no file {path}")
    name = f"{path.stem}_{derive_seed(str(path.resolve())):x}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise CustomAgentError(f"{path} is not a file that Python can import")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it runs: dataclasses look their module up there
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise CustomAgentError(f"cannot import {path}: {type(error).__name__}: {error}") from error
    return module
