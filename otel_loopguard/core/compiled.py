"""What classes of hot modules say of themselves to the compiler (`mypyc`), which reads it in the sources.

Not needed to run: interpreted, the decorator gives the class back as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

__all__ = ["mypyc_attr"]

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr
else:

    def mypyc_attr(**_: object) -> Callable[[type], type]:
        """``@mypyc_attr(acyclic=True)``: an object never leads back to itself, so that the garbage collector need not
        look at it. Name and form are the compiler's.
        """
        return lambda cls: cls
