"""Compile the kernels before any test patches a module: code compiled from a patched one is never cached."""

import pytest

from rdmacc.engine.compiled.machine_code.build import compiled_kernel, noting_kernel
from rdmacc.engine.select import why_not_compiled


@pytest.fixture(autouse=True, scope="session")
def _kernel() -> None:
    if not why_not_compiled():
        compiled_kernel()
        noting_kernel()
