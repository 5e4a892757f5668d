"""Writes texts, and what Hugging Face tokenizers, tiktoken and sentencepiece make of them, for reference_test.cpp.

    reference.py FOLDER SHARED_DIR SOURCE_DIR [COUNT]      (what SHARED_DIR lacks is taken from the tree)

FOLDER gets texts.bin and manifest.json: a list of cases. Each has the tokenizer's settings, and a file of its ids and
their decoded text. Exits with 77 where a package cannot be imported or is too old.
"""
import json
import os
import pathlib
import random
import struct
import sys
import unicodedata

try:
    import sentencepiece
    import tiktoken
    import tokenizers
    from tokenizers import Tokenizer
except ImportError as e:
    print(e)
    sys.exit(77)
if tuple(int(n) for n in sentencepiece.__version__.split(".")[:3]) < (0, 2, 2):
    print(f"sentencepiece {sentencepiece.__version__} rounds sums of scores otherwise: 0.2.2 or newer is needed")
    sys.exit(77)

folder, shared, source = (pathlib.Path(p) for p in sys.argv[1:4])
count = int(sys.argv[4]) if len(sys.argv) > 4 else 10000


def first_of(in_shared, in_tree):
    """A file of SHARED_DIR, else the small one of the same kind in the tree."""
    return shared / in_shared if (shared / in_shared).exists() else source / "tests/golden/tokenizers" / in_tree


def style(name):
    return first_of(f"formats/vectors/{name}-style-mini.tokenizer.json", f"{name}.tokenizer.json")


def prose():
    """English text: of SHARED_DIR, else our documents."""
    found = shared / "data/tiny-shakespeare.txt"
    if found.exists():
        return found.read_text()
    return "\n\n".join(page.read_text() for page in sorted((source / "docs").glob("*.md")))


rng = random.Random(20)

ALL = [c for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cs", "Cn")]
BLOCKS = [(0x20, 0x7F), (0x80, 0x250), (0x300, 0x370), (0x370, 0x530), (0x590, 0x700), (0x900, 0xE00), (0xE00, 0x1100),
          (0x1100, 0x1200), (0x1E00, 0x2000), (0x2000, 0x2070), (0x2100, 0x2200), (0x3000, 0x3100), (0x3100, 0x3400), (0x4E00, 0x5200),
          (0xA640, 0xA6A0), (0xAC00, 0xAD00), (0xF900, 0xFB00), (0xFB00, 0xFE00), (0xFE00, 0x10000), (0x10D00, 0x10D90), (0x16EA0, 0x16EE0),
          (0x1F100, 0x1F200), (0x1F300, 0x1F700), (0x1F900, 0x1FA00), (0x20000, 0x20100), (0xE0000, 0xE0100)]
EMOJI = ["\U0001F468\u200D\U0001F469\u200D\U0001F467", "\U0001F1E9\U0001F1EA", "\u2764\uFE0F", "\U0001F44D\U0001F3FD", "1\uFE0F\u20E3"]
ODD = [" ", "  ", "\n", "\r\n", "\t", "\u3000", "\u00A0", "\u2581", "\u200B", "\uFEFF", "\x00", "\x01", "\x7F", "\x85", "'s", "'S", "'LL", "'\u017F",
       "'re", "n't", "ﬁ", "①", "Å", "e\u0301", "\u1100\u1161\u11A8", "가\u11A8", "ß", "İ", "Σ", "ǅ", "<unk>", "<s>", "</s>", "<|endoftext|>",
       "<|im_start|>", "<|eot_id|>", "[CLS]", "[MASK]", "<0x41>", "<x>", " <x> ", "<w>", "Hello", "123", "1234567", "don't", "--", "...", "//", "/\n"]


def piece():
    kind = rng.randrange(9)
    if kind == 0:
        return "".join(chr(rng.choice(ALL)) for _ in range(rng.randrange(1, 6)))
    if kind == 1:
        lo, hi = rng.choice(BLOCKS)
        return "".join(chr(rng.randrange(lo, hi)) for _ in range(rng.randrange(1, 12)))
    if kind == 2:
        return rng.choice(EMOJI)
    if kind == 3:
        return "".join(chr(rng.randrange(32, 127)) for _ in range(rng.randrange(1, 12)))
    if kind == 4:
        return rng.choice(" \n\t\r") * rng.randrange(1, 30)
    if kind == 5:
        return rng.choice("abAz9é文") * rng.randrange(1, 300 if rng.randrange(20) == 0 else 20)
    return rng.choice(ODD)


def texts():
    out = ["", " ", "a"]
    while len(out) < count:
        out.append("".join(piece() for _ in range(rng.randrange(1, 14))))
    english = prose()
    out += english.split("\n\n")[:1500]
    out.append(english[:100000])
    out += ["a" * 20000, "ab" * 8000, "the" * 5000, " " * 9000, "1" * 9000, "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=20000)),
            "".join(rng.choices("aetT", k=20000)), "".join(chr(rng.randrange(0x4E00, 0x9FA5)) for _ in range(6000))]  # long words
    # Ways to cut a text whose sums of scores differ in their last bits only: near the start, and where sums are large.
    out += ["." * n for n in range(5, 120, 3)] + [" ".join("." * rng.randrange(7, 60) for _ in range(1500))]
    out += ["".join(f"{rng.choice(english.split())}_{rng.randrange(100)} {rng.random():.8f}\n" for _ in range(1000)) for _ in range(3)]
    built = lambda p: any(part.startswith("build") for part in p.relative_to(source).parts)
    files = [p for p in sorted(source.rglob("*")) if p.suffix in (".cpp", ".h", ".md", ".py", ".cu", ".txt") and not built(p)]
    out += [p.read_text(errors="replace") for p in files[:: max(1, len(files) // 150)] if p.stat().st_size < 60000]
    return out


def added(content, **flags):
    return dict(id=0, content=content, single_word=False, lstrip=False, rstrip=False, normalized=False, special=True) | flags


def variants():
    """Components that no file in the data has, on top of the small files there."""
    read = lambda name: json.loads(style(name).read_text())
    qwen, llama, mistral = read("qwen"), read("llama3"), read("mistral")
    byte = dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=False)
    split = lambda regex, behavior="Isolated", invert=False: dict(type="Split", pattern=dict(Regex=regex), behavior=behavior, invert=invert)
    seq = lambda *steps: dict(type="Sequence", pretokenizers=list(steps))
    norms = {form: dict(type=form) for form in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel")}
    norms["Strip"] = dict(type="Strip", strip_left=True, strip_right=True)
    norms["StripLeft"] = dict(type="Strip", strip_left=True, strip_right=False)
    norms["Replace"] = dict(type="Replace", pattern=dict(Regex=r"\s+|a*"), content="X")
    norms["ReplaceText"] = dict(type="Replace", pattern=dict(String="an"), content="")
    norms["Sequence"] = dict(type="Sequence", normalizers=[norms["NFD"], norms["StripAccents"], norms["Lowercase"], dict(type="Prepend", prepend="z")])
    for flags in range(16):
        norms[f"Bert{flags}"] = dict(type="BertNormalizer", clean_text=bool(flags & 1), handle_chinese_chars=bool(flags & 2),
                                     strip_accents=[None, True][flags >> 2 & 1], lowercase=bool(flags & 8))
    for name, spec in norms.items():
        yield "normalizer-" + name, qwen | dict(normalizer=spec, pre_tokenizer=byte, post_processor=None)
    o200k = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
             r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
             r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
    deepseek = [split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"),
                split("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*"
                      "|\\s*[\r\n]+|\\s+(?!\\S)|\\s+")]
    cuts = {
        "gpt2-prefix": dict(type="ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True),
        "o200k": seq(split(o200k), byte), "o200k-removed": seq(split(o200k, "Removed", True), byte), "deepseek": seq(*deepseek, byte),
        "digits": seq(dict(type="Digits", individual_digits=True), byte), "digits-runs": seq(dict(type="Digits", individual_digits=False), byte),
        "whitespace": seq(dict(type="Whitespace"), byte), "whitespace-split": seq(dict(type="WhitespaceSplit"), byte),
        "bert": seq(dict(type="BertPreTokenizer"), byte), "char": seq(dict(type="CharDelimiterSplit", delimiter="e"), byte),
        "fixed": seq(dict(type="FixedLength", length=3), byte), "bytes-first": seq(byte, split(r"\p{L}+")),
        "falcon": seq(dict(type="Punctuation", behavior="Contiguous"), dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=True),
                      dict(type="Digits", individual_digits=False), split("[0-9][0-9][0-9]")),
        "bloom": seq(split(r" ?[^(\s|[.,!?…。，、।۔،])]+" .replace("[.,", ".,").replace("،])", "،)")), byte),
        "word": seq(split(r"\w+|\d|\h"), byte), "negative": seq(split(r"\W+|\S"), byte), "lines": seq(split(r"^.|.$|(?m:a.b)", "MergedWithNext"), byte),
        "boundary": seq(split(r"\d{1,3}(?=(?:\d{3})*\b)|e\b|\Bt"), byte), "scripts": seq(split(r"[\p{Han}\p{Hiragana}]+|\p{Latin}", "Removed"), byte),
        "posix": seq(split(r"[[:punct:]]+|[[:upper:]][[:lower:]a]|[^[:alnum:][:space:]]"), byte),
        "text": seq(dict(type="Split", pattern=dict(String="a."), behavior="Removed", invert=False), byte),
    }
    for behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        cuts["punctuation-" + behavior] = seq(dict(type="Punctuation", behavior=behavior), byte)
        for invert in (False, True):
            cuts[f"split-{behavior}-{invert}"] = seq(split(r"\s|e+|x*", behavior, invert), byte)
    for name, spec in cuts.items():
        yield "pre-" + name, qwen | dict(normalizer=None, pre_tokenizer=spec)
    for scheme in ("always", "first", "never"):
        for cut in (True, False):
            meta = dict(type="Metaspace", replacement="▁", prepend_scheme=scheme, split=cut)
            yield f"metaspace-{scheme}-{cut}", mistral | dict(normalizer=None, pre_tokenizer=meta, decoder=meta)
        yield f"metaspace-words-{scheme}", mistral | dict(normalizer=None, pre_tokenizer=seq(dict(type="WhitespaceSplit"), meta), decoder=meta)
    model = lambda file, **changes: file | dict(model=file["model"] | changes)
    yield "bpe-no-fallback", model(mistral, byte_fallback=False)
    yield "bpe-no-fuse", model(mistral, byte_fallback=False, fuse_unk=False)
    yield "bpe-no-unk", model(mistral, byte_fallback=False, unk_token=None)
    yield "bpe-ignore-merges", model(mistral, ignore_merges=True) | dict(normalizer=None, pre_tokenizer=dict(type="WhitespaceSplit"))
    some_bytes = {k: i for i, k in enumerate(k for k in mistral["model"]["vocab"] if k not in ("<0xE4>", "<0xC3>"))}
    yield "bpe-some-bytes", model(mistral, vocab=some_bytes, merges=[m for m in mistral["model"]["merges"]
                                                                        if all(p in some_bytes for p in (m if isinstance(m, list) else m.split(" ")))])
    yield "llama-ignore-merges-off", model(llama, ignore_merges=False)
    yield "added-spaces", qwen | dict(normalizer=None, added_tokens=qwen["added_tokens"] + [added(" ", lstrip=True, rstrip=True), added("\n", rstrip=True)])
    tokens = [added("<x>", lstrip=True), added("<|im_start|>", rstrip=True), added("<w>", single_word=True), added("Hello", normalized=True, special=False),
              added("don't", normalized=True, special=False, single_word=True), added("<0x41>", lstrip=True, rstrip=True), added(" <x> "), added("▁")]
    for name, file in (("qwen", qwen), ("mistral", mistral)):
        # Once each: of a content that a file lists twice, AutoTokenizer takes another one than tokenizers does.
        others = [t for t in file["added_tokens"] if t["content"] not in [own["content"] for own in tokens]]
        yield "added-" + name, file | dict(added_tokens=others + tokens)
    yield "added-lower", qwen | dict(added_tokens=[t | dict(normalized=True) for t in tokens], normalizer=norms["Lowercase"])
    suffix_vocab = {c: i for i, c in enumerate(["<unk>"] + [chr(c) + e for c in range(33, 127) for e in ("", "</w>")] + ["th", "the</w>", "##he", "in"])}
    yield "bpe-suffix", dict(qwen, normalizer=norms["Lowercase"], added_tokens=[], pre_tokenizer=dict(type="Whitespace"), post_processor=None,
                             decoder=dict(type="BPEDecoder", suffix="</w>"),
                             model=dict(type="BPE", vocab=suffix_vocab, merges=["t h", "th e</w>", "i n"], unk_token="<unk>", end_of_word_suffix="</w>"))
    prefix_vocab = {c: i for i, c in enumerate(["<unk>"] + [e + chr(c) for c in range(97, 123) for e in ("", "##")] + ["th", "the", "##in"])}
    yield "bpe-prefix", dict(qwen, normalizer=None, added_tokens=[], pre_tokenizer=dict(type="Whitespace"), post_processor=None,
                             decoder=dict(type="WordPiece", prefix="##", cleanup=True),
                             model=dict(type="BPE", vocab=prefix_vocab, merges=["t ##h", "th ##e", "##i ##n"], unk_token="<unk>", fuse_unk=True,
                                        continuing_subword_prefix="##"))
    for processor in (dict(type="BertProcessing", sep=["</s>", 2], cls=["<s>", 1]),
                      dict(type="RobertaProcessing", sep=["</s>", 2], cls=["<s>", 1], trim_offsets=True, add_prefix_space=True)):
        yield "post-" + processor["type"], mistral | dict(post_processor=processor)
    yield from unigrams(mistral, seq)
    yield from decoders(mistral)


def unigrams(mistral, seq):
    file = first_of("data/spm-unigram-test.model", "unigram.model")
    spm = sentencepiece.SentencePieceProcessor(str(file))
    vocab = [[spm.id_to_piece(i), spm.get_score(i)] for i in range(len(spm))]
    blob = charsmap(file)
    import base64
    t5 = dict(mistral, added_tokens=[added("<unk>"), added("</s>")], normalizer=dict(type="Precompiled", precompiled_charsmap=base64.b64encode(blob).decode()),
              pre_tokenizer=dict(type="Metaspace", replacement="▁", prepend_scheme="always", split=True), decoder=dict(type="Metaspace", replacement="▁"),
              post_processor=None, model=dict(type="Unigram", unk_id=0, vocab=vocab, byte_fallback=False))
    yield "unigram", t5
    yield "unigram-whole", t5 | dict(pre_tokenizer=None, decoder=None)
    yield "unigram-old", t5 | dict(pre_tokenizer=seq(dict(type="WhitespaceSplit"), t5["pre_tokenizer"]))
    yield "unigram-bytes", t5 | dict(model=dict(type="Unigram", unk_id=0, byte_fallback=True, vocab=vocab + [[f"<0x{b:02X}>", -20.0] for b in range(256)]))
    # Sums of scores that are equal but for the last bit, which depends on how digits are read; and a token that is there twice.
    ties = [["<unk>", 0.0], ["▁", -4.354345807108156], ["1", -7.4867041378822154], ["11", -7.4867041378822154], ["1111", -8.00662416923997],
            ["111", -9.4867041378822159], ["a", -5.117908161784809], ["aa", -5.1179081617848091], ["aaa", -6.3719040393475811], ["a", -5.2]]
    yield "unigram-ties", t5 | dict(normalizer=None, model=dict(type="Unigram", unk_id=0, vocab=ties, byte_fallback=False))
    words = {w: i for i, w in enumerate(["<unk>", "the", "of", "Hello", "123"])}
    yield "word-level", t5 | dict(normalizer=None, pre_tokenizer=dict(type="Whitespace"), model=dict(type="WordLevel", vocab=words, unk_token="<unk>"))


def decoders(mistral):
    replace = dict(type="Replace", pattern=dict(String="▁"), content=" ")
    for name, spec in {
        "none": None, "strip": dict(type="Sequence", decoders=[replace, dict(type="Strip", content="t", start=0, stop=1)]),
        "regex": dict(type="Replace", pattern=dict(Regex="[aeiou]+"), content="_"), "ctc": dict(type="CTC", pad_token="<s>", word_delimiter_token="▁", cleanup=True),
        "wordpiece": dict(type="WordPiece", prefix="▁", cleanup=True), "bytes": dict(type="ByteFallback"), "level": dict(type="ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True),
        "meta-never": dict(type="Metaspace", replacement="▁", prepend_scheme="never", split=True),
    }.items():
        yield "decoder-" + name, mistral | dict(decoder=spec)


def charsmap(model):
    """precompiled_charsmap of a .model: normalizer_spec (3) of the model, field 2 of it."""
    def fields(data):
        i = 0
        def varint():
            nonlocal i
            value = shift = 0
            while True:
                byte = data[i]
                i += 1
                value |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    return value
        while i < len(data):
            tag = varint()
            if tag & 7 == 2:
                size = varint()
                yield tag >> 3, data[i:i + size]
                i += size
            elif tag & 7 == 5:
                i += 4
            else:
                varint()
    spec = next(v for k, v in fields(model.read_bytes()) if k == 3)
    return next(v for k, v in fields(spec) if k == 2)


def ids_or_none(tokenizer, text):
    try:
        return tokenizer.encode(text).ids
    except BaseException as e:
        if isinstance(e, KeyboardInterrupt):
            raise
        return None


def cases():
    """Name, the tokenizer's settings, texts -> ids, ids -> bytes or None."""
    hugging = lambda t: (lambda all: [ids_or_none(t, text) for text in all], lambda ids: t.decode(ids, skip_special_tokens=False).encode())
    for name in ("qwen", "llama3", "mistral"):
        yield name, dict(type="HuggingFaceTokenizer", model=str(style(name))), *hugging(Tokenizer.from_file(str(style(name))))
    file = shared / "data/olmo-tokenizer.json"
    if file.exists():
        yield "olmo", dict(type="HuggingFaceTokenizer", model=str(file)), *hugging(Tokenizer.from_file(str(file)))
    vocab, merges = (str(first_of(f"data/gpt2-{file}", file)) for file in ("vocab.json", "merges.txt"))
    gpt2 = tokenizers.ByteLevelBPETokenizer(vocab, merges)
    gpt2.add_special_tokens(["<|endoftext|>"])
    yield "gpt2", dict(type="GPT2BPETokenizer", vocab=vocab, merges=merges), *hugging(gpt2)
    words = str(first_of("data/bert-base-uncased-vocab.txt", "bert-vocab.txt"))
    for lower in (True, False):
        bert = tokenizers.BertWordPieceTokenizer(words, lowercase=lower)
        yield f"bert-{lower}", dict(type="BertWordPieceLowerCase" if lower else "BertWordPieceCase", vocab=words), *hugging(bert)
    file = first_of("data/cl100k_base.tiktoken", "ranks.tiktoken")
    for name, pattern, special in encodings():
        ranks = tiktoken.load.load_tiktoken_bpe(str(file))
        known = special if len(ranks) == 100256 else {}  # that we know of a file with so many ranks
        e = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=known)
        yield name, dict(type="TikTokenizer", model=str(file), pattern=name.split("-")[0]), \
            lambda all, e=e: [e.encode(t, allowed_special="all") for t in all], e.decode_bytes
    for name, small in (("mistral-v1.tokenizer.model", "bpe.model"), ("spm-unigram-test.model", "unigram.model")):
        file = str(first_of(f"data/{name}", small))
        spm = sentencepiece.SentencePieceProcessor(file)
        yield name, dict(type="SentencePieceTokenizer", model=file), lambda all, s=spm: [s.encode(t) for t in all], lambda ids, s=spm: s.decode(ids).encode()
    (folder / "prose.txt").write_text(prose())
    for name, options in sentencepiece_models():
        sentencepiece.SentencePieceTrainer.train(input=str(folder / "prose.txt"), model_prefix=str(folder / name), vocab_size=700, num_threads=1,
                                                 character_coverage=0.98, minloglevel=2, input_sentence_size=2500,
                                                 shuffle_input_sentence=False, **options)
        spm = sentencepiece.SentencePieceProcessor(str(folder / f"{name}.model"))
        yield name, dict(type="SentencePieceTokenizer", model=str(folder / f"{name}.model")), \
            lambda all, s=spm: [s.encode(t) for t in all], lambda ids, s=spm: s.decode(ids).encode()
    for name, file in variants():
        path = folder / f"{name}.json"
        path.write_text(json.dumps(file))
        yield name, dict(type="HuggingFaceTokenizer", model=str(path)), *hugging(Tokenizer.from_file(str(path)))


def sentencepiece_models():
    """Models of our own with other normalizations, white space and unknown characters than the two files have."""
    yield "spm-bpe", dict(model_type="bpe")
    yield "spm-bpe-identity", dict(model_type="bpe", normalization_rule_name="identity", remove_extra_whitespaces=False, byte_fallback=True)
    yield "spm-bpe-no-prefix", dict(model_type="bpe", normalization_rule_name="nfkc_cf", add_dummy_prefix=False, byte_fallback=True)
    yield "spm-bpe-suffix", dict(model_type="bpe", treat_whitespace_as_suffix=True)
    yield "spm-bpe-phrases", dict(model_type="bpe", split_by_whitespace=False, max_sentence_length=1000)
    yield "spm-bpe-symbols", dict(model_type="bpe", user_defined_symbols=["<x>", "the", "  "])
    yield "spm-unigram-identity", dict(normalization_rule_name="identity", remove_extra_whitespaces=False, byte_fallback=True)
    yield "spm-unigram-symbols", dict(user_defined_symbols=["<x>", "the"])


def encodings():
    from tiktoken_ext import openai_public
    tiktoken.load.read_file_cached = lambda path, hash=None: pathlib.Path(path).read_bytes()
    special = {"<|endoftext|>": 100257, "<|fim_prefix|>": 100258, "<|fim_middle|>": 100259, "<|fim_suffix|>": 100260, "<|endofprompt|>": 100276}
    import inspect
    cl100k = next(v for k, v in vars(openai_public).items() if k == "cl100k_base")
    found = {}
    openai_public.load_tiktoken_bpe = lambda *a, **k: found
    yield "cl100k", cl100k()["pat_str"], special
    yield "o200k-ranks", openai_public.o200k_base()["pat_str"], special
    yield "gpt2-ranks", openai_public.r50k_pat_str if hasattr(openai_public, "r50k_pat_str") else r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""", special


def main():
    all_texts = texts()
    with open(folder / "texts.bin", "wb") as f:
        for t in all_texts:
            f.write(struct.pack("<I", len(t.encode())) + t.encode())
    manifest = []
    for name, config, encode, decode in cases():
        is_variant = config.get("model", "").startswith(str(folder))
        some = all_texts[: count // 4] if is_variant else all_texts
        with open(folder / f"{name}.ids", "wb") as f:
            for ids in encode(some):
                if ids is None:  # the package itself fails
                    f.write(struct.pack("<I", 0xFFFFFFFF))
                    continue
                text = decode(ids)
                f.write(struct.pack("<I", len(ids)) + struct.pack(f"<{len(ids)}i", *ids) + struct.pack("<I", len(text)) + text)
        manifest.append(dict(config, name=name, count=len(some)))
    (folder / "manifest.json").write_text(json.dumps(manifest))


os.environ["TOKENIZERS_PARALLELISM"] = "false"
main()
