"""The kernels are there before a test patches a module: code that is compiled of a changed one is never kept."""

import pytest

from rdmacc.engine.compiled.machine_code.build import compiled_kernel, noting_kernel
from rdmacc.engine.select import why_not_compiled


@pytest.fixture(autouse=True, scope="session")
def _kernel() -> None:
    if not why_not_compiled():
        compiled_kernel()
        noting_kernel()
