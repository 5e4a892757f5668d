"""Tokenizing side by side, on one core: Megalith, tiktoken, Hugging Face tokenizers, SentencePiece; CPU time.

    bench/tokenizer_peers.py BIN SHARED_DIR [MB [MB_OF_PEERS]]

BIN: the folder with tokenizer-bench and megalith. Text: documents of about 8 kB, 6 : 3 : 1 by bytes. English is Tiny
Shakespeare and documentation, code is headers and Python. Chinese and Japanese are gnupg's help, its lines shuffled.
Each program gets the same documents, the peers the first MB_OF_PEERS of them. Then it compares preprocess-data on all
documents with the encoder alone, on one core and two. Last are words of 2.5, 5 and 10 MB.
"""
import json
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
import sentencepiece
import tiktoken
import tiktoken.load
import tokenizers

bench, megalith, shared = sys.argv[1] + "/tokenizer-bench", sys.argv[1] + "/megalith", pathlib.Path(sys.argv[2])
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
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


def hf_cl100k():
    """The same ranks as a tokenizer.json, by the converter of transformers."""
    from transformers.convert_slow_tokenizer import TikTokenConverter
    return TikTokenConverter(vocab_file=str(data / "cl100k_base.tiktoken"), pattern=llama_pattern, extra_special_tokens={}).converted()


def preprocess(folder, input, workers, flags):
    """CPU seconds and wall seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([megalith, "preprocess-data", "--input", input, "--output-prefix", folder + "/out", "--workers", str(workers), "--log-interval", "1000000000",
                    "--append-eod", "--tokenizer-type", *map(str, flags)], capture_output=True, check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def end_to_end(folder, name, bare, *flags):
    """JSON lines to .bin and .idx, less what an empty file takes; the text's MiB as for the bare encoder."""
    lines, empty = folder + "/all.jsonl", folder + "/empty.jsonl"
    pathlib.Path(lines).write_text("".join(json.dumps({"text": d}, ensure_ascii=False) + "\n" for d in docs))
    pathlib.Path(empty).write_text("")
    mib = sum(sizes) / 2**20
    idle = min(preprocess(folder, empty, 1, flags) for _ in range(3))
    one = min(preprocess(folder, lines, 1, flags) for _ in range(3))
    rate = mib / (one[0] - idle[0])
    core = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(2))
    two = min((preprocess(folder, lines, 2, flags) for _ in range(3)), key=lambda r: r[1])
    os.sched_setaffinity(0, core)
    print(f"{name}, preprocess-data: {rate:.1f} MiB/s of CPU time ({100 * rate / bare:.0f}% of the bare encoder), {mib / (one[1] - idle[1]):.1f} MiB/s by the clock; "
          f"two workers: {two[0] / one[0]:.2f} of the CPU time, {mib / (two[1] - idle[1]):.1f} MiB/s by the clock", flush=True)


def words(folder, vocab):
    """Words without a space: nanoseconds a byte at 2.5, 5 and 10 MB."""
    size = 10_000_000
    kinds = {"a": "a" * size, "ab": "ab" * (size // 2), "the": "the" * (size // 3), "random letters": "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=size)),
             "random digits": "".join(rng.choices("0123456789", k=size)), "spaces": " " * size, "Chinese": "".join(chr(rng.randrange(0x4E00, 0x9FA5)) for _ in range(size // 3))}
    for kind, text in kinds.items():
        told = []
        for part in (2_500_000, 5_000_000, 10_000_000):
            pathlib.Path(folder + "/word").write_bytes(text.encode()[:part])
            out = [subprocess.run([bench, folder + "/word", "GPT2BPETokenizer", *map(str, vocab)], capture_output=True, text=True, check=True).stdout for _ in range(3)]
            told.append(min(float(o.split(" s,")[0].split()[-1]) for o in out) / part * 1e9)
        print(f"one word of {kind}: " + ", ".join(f"{t:.0f}" for t in told) + " ns a byte at 2.5, 5, 10 MB", flush=True)


data = shared / "data"
llama_pattern = r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
tiktoken.load.read_file_cached = lambda path, expected_hash=None: pathlib.Path(path).read_bytes()
pattern = r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
gpt2_pattern = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
cl100k = tiktoken.Encoding("cl100k", pat_str=pattern, mergeable_ranks=tiktoken.load.load_tiktoken_bpe(str(data / "cl100k_base.tiktoken")), special_tokens={})
ranks = tiktoken.load.data_gym_to_mergeable_bpe_ranks(str(data / "gpt2-merges.txt"), str(data / "gpt2-vocab.json"))
gpt2 = tiktoken.Encoding("gpt2", pat_str=gpt2_pattern, mergeable_ranks=ranks, special_tokens={})
hf_gpt2 = tokenizers.ByteLevelBPETokenizer(str(data / "gpt2-vocab.json"), str(data / "gpt2-merges.txt"))
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
    h = best("GPT-2, Hugging Face tokenizers", hf_gpt2.encode, 1), best("cl100k, Hugging Face tokenizers", hf_cl100k().encode, 1)
    m = ours("Mistral .model, Megalith", part, "SentencePieceTokenizer", data / "mistral-v1.tokenizer.model")
    u = ours("unigram .model, Megalith", part, "SentencePieceTokenizer", data / "spm-unigram-test.model")
    sp = [best(f"{name}, sentencepiece", sentencepiece.SentencePieceProcessor(str(data / file)).encode, 1)
          for name, file in (("Mistral .model", "mistral-v1.tokenizer.model"), ("unigram .model", "spm-unigram-test.model"))]
    ours("olmo tokenizer.json, Megalith", part, "HuggingFaceTokenizer", data / "olmo-tokenizer.json")
    ours("BERT uncased, Megalith", part, "BertWordPieceLowerCase", data / "bert-base-uncased-vocab.txt")
    print(f"same documents: GPT-2 {g[1] / t[0]:.1f} x tiktoken, {g[1] / h[0]:.1f} x tokenizers; cl100k {c[1] / t[1]:.1f} x tiktoken, {c[1] / h[1]:.1f} x tokenizers; "
          f"Mistral {m / sp[0]:.1f} x, unigram {u / sp[1]:.1f} x sentencepiece")
    end_to_end(folder, "GPT-2", g[0], "GPT2BPETokenizer", "--vocab-file", vocab[0], "--merge-file", vocab[1])
    end_to_end(folder, "cl100k", c[0], "TikTokenizer", "--tokenizer-model", data / "cl100k_base.tiktoken")
    words(folder, vocab)
