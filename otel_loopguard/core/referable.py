"""What a class inherits so that weak references to its objects are possible.

Any Python class allows them; a compiled one allows them only where it inherits from one that is not compiled and has
no `__slots__`. So this file never is.
"""

from __future__ import annotations

__all__ = ["Referable"]


class Referable:
    """Base of classes whose objects are held weakly."""
