"""Writes the published fingerprint vectors: `python -m tests.support.make_fingerprint_vectors`.

Not a test: `test_fingerprint_vectors.py` recomputes what stands in the file with the standard library alone, so that
a change of the form shows as a change of the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from otel_loopguard.core.canonical import Unknown, canonical
from otel_loopguard.core.fingerprint import Keyring, KeyScope, SecretKey, fingerprinter
from otel_loopguard.core.policy import LENIENT, STRICT, ArgumentRules

FILE: Final = Path(__file__).resolve().parent.parent / "vectors" / "fingerprint.json"

SECRETS: Final = {"first": bytes(range(32)), "second": bytes(range(255, 191, -1))}
PROFILES: Final = {"strict": STRICT, "standard": ArgumentRules(), "lenient": LENIENT}

_ABOUT: Final = (
    "Each vector: `json`, the arguments as JSON text; `profile`, the rules applied; `canonical`, the canonical text, "
    "whose UTF-8 bytes are hashed (`canonical_hex` gives the bytes where a lone surrogate is written in three); "
    "`key`, the name of the secret in `keys`; `scope` and `scope_value`, what the key is derived for; `tool`; "
    "`attributes`, the canonical object of a policy's scope values, where there is one; `fingerprint`. "
    "Derived key = HKDF-SHA256, no salt, 32 bytes, info `otel-loopguard/1/<purpose>/<scope>/<scope_value>`, with "
    "purpose `arguments`, `results` or `state`. Message of a call: `[tool,arguments]` or "
    "`[tool,arguments,attributes]` in canonical form; of `result` and `state` vectors, which have no tool, the "
    "canonical text. Fingerprint = the first 16 bytes of HMAC-SHA256, in hex."
)

STRICT_TEXTS: Final = (
    # objects, lists, blanks between
    "{}",
    "[]",
    "null",
    "true",
    "false",
    '""',
    '{"b":1,"a":2}',
    ' { "b" : [ 2 , 1 ] , "a" : { "d" : 1 , "c" : 2 } } ',
    '{"a":null,"b":[null]}',
    "[[],{},[[]]]",
    '{"":1,"a":{"":{}}}',
    '{"peach":"x","péché":"y","pêche":"z","sin":"w"}',
    # order of keys: UTF-16 code units
    r'{"\ud83d\ude00":1,"\ue000":2,"z":3}',
    r'{"\uff21":1,"\ud835\udd04":2}',
    r'{"\u20ac":1,"\r":2,"1":3,"\u0080":4,"\u00f6":5}',
    '{"10":1,"9":2,"a":3,"A":4,"_":5}',
    # texts
    r'"\u0000\u0008\t\n\f\r\u001f\u007f"',
    r'"\"\\\/"',
    r'"\u2028\u2029 \u00e9"',
    r'"\ud83d\ude00"',
    '" kept as it is\\n"',
    '"</script>&"',
    r'"cafe\u0301"',
    r'{"cafe\u0301":"\u1e9b\u0323"}',
    r'"\u212b"',
    r'"\ufb01"',
    r'"\uac00 \u1100\u1161"',
    r'"\ud83d"',
    r'["\udc00 z","a\ud83e"]',
    # numbers
    "[0,-0,0.0,-0.0,0e5]",
    "[1,1.0,1e0,10e-1,100E-2]",
    "[0.1,-2.5,4.35,123456789.125]",
    "[0.000001,0.0000015,1e-7,1.25e-9,5e-324]",
    "[1e15,123456789012345.5,9007199254740991]",
    "[9007199254740992,9007199254740993,-9007199254740993]",
    "[1152921504606846976,1152921504606846977,1.152921504606846976e18]",
    "[1e21,1e22,1e23,1.5e300]",
    "123456789012345678901234567890",
    "[1e399,1e400,-25e400]",
    "[1e999999999,1e999999998,-1.50e999999999]",
    "[0.1000000000000000055511151231257827,2.00000000000000001]",
    '[1,"1",true,[1],1.5]',
    # an object that names a key twice
    '{"a":1,"a":2}',
    '{"a":2,"a":1}',
    '{"z":0,"a":1,"a":1}',
    r'{"caf\u00e9":1,"cafe\u0301":2}',
    '{"x":{"a":1,"a":{"b":[]}}}',
    # what is no JSON is that text
    '{"a": ',
    "not JSON",
    "",
    "{'a': 1}",
    # nesting
    "[" * 60 + "]" * 60,
    '{"a":' * 20 + '{"z":1,"y":2}' + "}" * 20,
)

STANDARD_TEXTS: Final = (
    '{"a":null,"b":{"c":null,"d":[null,{"e":null}]}}',
    '{"a":" x\\n","b":" ","c":"\\n","d":"","e":"\\u00a0x"}',
    '{" k ":["\\t x\\u000b"]}',
    '{"request_id":1,"Request_id":2,"timestamp":3,"where":{"timestamp":4}}',
    '{"a":1,"a":null,"nonce":1}',
    '" text of its own \\n"',
    '{"limit":50.0,"query":"failed logins","verbose":true,"cursor":null}',
)

LENIENT_TEXTS: Final = (
    '{"q":"  Green \\t TEA ","n":1.005,"m":0.125,"k":7}',
    '{"code":" If x:\\n    Y ","blank":"   "}',
    '{"s":"STRASSE","t":"stra\\u00dfe"}',
)

TOOLS: Final = (
    "get_logs",
    "mcp__github__search_code",
    'say "hi"',
    "caf\u00e9",
    "cafe\u0301",
    "\U0001f527",
    "",
    "a/b\\c\n",
)


def vectors() -> Iterator[dict[str, object]]:
    """All vectors, in the file's order."""
    for profile, texts in (("strict", STRICT_TEXTS), ("standard", STANDARD_TEXTS), ("lenient", LENIENT_TEXTS)):
        for text in texts:
            yield vector(text, profile=profile)
    for tool in TOOLS:
        yield vector('{"a":1}', tool=tool)
    for scope, value in (("service", "checkout"), ("service", "caf\u00e9"), ("run", "r1"), ("run", "a/b")):
        yield vector('{"a":1}', scope=scope, value=value)
    yield vector('{"a":1}', key="second")
    yield vector('{"a":1}', attributes='{"tenant.id":"t1"}')
    yield vector('{"a":1}', attributes="{}")
    for purpose in ("result", "state"):
        yield vector('{"items":[{"id":1}],"next":null}', purpose=purpose)
        yield vector('"done"', purpose=purpose)


def vector(  # noqa: PLR0913 - one a field
    text: str,
    *,
    profile: str = "strict",
    key: str = "first",
    purpose: str = "arguments",
    scope: str = "environment",
    value: str = "",
    tool: str = "get_logs",
    attributes: str | None = None,
) -> dict[str, object]:
    """One vector, computed by the product."""
    found = canonical(text, PROFILES[profile])
    if isinstance(found, Unknown):
        raise TypeError(found.reason)
    scopes: dict[str, KeyScope] = {"environment": "environment", "service": "service", "run": "run"}
    maker = fingerprinter(Keyring(SecretKey(SECRETS[key])), scopes[scope], value)
    shown: dict[str, object] = {"json": text, "profile": profile, "purpose": purpose}
    try:
        shown["canonical"] = found.decode()
    except UnicodeDecodeError:
        shown["canonical_hex"] = found.hex()
    shown.update(key=key, scope=scope, scope_value=value)
    if purpose == "arguments":
        held = None if attributes is None else attributes.encode()
        shown.update(tool=tool, fingerprint=maker.arguments(tool, found, held))
        if attributes is not None:
            shown["attributes"] = attributes
    else:
        shown["fingerprint"] = maker.result(found) if purpose == "result" else maker.state(found)
    return shown


def document() -> dict[str, object]:
    """The whole file."""
    keys = {name: {"hex": secret.hex(), "id": SecretKey(secret).id} for name, secret in SECRETS.items()}
    return {"about": _ABOUT, "keys": keys, "vectors": list(vectors())}


if __name__ == "__main__":
    FILE.write_text(json.dumps(document(), indent=1, ensure_ascii=True) + "\n", encoding="utf-8")
    print(f"{FILE}: {len(list(vectors()))} vectors")
