"""In place of `vmask grid`: connects to Ray and says on which nodes tasks run, once all nodes are there."""

from __future__ import annotations

import sys
import time

import ray

ray.init(address=sys.argv[sys.argv.index("--address") + 1], logging_level="ERROR")


@ray.remote(num_cpus=1)
def node() -> str:
    time.sleep(1)  # so that one node is not enough
    return ray.util.get_node_ip_address()


nodes: set[str] = set()
for _ in range(60):
    nodes = set(ray.get([node.remote() for _ in range(2)]))
    if len(nodes) > 1:
        break
sys.stdout.write(f"tasks ran on {' '.join(sorted(nodes))}\n")
