"""The process that draws: one specification per line of input, one picture per line of output. It imports nothing of
ours, so that it starts quickly.
"""

import json
import os
import sys

import vl_convert


def main() -> None:
    """Draw what comes until the input ends."""
    if hasattr(os, "nice"):
        os.nice(5)
    vl_convert.vegalite_to_svg({"mark": "bar", "data": {"values": []}})  # the first picture starts the engine
    for line in sys.stdin:
        print(json.dumps(vl_convert.vegalite_to_svg(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
