"""Key and policy files, their decoding and their watching."""

from .key_file import read_key_file, with_key
from .key_source import KeySource, load_keyring
from .policy_source import PolicySource
from .secret_text import decode_secret, new_secret
from .watched_file import WatchedFile, text_of

__all__ = [
    "KeySource",
    "PolicySource",
    "WatchedFile",
    "decode_secret",
    "load_keyring",
    "new_secret",
    "read_key_file",
    "text_of",
    "with_key",
]
