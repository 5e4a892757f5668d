"""Makes vectors/megatron_flags.txt: the names of all flags on a page or in a source file of Megatron-LM, one a line.
make_flags.py FILE ..."""
import pathlib
import re
import sys

found = set()
for name in sys.argv[1:]:
    found.update(re.findall(r"(?<![-A-Za-z0-9])--[a-z0-9][a-z0-9_-]*[a-z0-9]", pathlib.Path(name).read_text()))
(pathlib.Path(__file__).parent / "vectors/megatron_flags.txt").write_text("\n".join(sorted(found)) + "\n")
