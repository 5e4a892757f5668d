"""The command `megalith` in a wheel."""

import os
import sys
from pathlib import Path


def main():
    program = Path(__file__).parent / "bin" / "megalith"
    if not program.exists():
        sys.exit("megalith: this installation of the module has no command: install the package megalith")
    os.execv(program, ["megalith", *sys.argv[1:]])
