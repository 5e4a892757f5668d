"""The command `megalith` of a wheel."""

import os
import sys
from pathlib import Path


def main():
    program = Path(__file__).parent / "bin" / "megalith"
    if not program.exists():
        sys.exit("megalith: this install of the module has no command beside it: install the package megalith")
    os.execv(program, ["megalith", *sys.argv[1:]])
