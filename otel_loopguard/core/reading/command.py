"""Programs handed over as arguments: whether one that prints nothing has found nothing, or has simply done its work.

Not a parser of shells: words in known places decide, and a line that nobody knows is taken for work, because that is
what most programs do in silence. `grep` and `SELECT` without an answer found nothing; `git add` and `INSERT` without
one have succeeded, `diff` has found no difference, and code that prints nothing has run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

__all__ = ["searches", "works_in_silence"]

_SHELL: Final = ("command", "cmd", "script")
"""Arguments that hold a shell's line, or the list of its words."""
_SQL: Final = ("sql", "query", "statement")
_QUERY: Final = re.compile(r"\s*(?:select|with|show|describe|desc|explain|pragma|values)\b", re.IGNORECASE)
_CHANGES: Final = re.compile(
    r"\s*(?:(?:insert|replace)\s+into|update\s+\S+\s+set|delete\s+from|merge\s+into|truncate\s+\w"
    r"|(?:create|alter|drop)\s+(?:or\s+replace\s+)?(?:temp\w*\s+|unique\s+)?"
    r"(?:table|index|view|database|schema|trigger|sequence|function|procedure|role|user|column|type)\b"
    r"|(?:grant|revoke)\s+\w|begin\b|commit\b|rollback\b)",
    re.IGNORECASE,
)
_LONGEST: Final = 4096
"""Characters of a line that are looked at."""
_WORDS_AT_MOST: Final = 64
_HEREDOC: Final = re.compile(r"<<-?\s*[\"']?\w+[\"']?")
_QUOTED: Final = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"")
_NO_FILE: Final = re.compile(r"\d?>>?\s*(?:&\s*\d|/dev/(?:null|stdout|stderr))|&>>?\s*/dev/null|2>>?\s*[^\s;|&]+")
_BETWEEN: Final = re.compile(r"[;\n|&(){}`]+|\$\(")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_WRAPPERS: Final = frozenset(
    ["sudo", "env", "nice", "time", "nohup", "timeout", "xargs", "bash", "sh", "zsh", "dash", "then", "do", "else",
     "if", "while", "!", "command", "exec"]
)  # fmt: skip
_ASKING: Final = frozenset(
    ["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "find", "fd", "locate", "ls", "dir", "tree", "tac", "nl",
     "head", "tail", "less", "more", "awk", "gawk", "sed", "cut", "sort", "uniq", "wc", "tr", "comm", "strings",
     "hexdump", "xxd", "od", "file", "stat", "du", "df", "which", "whereis", "type", "ps", "pgrep", "lsof", "netstat",
     "ss", "env", "printenv", "echo", "printf", "jq", "yq", "xmllint", "curl", "wget", "dig", "host", "nslookup",
     "history", "column", "paste", "basename", "dirname", "readlink", "realpath"]
)  # fmt: skip
"""Programs that print what they are asked for. `cat` and `diff` are none: silence is the whole of an empty file, and
says that two files are equal."""
_ASKING_OF: Final[Mapping[str, frozenset[str]]] = {
    "git": frozenset(
        ["log", "grep", "diff", "show", "status", "branch", "tag", "blame", "ls-files", "ls-tree", "remote",
         "rev-parse", "rev-list", "reflog", "describe", "config"]
    ),
    "kubectl": frozenset(["get", "logs", "describe", "top"]),
    "docker": frozenset(["ps", "logs", "images", "inspect"]),
    "pip": frozenset(["list", "show", "freeze", "search"]),
    "npm": frozenset(["ls", "list", "view", "search"]),
}  # fmt: skip
"""What of a program's first words asks."""
_ACTING: Final = frozenset(
    ["rm", "rmdir", "mv", "cp", "ln", "mkdir", "touch", "tee", "chmod", "chown", "chgrp", "install", "truncate", "dd",
     "rsync", "patch", "kill", "pkill"]
)  # fmt: skip
"""Programs that change something, whatever asks for it in the same line."""
_SENDING: Final = re.compile(
    r"\s(?:-[A-Za-z]*[oOdFT]\b|--(?:output|remote-name|data|form|json|upload-file)|(?:-X|--request)[ =]?(?:P|DEL))"
)
"""Options with which `curl` sends something or writes a file."""
_PRINTING: Final = re.compile(
    r"\b(?:print|printf|println|display|show|echo|puts|pprint|cat|message)\b|console\.|stdout|Print", re.ASCII
)
"""What a program in some language prints with."""
_IN_PLACE: Final = re.compile(
    r"\s(?:-delete|-exec(?:dir)?\s+(?:\S*/)?(?:rm|mv|cp|ln|chmod|chown|sed\s+-i)|-i\b|--in-place)"
)


def works_in_silence(arguments: object) -> bool:
    """Whether these arguments hold a program that says nothing when its work is done."""
    if not isinstance(arguments, Mapping):
        return False
    for name in _SQL:
        text = arguments.get(name)
        if isinstance(text, str) and _CHANGES.match(text) is not None:
            return True
    code = arguments.get("code")
    if isinstance(code, str) and code.strip():
        return _PRINTING.search(code[:_LONGEST]) is None
    for name in _SHELL:
        line = arguments.get(name)
        if isinstance(line, list):
            line = " ".join(word for word in line[:_WORDS_AT_MOST] if isinstance(word, str))
        if isinstance(line, str):
            if _CHANGES.match(line) is not None:
                return True
            alone = len(arguments) == 1
            return (" " in line.strip() or (alone and line.strip() != "")) and not _asks(line[:_LONGEST])
    return False


def searches(arguments: object) -> bool:
    """Whether these arguments are a shell's line that asks: of `grep` a status of 1 says that there was no hit."""
    if not isinstance(arguments, Mapping):
        return False
    lines = (arguments.get(name) for name in _SHELL)
    return any(isinstance(line, str) and _asks(line[:_LONGEST]) for line in lines)


def _asks(line: str) -> bool:
    """Whether a line is about what it prints."""
    if _QUERY.match(line) is not None:
        return True
    line = _HEREDOC.split(line, maxsplit=1)[0] + " <<" if _HEREDOC.search(line) else line
    for quoted in ("bash -c", "bash -lc", "sh -c"):
        if quoted in line:
            line = line.replace('"', " ").replace("'", " ")
    bare = _NO_FILE.sub(" ", _QUOTED.sub(" '' ", line))
    if ">" in bare or _IN_PLACE.search(bare) is not None:
        return False
    asks = False
    for program, following in _programs(bare):
        if program in _ACTING or (program == "curl" and _SENDING.search(bare) is not None):
            return False
        asks = asks or program in _ASKING or following in _ASKING_OF.get(program, ())
    return asks


def _programs(line: str) -> Iterator[tuple[str, str]]:
    """The programs of a line, each with the first word behind it that is no option."""
    for part in _BETWEEN.split(line):
        words = [word for word in part.split() if not word.startswith("-") and _ASSIGNMENT.match(word) is None]
        while words and (words[0] in _WRAPPERS or words[0].isdigit()):
            del words[0]
        if words:
            yield words[0].rsplit("/", 1)[-1], words[1] if len(words) > 1 else ""
