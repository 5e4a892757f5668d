#!/usr/bin/env python3
"""Writes random tokenizers whose tokens and settings stand in several files, with what transformers' AutoTokenizer makes of texts.

    beside.py CASES SEED > tests/golden/tokens_beside.json    (transformers 5.24)

Each case is {"files": {name: content}, "ids": of each text, "eos", "bos", "pad", "size"}; the vocabularies are shared by the cases of a kind."""
import json
import os
import random
import sys
import tempfile

from transformers import AutoTokenizer
from transformers.utils import logging

logging.set_verbosity(50)
WORDS = ["low", "tide", "the", "The", "at", "12", "don't", "<think>", "</think>", "<|im_start|>", "<s>", "</s>", "<pad>", "<|endoftext|>", "new", "ti", "é", "<Think>", "<image>"]
POOL = ["<think>", "</think>", "<|im_start|>", "<s>", "</s>", "<pad>", "<unk>", "<|endoftext|>", "low", "Ti", "<image>", "<eot>", "th"]
NAMES = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"]
TEMPLATE = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "th", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"th": {"id": "th", "ids": [3], "tokens": ["th"]}}}


def byte_alphabet():
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    other = [b for b in range(256) if b not in plain]
    return [chr(b) for b in plain] + [chr(256 + i) for i in range(len(other))]


def vocabulary(kind):
    if kind == "bytes":
        tokens = ["<s>", "</s>", "<pad>", "th", *byte_alphabet(), "Ġth", "the", "Ġthe", "ti", "lo", "low"]
        merges = ["t h", "Ġ th", "th e", "Ġth e", "t i", "l o", "lo w"]
    else:
        tokens = ["<unk>", "<s>", "</s>", "th", *(f"<0x{b:02X}>" for b in range(256)), "▁", *"abcdehilnotw", "▁th", "the", "▁the", "ti", "lo", "low"]
        merges = ["t h", "▁ th", "th e", "▁th e", "t i", "l o", "lo w"]
    return {t: i for i, t in enumerate(tokens)}, merges


def flags(r):
    return {k: r.random() < 0.3 for k in ["lstrip", "rstrip", "single_word", "normalized"]}


def named(r, in_map):
    text = r.choice(POOL)
    if r.random() < 0.7:
        return text
    return {**({} if in_map else {"__type": "AddedToken"}), "content": text, **flags(r), **({} if in_map else {"special": r.random() < 0.7})}


def some(r, most=3):
    return r.sample(POOL, r.randint(0, most))


def file_of(r, kind):
    vocab, merges = vocabulary(kind)
    added = []
    for text in some(r, 4):
        top = max([len(vocab) - 1] + [t["id"] for t in added]) + 1
        added.append({"id": vocab.get(text, top), "content": text, **flags(r), "special": r.random() < 0.6})
    added.sort(key=lambda t: t["id"])
    byte_level = {"type": "ByteLevel", "add_prefix_space": r.random() < 0.2, "trim_offsets": True, "use_regex": True}
    cut = byte_level if kind == "bytes" else {"type": "Metaspace", "replacement": "▁", "prepend_scheme": r.choice(["first", "always", "never"]), "split": False}
    decoder = byte_level if kind == "bytes" else {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": kind != "bytes", "byte_fallback": kind != "bytes", "ignore_merges": False}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
            "normalizer": r.choice([None, None, {"type": "Lowercase"}]), "pre_tokenizer": cut,
            "post_processor": r.choice([None, None, TEMPLATE]), "decoder": decoder, "model": model}


def config_of(r, kind):
    config = {}
    own = ["GPT2Tokenizer", "Qwen2TokenizerFast", "GPTNeoXTokenizerFast", "CohereTokenizerFast", "CodeGenTokenizer", "LlamaTokenizerFast"] if kind == "bytes" else ["LlamaTokenizer", "LlamaTokenizerFast", "GemmaTokenizerFast"]
    name = r.choice(["PreTrainedTokenizerFast", "PreTrainedTokenizerFast", None, *own])
    if name:
        config["tokenizer_class"] = name
    for key in NAMES:
        if r.random() < 0.25:
            config[key] = named(r, False)
        elif r.random() < 0.05:
            config[key] = None
    if r.random() < 0.2:
        config["image_token"] = r.choice(POOL)
    if r.random() < 0.4:
        config["added_tokens_decoder"] = {str(r.choice([i, 400 - i, 300 + i])): {"content": t, **(flags(r) if r.random() < 0.7 else {}), **({"special": r.random() < 0.5} if r.random() < 0.8 else {})} for i, t in enumerate(some(r, 4))}
    if r.random() < 0.3:
        config["additional_special_tokens"] = some(r)
    if r.random() < 0.3:
        config["extra_special_tokens"] = r.choice([some(r), {f"{i}_own_token": t for i, t in enumerate(some(r))}])
    for key in ["add_prefix_space", "add_bos_token", "add_eos_token", "legacy", "split_special_tokens"]:
        if r.random() < 0.2:
            config[key] = r.random() < 0.5
    return config


def map_of(r):
    out = {key: named(r, True) for key in NAMES if r.random() < 0.25}
    if r.random() < 0.5:
        out["additional_special_tokens"] = some(r)
    if r.random() < 0.2:
        out["extra_special_tokens"] = r.choice([some(r), {f"{i}_map_token": t for i, t in enumerate(some(r))}])
    return out


def case(r):
    kind = r.choice(["bytes", "bytes", "pieces"])
    files = {"tokenizer.json": file_of(r, kind)}
    if r.random() < 0.9:
        files["tokenizer_config.json"] = config_of(r, kind)
    if r.random() < 0.4:
        files["special_tokens_map.json"] = map_of(r)
    if r.random() < 0.3:
        files["added_tokens.json"] = {t: r.choice([i, 300 + i]) for i, t in enumerate(some(r, 4))}
    if r.random() < 0.3:
        types = ["gpt2", "qwen2", "qwen3", "olmo", "cohere", "llama", "mistral", "phi3"] if kind == "bytes" else ["llama", "mistral", "gemma2", "gemma3_text", "mixtral"]
        files["config.json"] = {"model_type": r.choice(types)}
    return kind, files


def judged(kind, files, texts):
    vocab, merges = vocabulary(kind)
    with tempfile.TemporaryDirectory() as home:
        for name, content in files.items():
            if name == "tokenizer.json":
                content = {**content, "model": {**content["model"], "vocab": vocab, "merges": merges}}
            with open(os.path.join(home, name), "w", encoding="utf8") as out:
                json.dump(content, out)
        try:
            t = AutoTokenizer.from_pretrained(home)
            ids = [t(text).input_ids for text in texts]
        except Exception as e:  # what transformers refuses is no case
            print(str(e)[:150], json.dumps(files.get("tokenizer_config.json"))[:300], file=sys.stderr)
            return None
        return {"kind": kind, "files": files, "ids": ids, "class": type(t).__name__, "eos": t.eos_token_id, "bos": t.bos_token_id, "pad": t.pad_token_id, "size": len(t)}


def main():
    r = random.Random(int(sys.argv[2]))
    texts = ["the low <|im_start|> tide  <think>was</think> at  The", "  low"] + [r.choice(["", " "]).join(r.choice(WORDS) + r.choice(["", " "]) for _ in range(8)) for _ in range(3)]
    cases = []
    while len(cases) < int(sys.argv[1]):
        if found := judged(*case(r), texts):
            cases.append(found)
    kinds = {kind: dict(zip(["vocab", "merges"], vocabulary(kind))) for kind in ["bytes", "pieces"]}
    print(json.dumps({"made by": f"beside.py {sys.argv[1]} {sys.argv[2]}", "kinds": kinds, "texts": texts, "cases": [c for c in cases]}, ensure_ascii=False).replace('{"kind": ', '\n{"kind": '))


main()
