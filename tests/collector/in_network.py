"""Runs programs in a network of their own, as containers that share one have it: started by `unshare --net`.

A plan as JSON on standard input: `services` stay, `agents` end; `ready` are pages that must answer before the agents
start, `asks` pages that must hold a text in the end. Prints what each ask held last.
"""

from __future__ import annotations

import fcntl
import json
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any, Final

SIOCSIFFLAGS: Final = 0x8914
IFF_UP: Final = 1
"""linux/sockios.h and linux/if.h: a new network has a loopback that is down."""
SECONDS: Final = 60


def main() -> None:
    """Do what the plan says."""
    plan = json.load(sys.stdin)
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))
    running = [start(service) for service in plan["services"]]
    held: dict[str, str] = {}
    try:
        wait(lambda: all(page(url) for url in plan["ready"]))
        for agent in plan["agents"]:
            start(agent).wait(SECONDS)
        wait(lambda: answered(plan["asks"], held))
    finally:
        for process in reversed(running):
            process.send_signal(signal.SIGTERM)
        codes = [process.wait(SECONDS) for process in running]
    json.dump({"held": held, "codes": codes}, sys.stdout)


def start(service: dict[str, Any]) -> subprocess.Popen[bytes]:
    """One program, its words in a file."""
    with Path(service["log"]).open("ab") as log:
        return subprocess.Popen(
            service["command"], env=service["environ"], cwd=service["folder"], stdout=log, stderr=log
        )


def wait(holds_now: Any) -> bool:  # noqa: ANN401 - a condition
    """Whether it came to hold in time."""
    pause, until = threading.Event(), time.monotonic() + SECONDS
    while not holds_now():
        if time.monotonic() > until:
            return False
        pause.wait(0.1)
    return True


def page(url: str) -> str:
    """What is there; "" while nothing is."""
    try:
        with urllib.request.urlopen(f"http://{url}", timeout=5) as answer:
            text: str = answer.read().decode()
            return text or "empty"
    except OSError:
        return ""


def answered(asks: dict[str, dict[str, str]], held: dict[str, str]) -> bool:
    """Whether every page holds its text; keeps what all of them hold."""
    held.update({name: page(ask["url"]) for name, ask in asks.items()})
    return all(ask["text"] in held[name] for name, ask in asks.items())


if __name__ == "__main__":
    main()
