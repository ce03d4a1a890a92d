"""Shows every function that a PyTorch expression runs, with its place in the source, on the stock wheel.

The names of the API are loaded when they are used: importing this package imports neither torch nor anything heavy.
"""

TYPE_CHECKING = False  # like `typing.TYPE_CHECKING`; to import `typing` would take longer than the rest of this module
if TYPE_CHECKING:
    from ptexplore.api.compiled import PublicCompiled as Compiled
    from ptexplore.api.graph import PublicGraph as Graph
    from ptexplore.api.questions import PublicWorkspace as Workspace
    from ptexplore.api.questions import (
        callers,
        compile,  # noqa: A004
        explain_error,
        find,
        graph,
        load,
        lower,
        op,
        refs,
        show,
        tensor,
        trace,
    )
    from ptexplore.api.recording import PublicRecording as Recording
    from ptexplore.api.recording import record
    from ptexplore.api.tensor import PublicTensors as Tensors
    from ptexplore.api.trace import PublicTrace as Trace
    from ptexplore.errors import PtexploreError

__all__ = [
    "Compiled", "Graph", "PtexploreError", "Recording", "Tensors", "Trace", "Workspace", "callers", "compile",
    "explain_error", "find", "graph", "load", "lower", "op", "record", "refs", "show", "tensor", "trace",
]  # fmt: skip
__version__ = "0.1.0"

_PLACES = {
    "Compiled": ("api.compiled", "PublicCompiled"),
    "Graph": ("api.graph", "PublicGraph"),
    "PtexploreError": ("errors", "PtexploreError"),
    "Recording": ("api.recording", "PublicRecording"),
    "Tensors": ("api.tensor", "PublicTensors"),
    "Trace": ("api.trace", "PublicTrace"),
    "Workspace": ("api.questions", "PublicWorkspace"),
    "record": ("api.recording", "record"),
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'ptexplore' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _PLACES.get(name, ("api.questions", name))
    value = getattr(import_module(f"ptexplore.{module}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: object) -> None:
    """Adds `%ptexplore` to IPython: for `%load_ext ptexplore`."""
    from importlib import import_module

    import_module("ptexplore.surfaces.notebook").load(shell)
