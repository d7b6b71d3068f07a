"""`loopguard serve`: the streaming detector, until it is told to stop.

Not the server (`service`): here are flags, made from the table of its settings, and the words on the terminal.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import click

from otel_loopguard.errors import MissingExtraError

if TYPE_CHECKING:
    from otel_loopguard.config import Settings
    from otel_loopguard.service.server import Server
    from otel_loopguard.service.settings import ServeSettings, Setting
    from otel_loopguard.service.supervisor import Supervisor

__all__ = ["serve"]

_HELP: Final = """Receive OTLP, follow every run over all its processes, and send findings out.

    Takes spans and log records over gRPC and HTTP, from a Collector or from agents. Spans that
    otel-loopguard annotated are taken as they are; of others the arguments are fingerprinted
    on arrival, with the key of this environment, and go no further. A request is acknowledged
    once its effect is on the disk, so that a crash loses nothing.

    \b
    Examples:
      loopguard serve
      loopguard serve --otlp-endpoint http://collector:4317 --state-file /var/lib/loopguard/state
      loopguard serve --workers 4 --config serve.yaml
      loopguard serve --sample > serve.yaml       every setting with its default

    Every setting is a flag, a variable (LOOPGUARD_SERVE_GRPC_ADDRESS) and a line of the file
    (grpc_address: ...); a flag wins over a variable, that over the file. Key and policy come
    from LOOPGUARD_KEY_FILE, LOOPGUARD_KEY and LOOPGUARD_POLICY, as for an agent; key, policy,
    token and certificate files are read again when they change.

    With --workers N it is N processes that share the ports and the runs, with a parent that
    starts again what dies. Each keeps a file of its own (FILE, FILE.1, ...); another N at the
    next start divides them anew. Limits hold for all workers together. A connection is read
    by one worker, so senders need several of them.

    Findings are delivered at least once, each with the id that every copy of it carries
    (`loopguard.finding.id`). SIGTERM and SIGINT stop it once everything is kept and sent.
    """

_CORE: Final = ("grpc", "h11", "google.rpc", "opentelemetry.proto")


class _Serve(click.Command):
    """A command whose options are made when they are asked for: the table of settings is not cheap to import."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The fixed options, and one for each setting."""
        from otel_loopguard.service.settings import SETTINGS

        return [*(_option(setting) for setting in SETTINGS), *super().get_params(ctx)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options in groups."""
        from otel_loopguard.service.settings import SETTINGS

        options = {param.name: param for param in self.get_params(ctx)}
        groups: dict[str, list[tuple[str, str]]] = {}
        for setting in SETTINGS:
            record = options.pop(setting.name).get_help_record(ctx)
            if record is not None:
                groups.setdefault(setting.group, []).append(record)
        rest = [param.get_help_record(ctx) for param in options.values()]
        groups["Other"] = [record for record in rest if record is not None]
        for heading, records in groups.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def _option(setting: Setting) -> click.Option:
    default = f"  [default: {setting.default}]" if setting.default else ""
    flag = "--" + setting.name.replace("_", "-")
    return click.Option([flag, setting.name], metavar=setting.metavar, help=setting.help + default)


@click.command(cls=_Serve, help=_HELP)
@click.option("--config", metavar="FILE", help="Settings in YAML.")
@click.option("--sample", is_flag=True, help="Print a settings file with every setting and end.")
@click.pass_context
def serve(ctx: click.Context, /, *, config: str | None, sample: bool, **flags: Any) -> None:  # noqa: ANN401 - what click hands over
    """Reserved: the help text stands above."""
    from pathlib import Path

    from otel_loopguard.config import Settings
    from otel_loopguard.keys import text_of
    from otel_loopguard.service.settings import parse_file, settings_from, texts_from

    if sample:
        click.echo(_sample(), nl=False)
        return
    file = parse_file(text_of(Path(config))) if config is not None else {}
    settings = settings_from(flags, os.environ, file)
    agent = Settings.read_strict(os.environ)
    if not all(find_spec(name.split(".")[0]) for name in _CORE):
        raise MissingExtraError("serve")

    import asyncio
    import gc

    from otel_loopguard.service.descriptors import make_room
    from otel_loopguard.service.worker import DIED, GC

    async def run() -> bool:
        server: Server | Supervisor
        if settings.workers == 1:
            from otel_loopguard.service.server import Server

            server = Server(settings, agent, _tell)
        else:
            from otel_loopguard.service.supervisor import Supervisor

            texts = {name: text for name, (text, _) in texts_from(flags, os.environ, file).items()}
            server = Supervisor(settings, texts, _tell)
        await server.run(_started)
        return server.dead

    if problem := make_room(settings):
        _tell(problem)
    _divide(settings, agent)
    gc.set_threshold(*GC)
    if asyncio.run(run()):
        _tell("stopped by a mistake of its own; what was acknowledged is in the state file")
        ctx.exit(DIED)
    _tell("stopped, everything is kept")


def _divide(settings: ServeSettings, agent: Settings) -> None:
    """Make what is kept that of so many workers."""
    from pathlib import Path

    from otel_loopguard.core.policy import Policy
    from otel_loopguard.core.policy_file.text import parse_policy
    from otel_loopguard.keys import text_of
    from otel_loopguard.service.division import divide
    from otel_loopguard.service.outgoing import sink_names
    from otel_loopguard.service.server import MEMORY, limits_of

    if settings.state_file == MEMORY:
        return
    policy = Policy() if agent.policy_file is None else parse_policy(text_of(Path(agent.policy_file)))
    divide(
        settings.state_file,
        settings.workers,
        policy=policy,
        limits=limits_of(settings),
        sinks=sink_names(settings),
        tell=_tell,
    )


def _started(server: Server | Supervisor) -> None:
    """Say where it listens, once it does."""
    what = {"grpc_address": "OTLP/gRPC", "http_address": "OTLP/HTTP", "page_address": "pages"}
    places = ", ".join(f"{what[name]} on port {port}" for name, port in server.ports.items())
    _tell(f"ready: {places}")


def _tell(sentence: str) -> None:
    click.echo(f"loopguard: {sentence}", file=sys.stderr)


def _sample() -> str:
    """A settings file in which everything stands as it is without one."""
    from otel_loopguard.service.settings import PREFIX, SETTINGS

    lines = [
        "# Settings of `loopguard serve`, each with its default. As a flag: --grpc-address,",
        f"# as a variable: {PREFIX}GRPC_ADDRESS.",
    ]
    group = ""
    for setting in SETTINGS:
        if setting.group != group:
            group = setting.group
            lines += ["", f"# {group}"]
        default = setting.default or '""'
        quoted = f'"{default}"' if ":" in default else default
        lines.append(f"{setting.name}: {quoted}  # {setting.help}")
    return "\n".join(lines) + "\n"
