"""What start-up hooks and `opentelemetry-instrument` load: standard library only until there is something to watch.

Not the instrumentation itself. Imports of a few modules are waited for, so that neither they nor the
package cost anything in a process that never traces; the entry point has no base class of OpenTelemetry's for the same
reason, and its loader asks for no more than the methods below.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as in `typing`, which is half of what this file would cost
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

__all__ = ["LoopGuardInstrumentor", "activate", "is_enabled"]

_OFF = frozenset(["", "0", "false"])
_SDK = "opentelemetry.sdk.trace"
_LANGCHAIN = "langchain_core.tracers.context"
_COMPLETION = "opentelemetry.util.genai.completion_hook"


def is_enabled(environ: Mapping[str, str]) -> bool:
    """Whether `LOOPGUARD_ENABLED` switches us on: any word but the negative ones does."""
    return environ.get("LOOPGUARD_ENABLED", "").strip().lower() not in _OFF


def activate() -> None:
    """Watch every tracer provider of the SDK that this process makes from now on, once each; a second call is none.

    Providers that exist already are not found by this: `otel_loopguard.instrument` is for those. Never raises.
    """
    try:
        for name, change in _CHANGES.items():
            module = sys.modules.get(name)
            if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
                change(module)
        if not any(isinstance(finder, _Waiting) for finder in sys.meta_path):
            sys.meta_path.insert(0, _Waiting())
    except Exception as error:  # noqa: BLE001 - a tool that watches does not stop what it watches
        _tell(error)


def _tell(error: Exception) -> None:
    """Say where set-up failed, never with the message: it may quote anything."""
    import logging  # noqa: PLC0415 - with what it imports it is the other half

    logging.getLogger("otel_loopguard").warning(
        "otel-loopguard: not started: %s at import or set-up", type(error).__qualname__
    )


class LoopGuardInstrumentor:
    """The entry point `loopguard` of the group `opentelemetry_instrumentor`."""

    def instrumentation_dependencies(self) -> Collection[str]:
        """No library must be there: any agent will do."""
        return ()

    def instrument(self, **options: object) -> None:
        """Watch the global tracer provider, or the option `tracer_provider`, and all later ones, if we are switched on.
        Never raises.
        """
        if not is_enabled(os.environ):
            return
        activate()
        try:
            from otel_loopguard.otel import instrument  # noqa: PLC0415 - only here is the package wanted

            instrument(options.get("tracer_provider"))
        except Exception as error:  # noqa: BLE001
            _tell(error)

    def uninstrument(self, **options: object) -> None:
        """Watch no new span of that provider."""
        if not is_enabled(os.environ):
            return
        from otel_loopguard.otel import uninstrument  # noqa: PLC0415

        uninstrument(options.get("tracer_provider"))


# Waiting for modules ----------------------------------------------------------------------------------------------


class _Waiting:
    """A finder that finds what the others find and sees to it that the module is changed once it is there.

    It stays: a notebook may import the module anew.
    """

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:  # noqa: ANN401 - importlib's own types
        """The spec of a module that is waited for; None leaves all others to the next finder."""
        if name not in _CHANGES:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = None if find is None or isinstance(finder, _Waiting) else find(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, _CHANGES[name])
                return spec
        return None


class _Loader:
    """A loader that changes the module it has loaded; in all else the loader that it stands for."""

    def __init__(self, loader: Any, change: Callable[[Any], None]) -> None:  # noqa: ANN401
        self._loader = loader
        self._change = change

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") or name == "_loader":
            raise AttributeError(name)
        return getattr(self._loader, name)

    def create_module(self, spec: Any) -> Any:  # noqa: ANN401
        """What the loader makes."""
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:  # noqa: ANN401
        """Load the module, leave it its own loader, and change it."""
        spec = module.__spec__
        if spec is not None:
            spec.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        try:
            self._change(module)
        except Exception as error:  # noqa: BLE001
            _tell(error)


# What is changed --------------------------------------------------------------------------------------------------


def _watch_providers(module: Any) -> None:  # noqa: ANN401
    """Put our processor on every provider as the last step of its making."""
    import functools  # noqa: PLC0415

    provider = module.TracerProvider
    made = provider.__init__
    if getattr(made, "_is_loopguards", False):
        return

    @functools.wraps(made)
    def __init__(self: object, *args: Any, **options: Any) -> None:  # noqa: ANN401, N807 - it takes that one's place
        made(self, *args, **options)
        try:
            from otel_loopguard.otel.reach import reach  # noqa: PLC0415

            reach(self)
        except Exception as error:  # noqa: BLE001
            _tell(error)

    __init__._is_loopguards = True  # type: ignore[attr-defined] # noqa: SLF001
    provider.__init__ = __init__


def _join_completions(module: Any) -> None:  # noqa: ANN401
    """Let our completion hook hear what the user's hook hears, or what nobody would."""
    import functools  # noqa: PLC0415

    load = module.load_completion_hook
    if getattr(load, "_is_loopguards", False):
        return

    @functools.wraps(load)
    def load_completion_hook() -> object:
        hook = load()
        try:
            from otel_loopguard.otel.completion import beside  # noqa: PLC0415

            return beside(hook, module)
        except Exception as error:  # noqa: BLE001
            _tell(error)
            return hook

    load_completion_hook._is_loopguards = True  # type: ignore[attr-defined] # noqa: SLF001
    module.load_completion_hook = load_completion_hook


def _guard_langchain(module: Any) -> None:  # noqa: ANN401
    """Guard LangChain's tools where `LOOPGUARD_GUARD` asks for it."""
    if os.environ.get("LOOPGUARD_GUARD", "").strip():
        from otel_loopguard.guards.langchain_callbacks import register  # noqa: PLC0415

        register(module)


_CHANGES: Mapping[str, Callable[[Any], None]] = {
    _SDK: _watch_providers,
    _COMPLETION: _join_completions,
    _LANGCHAIN: _guard_langchain,
}
