"""The agent as a program: it serves a node of the cluster in a folder."""

import asyncio
from pathlib import Path

from vinesim.live.address import Address
from vinesim.live.agent.agent import Agent
from vinesim.live.agent.records import node_folder
from vinesim.live.collecting import collect_less

NO_MANAGER_S = 0.1


async def agent(folder: Path, node: str) -> None:
    """Serve a node until the cluster is stopped."""
    address = Address.in_folder(folder)
    while True:
        try:
            host, port, token = address.read()
            break
        except OSError:
            await asyncio.sleep(NO_MANAGER_S)  # the manager is not up yet
    collect_less()
    await Agent(node, host, port, token, node_folder(folder, node)).run()
