"""What keeps loops from being found in an environment: one file for each part of the way from a call to a backend."""

from .check import Check, Level
from .endpoint import check_endpoint
from .guarding import check_guards
from .instrumentation import INSTRUMENTATIONS, Installed, Instrumentation, installed
from .key_and_policy import check_settings
from .package import check_package
from .provider import check_providers
from .sampling import check_sampling

__all__ = [
    "INSTRUMENTATIONS",
    "Check",
    "Installed",
    "Instrumentation",
    "Level",
    "check_endpoint",
    "check_guards",
    "check_package",
    "check_providers",
    "check_sampling",
    "check_settings",
    "installed",
]
