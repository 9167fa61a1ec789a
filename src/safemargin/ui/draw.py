"""The program that draws: one Vega-Lite specification per line of input, one SVG per line of output.

It runs in a process of its own, because the JavaScript engine of the drawing library ends its process where it cannot
reserve memory. It imports nothing of safemargin, so that it starts quickly.
"""

import json
import sys


def main() -> None:
    """Draw until the input ends; a specification that cannot be drawn gives an empty picture."""
    import vl_convert  # here, so that the file can be imported for its path alone

    for line in sys.stdin:
        try:
            picture = vl_convert.vegalite_to_svg(json.loads(line))
        except BaseException:  # ValueError for a bad specification; a panic in Rust is no Exception
            picture = ""
        print(json.dumps(picture), flush=True)


if __name__ == "__main__":
    main()
