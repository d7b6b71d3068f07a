"""The settings of the server: one table for flags, environment variables and the YAML file, with the same names.

Not the policy and not the key, which the server has from the same variables as an agent. A setting is `--grpc-address`
as a flag, `LOOPGUARD_SERVE_GRPC_ADDRESS` as a variable and `grpc_address` in the file; the flag wins over the variable,
that over the file.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, NamedTuple

import yaml

from otel_loopguard.errors import SettingError
from otel_loopguard.service.setting_values import (
    Address,
    read_address,
    read_choice,
    read_count,
    read_duration,
    read_flag,
    read_size,
    read_text,
    read_workers,
)

__all__ = ["PREFIX", "SETTINGS", "ServeSettings", "Setting", "parse_file", "settings_from", "texts_from"]

PREFIX: Final = "LOOPGUARD_SERVE_"
"""Of the environment variables."""


class Setting(NamedTuple):
    """One setting."""

    name: str
    read: Callable[[str], object]
    """The value of a text; raises `ValueError` with what is expected."""
    default: str
    metavar: str
    help: str
    group: str


SETTINGS: Final = (
    Setting("grpc_address", read_address, "127.0.0.1:4317", "HOST:PORT", "OTLP over gRPC; `off`: none.", "In"),
    Setting("http_address", read_address, "127.0.0.1:4318", "HOST:PORT", "OTLP over HTTP; `off`: none.", "In"),
    Setting(
        "page_address", read_address, "127.0.0.1:9464", "HOST:PORT",
        "/healthz, /readyz and /metrics; `off`: none.", "In",
    ),
    Setting(
        "token_file", read_text, "", "FILE", "Bearer tokens: `TENANT TOKEN` or `TOKEN`, one a line.",
        "Who may come in",
    ),
    Setting("tls_cert_file", read_text, "", "FILE", "The server's certificate chain in PEM.", "Who may come in"),
    Setting("tls_key_file", read_text, "", "FILE", "The certificate's key.", "Who may come in"),
    Setting(
        "tls_client_ca_file", read_text, "", "FILE",
        "The authority whose clients alone may come in (mTLS).", "Who may come in",
    ),
    Setting(
        "insecure", read_flag, "false", "BOOL",
        "Listen elsewhere than on loopback without TLS and tokens.", "Who may come in",
    ),
    Setting(
        "page_public", read_flag, "false", "BOOL",
        "The pages may be on another address than loopback.", "Who may come in",
    ),
    Setting(
        "state_file", read_text, "loopguard.state", "FILE",
        "Where runs and undelivered findings are kept; `:memory:`: nowhere.", "State",
    ),
    Setting(
        "lateness", read_duration, "10s", "TIME",
        "How long copies and earlier calls are waited for; half as long before that, the spans around a call that "
        "nobody annotated.", "State",
    ),
    Setting("idle", read_duration, "30m", "TIME", "A run that is silent so long has ended; it may go on.", "State"),
    Setting("age", read_duration, "24h", "TIME", "A run that is silent so long is forgotten.", "State"),
    Setting(
        "max_runs", read_count, "100000", "COUNT",
        "Runs at a time; ended ones make room, then new ones are refused.", "Limits",
    ),
    Setting("max_state", read_size, "1GiB", "SIZE", "State of all runs, as max_runs.", "Limits"),
    Setting(
        "max_awake", read_count, "100000", "COUNT",
        "Runs that are not packed in memory, 10 to 20 kB each; a call of a packed one costs several times as much.",
        "Limits",
    ),
    Setting("max_request", read_size, "4MiB", "SIZE", "A request, unpacked; a larger one is refused (413).", "Limits"),
    Setting(
        "max_waiting", read_size, "64MiB", "SIZE",
        "Requests that wait; more are refused with the time to wait (429).", "Limits",
    ),
    Setting("max_connections", read_count, "1000", "COUNT", "Connections of each protocol.", "Limits"),
    Setting(
        "max_outbox", read_count, "100000", "COUNT",
        "Messages that wait for a sink; the oldest makes room, counted.", "Limits",
    ),
    Setting("otlp_endpoint", read_text, "", "URL", "Findings as OTLP logs, and metrics, to there.", "Out"),
    Setting("otlp_protocol", read_choice("grpc", "http"), "grpc", "grpc|http", "How.", "Out"),
    Setting("otlp_headers_file", read_text, "", "FILE", "Headers, `name: value` one a line.", "Out"),
    Setting("otlp_ca_file", read_text, "", "FILE", "The authority of a https endpoint (gRPC).", "Out"),
    Setting("otlp_metrics_every", read_duration, "60s", "TIME", "How often metrics are sent; `0s`: never.", "Out"),
    Setting("json_file", read_text, "", "FILE", "Findings as JSON lines; `-`: standard output.", "Out"),
    Setting("webhook_url", read_text, "", "URL", "Findings as signed requests to there.", "Out"),
    Setting("webhook_secret_file", read_text, "", "FILE", "What signs them, at least 16 characters.", "Out"),
    Setting(
        "workers", read_workers, "1", "COUNT",
        "Processes that share the ports and the runs, one state file each; about one a core.", "Process",
    ),
    Setting("drain", read_duration, "10s", "TIME", "How long a stop may take.", "Process"),
)  # fmt: skip
"""Every setting, in the order of the help."""

_BY_NAME: Final = {setting.name: setting for setting in SETTINGS}


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """The settings, read: times in nanoseconds, sizes in bytes, "" for what is not set."""

    grpc_address: Address | None
    http_address: Address | None
    page_address: Address | None
    token_file: str
    tls_cert_file: str
    tls_key_file: str
    tls_client_ca_file: str
    insecure: bool
    page_public: bool
    state_file: str
    lateness: int
    idle: int
    age: int
    max_runs: int
    max_state: int
    max_awake: int
    max_request: int
    max_waiting: int
    max_connections: int
    max_outbox: int
    otlp_endpoint: str
    otlp_protocol: str
    otlp_headers_file: str
    otlp_ca_file: str
    otlp_metrics_every: int
    json_file: str
    webhook_url: str
    webhook_secret_file: str
    workers: int
    drain: int

    def of_one(self, workers: int) -> ServeSettings:
        """The settings of one of several workers, which share what is bounded."""
        if workers == 1:
            return self
        names = ("max_runs", "max_state", "max_awake", "max_waiting", "max_connections", "max_outbox")
        shares = {name: -(-getattr(self, name) // workers) for name in names}
        return replace(self, **shares)

    def validate(self) -> None:
        """Raise `SettingError` for settings that contradict each other or that are not safe."""
        if bool(self.tls_cert_file) != bool(self.tls_key_file):
            raise SettingError(
                "`tls_cert_file` and `tls_key_file` belong together, set both or none", name="tls_cert_file"
            )
        if self.tls_client_ca_file and not self.tls_cert_file:
            raise SettingError(
                "`tls_client_ca_file` needs `tls_cert_file` and `tls_key_file`", name="tls_client_ca_file"
            )
        if self.webhook_secret_file and not self.webhook_url:
            raise SettingError("`webhook_secret_file` is of no use without `webhook_url`", name="webhook_secret_file")
        if not self.idle <= self.age:
            raise SettingError("`age` must not be less than `idle`", name="age")
        if self.lateness >= self.idle:
            raise SettingError("`lateness` must be less than `idle`", name="lateness")
        if self.grpc_address is None and self.http_address is None:
            raise SettingError(
                "`grpc_address` and `http_address` are both off, nothing could come in", name="http_address"
            )
        self._validate_addresses()

    def _validate_addresses(self) -> None:
        safe = bool(self.tls_cert_file) and bool(self.token_file or self.tls_client_ca_file)
        for name, address in (("grpc_address", self.grpc_address), ("http_address", self.http_address)):
            if address is not None and not address.is_loopback and not safe and not self.insecure:
                raise SettingError(
                    f"`{name}` {address.host} can be reached by others: set `tls_cert_file`, `tls_key_file` and "
                    "`token_file` (or `tls_client_ca_file`), or `insecure` where the network is trusted",
                    name=name,
                )
        page = self.page_address
        if page is not None and not page.is_loopback and not self.page_public:
            raise SettingError(
                f"`page_address` {page.host} can be reached by others, who would see the names of tools and agents: "
                "set `page_public` where they may",
                name="page_address",
            )


def texts_from(
    flags: Mapping[str, str | None], environ: Mapping[str, str], file: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Every setting as it is written in the strongest of three sources, and under which name. Raises `SettingError`."""
    _refuse_unknown(environ)
    found: dict[str, tuple[str, str]] = {}
    for setting in SETTINGS:
        variable = PREFIX + setting.name.upper()
        flag = flags.get(setting.name)
        if flag is not None:
            found[setting.name] = flag, "--" + setting.name.replace("_", "-")
        elif environ.get(variable, "").strip():
            found[setting.name] = environ[variable].strip(), variable
        else:
            found[setting.name] = file.get(setting.name, setting.default), setting.name
    return found


def settings_from(
    flags: Mapping[str, str | None], environ: Mapping[str, str], file: Mapping[str, str]
) -> ServeSettings:
    """The settings of all three sources, validated. Raises `SettingError`, naming the setting as it was written."""
    values: dict[str, Any] = {}
    texts = texts_from(flags, environ, file)
    for setting in SETTINGS:
        text, written = texts[setting.name]
        try:
            values[setting.name] = setting.read(text)
        except ValueError as error:
            raise SettingError(f"`{written}`: {error}", name=written) from None
    settings = ServeSettings(**values)
    settings.validate()
    return settings


def parse_file(text: str) -> dict[str, str]:
    """The settings of a YAML file as texts; raises `SettingError`."""
    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f" at line {mark.line + 1}"
        raise SettingError(f"the settings file is no YAML{where}", name="config") from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise SettingError("the settings file must hold `name: value` lines", name="config")
    values: dict[str, str] = {}
    for name, value in found.items():
        if name not in _BY_NAME:
            raise SettingError(f"`{name}` is no setting{_like(str(name), list(_BY_NAME))}", name=str(name))
        if not isinstance(value, (str, int, float)):
            raise SettingError(f"`{name}` must be a single value", name=name)
        values[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return values


def _refuse_unknown(environ: Mapping[str, str]) -> None:
    known = [PREFIX + name.upper() for name in _BY_NAME]
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in known:
            raise SettingError(f"`{name}` is no setting{_like(name, known)}", name=name)


def _like(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f", did you mean `{near[0]}`?" if near else ", `loopguard serve --help` lists them"


if {field.name for field in fields(ServeSettings)} != set(_BY_NAME):  # a mistake of ours, told at import
    raise AssertionError("the table of settings and their class differ")
