"""The generated C++ of a source build: what its own build folder holds, since torchgen ships no inputs there."""

from __future__ import annotations

from pathlib import Path

from ptexplore.errors import MISSING, PtexploreError
from ptexplore.model import Runtime

_SIGN = "build/aten/src/ATen/RegisterSchema.cpp"


def look(runtime: Runtime) -> Path | None:
    """The root of the checkout whose build folder holds the generated C++; None where there is none.

    A develop install has torch/ inside the checkout, so the checkout is the folder above it.
    """
    root = Path(runtime.torch_dir).resolve().parent
    if (root / _SIGN).is_file() and (root / "torch/csrc/autograd/generated").is_dir():
        return root
    return None


def find(runtime: Runtime) -> Path:
    """As `look`. Raises PtexploreError(MISSING) that says where it looked."""
    found = look(runtime)
    if found is not None:
        return found
    root = Path(runtime.torch_dir).resolve().parent
    raise PtexploreError(
        "this torch's generated C++ is not there",
        f"its torchgen has no packaged inputs, as in a source build, and {root / _SIGN} does not exist",
        "build that checkout again (python setup.py develop), or use a torch from a wheel",
        MISSING,
    )
