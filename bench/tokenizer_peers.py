"""Tokenizing side by side, on one core: Megalith, tiktoken, Hugging Face tokenizers; CPU time.

    bench/tokenizer_peers.py TOKENIZER_BENCH SHARED_DIR [MB [MB_OF_PEERS]]

Text: English (Tiny Shakespeare, documentation), code (headers, Python) and Chinese and Japanese (gnupg's help, its lines shuffled) in
documents of about 8 kB, 6 : 3 : 1 by bytes. Each program gets the same documents, the peers the first MB_OF_PEERS of them.
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
import tiktoken
import tiktoken.load
import tokenizers

bench, shared = sys.argv[1], pathlib.Path(sys.argv[2])
megabytes, peers = (float(x) for x in (sys.argv[3:] + ["100", "10"][len(sys.argv) - 3:])[:2])
rng = random.Random(5)


def files(folder, *suffixes, most=2000):
    found = [p for p in sorted(pathlib.Path(folder).rglob("*")) if p.suffix in suffixes and p.is_file() and p.stat().st_size < 200000]
    rng.shuffle(found)
    return "\n".join(p.read_text(errors="ignore") for p in found[:most])


def documents(text):
    while True:
        i = rng.randrange(max(1, len(text) - 9000))
        yield text[i:i + rng.randrange(4000, 12000)]


def chinese():
    lines = [l for p in pathlib.Path("/usr/share/gnupg").glob("help.[zj]*.txt") for l in p.read_text(errors="ignore").split("\n") if l and not l.startswith("#")]
    lines = [l for l in lines if sum(ord(c) > 0x2E7F for c in l) * 2 > len(l)]
    return "\n".join(rng.choice(lines) for _ in range(40000))


english = documents((shared / "data/tiny-shakespeare.txt").read_text() + files("/usr/share/doc", ".md", ".txt") + files("/usr/share/perl", ".pod"))
code = documents(files("/usr/include/c++", ".h", ".hpp") + files("/usr/lib/python3.11", ".py") + files("/usr/include/linux", ".h"))
cjk = documents(chinese())
sources, docs, sizes = [english, code, cjk], [], [0, 0, 0]
while sum(sizes) < megabytes * 1e6:
    k = min(range(3), key=lambda i: sizes[i] / (6, 3, 1)[i])
    doc = next(sources[k]).replace("\0", " ")
    docs.append(doc)
    sizes[k] += len(doc.encode())
few, size = [], 0
for d in docs:
    if size >= peers * 1e6:
        break
    few.append(d)
    size += len(d.encode())


def best(name, encode, rounds=2):
    fastest = None
    for _ in range(rounds):
        start = time.process_time()
        for d in few:
            encode(d)
        seconds = time.process_time() - start
        fastest = min(fastest or seconds, seconds)
    print(f"{name:34} {size / 2**20 / fastest:8.2f} MiB/s  ({size / 1e6:.0f} MB)", flush=True)
    return size / 2**20 / fastest


def ours(name, file, *flags):
    told = [subprocess.run([bench, file, *map(str, flags)], capture_output=True, text=True, check=True).stdout.strip() for _ in range(3)]
    rates = sorted(float(t.split(" MiB/s")[0].split()[-1]) for t in told)
    print(f"{name:34} {rates[-1]:8.2f} MiB/s  (of three; slowest {rates[0]:.1f}; {told[-1]})", flush=True)
    return rates[-1]


data = shared / "data"
tiktoken.load.read_file_cached = lambda path, expected_hash=None: pathlib.Path(path).read_bytes()
pattern = r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
gpt2_pattern = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
cl100k = tiktoken.Encoding("cl100k", pat_str=pattern, mergeable_ranks=tiktoken.load.load_tiktoken_bpe(str(data / "cl100k_base.tiktoken")), special_tokens={})
ranks = tiktoken.load.data_gym_to_mergeable_bpe_ranks(str(data / "gpt2-merges.txt"), str(data / "gpt2-vocab.json"))
gpt2 = tiktoken.Encoding("gpt2", pat_str=gpt2_pattern, mergeable_ranks=ranks, special_tokens={})
olmo = tokenizers.Tokenizer.from_file(str(data / "olmo-tokenizer.json"))
with tempfile.TemporaryDirectory() as folder:
    whole, part = folder + "/whole", folder + "/part"
    pathlib.Path(whole).write_bytes("\0".join(docs).encode())
    pathlib.Path(part).write_bytes("\0".join(few).encode())
    print(f"{len(docs)} documents, {sum(sizes) / 1e6:.0f} MB: English {sizes[0] / 1e6:.0f}, code {sizes[1] / 1e6:.0f}, Chinese and Japanese {sizes[2] / 1e6:.0f}; "
          f"load average {os.getloadavg()[0]:.1f}")
    vocab = (data / "gpt2-vocab.json", data / "gpt2-merges.txt")
    g = [ours("GPT-2, Megalith, all", whole, "GPT2BPETokenizer", *vocab), ours("GPT-2, Megalith", part, "GPT2BPETokenizer", *vocab)]
    c = [ours("cl100k, Megalith, all", whole, "TikTokenizer", data / "cl100k_base.tiktoken"), ours("cl100k, Megalith", part, "TikTokenizer", data / "cl100k_base.tiktoken")]
    t = best("GPT-2, tiktoken", gpt2.encode_ordinary), best("cl100k, tiktoken", cl100k.encode_ordinary)
    h = best("GPT-2, Hugging Face tokenizers", olmo.encode, 1)
    ours("olmo tokenizer.json, Megalith", part, "HuggingFaceTokenizer", data / "olmo-tokenizer.json")
    ours("Mistral .model, Megalith", part, "SentencePieceTokenizer", data / "mistral-v1.tokenizer.model")
    ours("BERT uncased, Megalith", part, "BertWordPieceLowerCase", data / "bert-base-uncased-vocab.txt")
    print(f"same documents: GPT-2 {g[1] / t[0]:.1f} x tiktoken, {g[1] / h:.1f} x tokenizers; cl100k {c[1] / t[1]:.1f} x tiktoken, {c[1] / h:.1f} x tokenizers (on GPT-2)")
