"""The plain definition of fill-in-the-middle with numpy's random numbers: reads a JSON file of cases, writes the tokens
of each as JSON. A character is a token of its code point, but "ab" is token 7."""
import json
import sys

import numpy

PREFIX, MIDDLE, SUFFIX, PAD, SPLIT, EOD = 1, 2, 3, 4, 5, 6


def decode(tokens):
    return "".join("ab" if t == 7 else chr(t) for t in tokens)


def encode(text):
    return [7 if c == "\0" else ord(c) for c in text.replace("ab", "\0")]


def pieces(tokens, mark):
    """[what lies before the first mark], [the mark, what follows it], ..."""
    out = [[]]
    for t in tokens:
        out.append([]) if t == mark else out[-1].append(t)
    return out


def joined(parts, mark):
    return sum(([mark] + p for p in parts[1:]), list(parts[0]))


def fill(tokens, rate, case, random):
    if not tokens or random.binomial(1, rate) == 0:
        return tokens
    text = decode(tokens)
    if case["no_prefix"] and text.startswith(case["no_prefix"]):
        return tokens
    low, high = sorted(random.randint(low=0, high=len(text) + 1, size=2))
    prefix, middle, suffix = encode(text[:low]), encode(text[low:high]), encode(text[high:])
    if random.binomial(1, case["spm_rate"]):
        return [PREFIX, SUFFIX, *suffix, MIDDLE, *prefix, *middle]
    return [PREFIX, *prefix, SUFFIX, *suffix, MIDDLE, *middle]


def document(tokens, case, random):
    if not case["split"] or SPLIT not in tokens:
        return fill(tokens, case["rate"], case, random)
    if random.binomial(1, case["rate"]) == 0:
        return tokens
    return joined([fill(p, case["fragment_rate"], case, random) for p in pieces(tokens, SPLIT)], SPLIT)


def sample(case):
    random = numpy.random.RandomState(case["seed"])
    tokens = joined([document(p, case, random) for p in pieces(case["tokens"], EOD)], EOD)
    size = len(case["tokens"])
    return (tokens + [PAD] * size)[:size]


with open(sys.argv[1]) as source, open(sys.argv[2], "w") as out:
    json.dump([sample(case) for case in json.load(source)], out)
