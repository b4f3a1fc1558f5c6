"""The programs of a cluster: ``python -m vinesim.live.serve manager FOLDER`` and ``... agent FOLDER NODE``."""

import asyncio
import sys
from pathlib import Path

from vinesim.live.logs import log_to


def main(words: list[str]) -> None:
    """Run one of the programs. Each is loaded alone: an agent that loaded the manager too, and with it the policies,
    would start in three times the time."""
    program, folder = words[0], Path(words[1])
    if program == "manager":
        from vinesim.live.manager.program import manager

        log_to(folder / "logs" / "manager.jsonl")
        asyncio.run(manager(folder))
    else:
        from vinesim.live.agent.program import agent

        log_to(folder / "logs" / f"{words[2]}.jsonl")
        asyncio.run(agent(folder, words[2]))


if __name__ == "__main__":
    main(sys.argv[1:])
