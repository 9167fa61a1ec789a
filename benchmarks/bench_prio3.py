"""Prio3 here and in `@divviup/prio3` under Node (npm), the same measurements in the same run; CPU time of one process.

NODE_MODULES names the folder with the package. Both speak draft 08 for the comparison; sessions use the current draft.
"""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from safemargin.aggregate.prio3.scheme import CURRENT, OLD, Prio3, WireDialect

NODE = """
import { Prio3SumVec, Prio3Histogram } from '@divviup/prio3';
import { randomBytes } from 'node:crypto';
const kinds = { 'Histogram of 10': [new Prio3Histogram({ shares: 2, length: 10, chunkLength: 3 }), 3],
  'Histogram of 100': [new Prio3Histogram({ shares: 2, length: 100, chunkLength: 10 }), 3],
  'SumVec of 100 bits': [new Prio3SumVec({ shares: 2, length: 100, bits: 1, chunkLength: 10 }),
    Array.from({ length: 100 }, (_, i) => i % 2)] };
for (const [name, [vdaf, measurement]] of Object.entries(kinds)) {
  const key = randomBytes(16), report = async () => {
    const nonce = randomBytes(16), made = await vdaf.shard(measurement, nonce, randomBytes(vdaf.randSize));
    const held = [];
    for (const place of [0, 1]) held.push(await vdaf.prepareInit(key, place, null, nonce,
      { jointRandParts: [...made.publicShare.jointRandParts] }, made.inputShares[place]));
    const message = await vdaf.unshardPreparationShares(null, held.map((each) => each.preparationShare));
    held.forEach((each) => vdaf.prepareNext(each.preparationState, message));
  };
  for (let i = 0; i < 20; i++) await report();
  const before = process.cpuUsage();
  for (let i = 0; i < 100; i++) await report();
  const used = process.cpuUsage(before);
  console.log(name + '\\t' + (used.user + used.system) / 100 / 1000);
}
"""


def ours(draft: WireDialect) -> dict[str, float]:
    """CPU milliseconds of a whole report: the client, both aggregators and the decision."""
    kinds = {
        "Histogram of 10": (Prio3.histogram(10, draft=draft), [3]),
        "Histogram of 100": (Prio3.histogram(100, draft=draft), [3]),
        "SumVec of 100 bits": (Prio3.sum_vec(100, 1, draft=draft), [0, 1] * 50),
    }
    found = {}
    for name, (scheme, measurement) in kinds.items():
        key, count = os.urandom(scheme.draft.seed), 100
        for attempt in range(20 + count):
            if attempt == 20:
                started = time.process_time()
            nonce = os.urandom(16)
            public, shares = scheme.shard(measurement, nonce, os.urandom(scheme.random_bytes))
            held = [scheme.verify_init(key, place, nonce, public, share) for place, share in enumerate(shares)]
            message = scheme.combine([each.verifier for each in held])
            for each in held:
                scheme.verify_next(each, message)
        found[name] = (time.process_time() - started) / count * 1000
    return found


def theirs() -> dict[str, float]:
    """The same by the other implementation; nothing where it is not installed."""
    modules = Path(os.environ.get("NODE_MODULES", "node_modules")).resolve()
    if shutil.which("node") is None or not (modules / "@divviup" / "prio3").exists():
        return {}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "node_modules").symlink_to(modules)
        (Path(folder) / "bench.mjs").write_text(NODE)
        ran = subprocess.run(["node", "bench.mjs"], cwd=folder, capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in ran.stdout.splitlines()]
    return {name: float(value) for name, value in rows}


def main() -> None:
    """Print one line per kind."""
    old, current, node = ours(OLD), ours(CURRENT), theirs()
    for name, value in old.items():
        other = f"{node[name]:.2f} ms, {node[name] / value:.1f} times as long" if name in node else "not installed"
        print(f"{name}: draft 08 {value:.2f} ms, current draft {current[name]:.2f} ms; @divviup/prio3 {other}")


if __name__ == "__main__":
    main()
