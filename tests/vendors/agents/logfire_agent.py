"""logfire, configured twice: each time it makes a provider anew, behind a proxy."""

import logfire
from reached import report

for _ in range(2):
    logfire.configure(send_to_logfire=False, console=False)

with logfire.span("agent", **{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}):
    for arguments in ('{"q": "canary", "n": 1}', '{"n": 1, "q": "canary"}', '{"q": "canary 2", "n": 1}'):
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "search",
            "gen_ai.tool.call.arguments": arguments,
        }
        with logfire.span("execute_tool search", **attributes) as span:
            span.set_attribute("gen_ai.tool.call.result", "canary result")
report()
logfire.force_flush()
