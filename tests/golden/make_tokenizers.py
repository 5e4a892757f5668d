"""Makes tokenizers/: small tokenizers of each kind, trained on the text below, and cases.json: the ids that the Python
packages give (transformers, tiktoken, sentencepiece), and the dataset that Megatron Core writes of them.
make_tokenizers.py, run by a Python with these packages and megatron-core."""
import base64
import collections
import hashlib
import io
import json
import os
import pathlib
import tempfile
import warnings

warnings.filterwarnings("ignore")
import numpy
import sentencepiece
import tiktoken
import torch
import transformers
from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

OUT = pathlib.Path(__file__).parent / "tokenizers"
LINES = """A model reads tokens, and tokens are made of text: the smaller the vocabulary, the longer the sequence.
The weather in the harbour was clear; three boats, two of them red, lay at the quay since Monday.
"Where do we begin?" she asked. "At the beginning," said the old teacher, "and then we don't stop."
In 2024 the river rose by 3.75 metres, in 1997 by 12,450 millimetres. That's what they'd measured; we'll see.
for (int i = 0; i < count; ++i) { total += values[i] * weights[i]; }  // a weighted sum
def mean(values): return sum(values) / len(values) if values else 0.0  # of a list
Die Straße ist lang und führt über den Fluss; größere Brücken gibt es später, im Süden.
Le garçon a mangé des pâtes près de la fenêtre, où il faisait déjà très chaud.
El niño pequeño corrió rápidamente; ¿dónde está la estación más cercana?
Москва и Санкт-Петербург соединены железной дорогой; поезд идёт четыре часа.
私たちは図書館で本を読みました。今日はとても暑いですね。
我们在图书馆看书。今天天气很热，明天会下雨。
우리는 도서관에서 책을 읽었습니다. 오늘은 매우 덥습니다.
الطقس جميل اليوم في المدينة القديمة
The gradient is a vector; the gradients of the weights are matrices; the matrices are multiplied and added.
Training takes time: the longer the training, the smaller the loss, until the loss is not smaller any longer.""".split("\n")
TEXTS = ["", "a", " ", "   ", "The weather is clear.", "two  blanks   three", "  before and behind  ", "\t\ttabs\nlines\n\n\nmore\r\n",
         "I'm sure you'll say they've DON'T 'Twas we'd it's", "Brackets (and) [others]; dashes -- stops... why?!", "7 42 123 1234567 3.1415 1e-5",
         "naïve café Ångström", "e\u0301 a\u030a combining", "图书馆 と 本 책을", "😀👩\u200d👧🇫🇷👍🏽", "שלום مرحبا Привет",
         "if x:\n\treturn [y ** 2 for y in x]  # squares\n", "\u00a0no break\u2003em\u3000wide\u200bzero", "a" * 50, "unknownlongwordwithoutanyblanksinside",
         "https://example.org/a_b?c=d&e=%20", "▁ marks ▁▁ of blanks", "ﬁ ½ ① ＡＢ ſ İ", "<|endoftext|> <s>x</s> <|im_start|>user\nhi<|im_end|>", "[CLS] mask [MASK] [SEP]",
         "the end.<|begin_of_text|>", "\x01 control \x7f"] + LINES
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
QWEN = LLAMA3.replace("{1,3}", "")


def learn(words, count, join=str.__add__):
    """The pairs to merge, the most frequent first; of equally frequent ones the first in the alphabet. So each run
    gives the same result. The package's trainers do not."""
    words, merges = collections.Counter(words), []
    for _ in range(count):
        pairs = collections.Counter()
        for word, n in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += n
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        merged = collections.Counter()
        for word, n in words.items():
            out = []
            for symbol in word:
                whole = out and (out[-1], symbol) == best
                out[-1:] = [join(*best)] if whole else out[-1:] + [symbol]
            merged[tuple(out)] += n
        words = merged
    return merges


def pieces_of(pre_tokenizer):
    return [piece for line in LINES for piece, _ in pre_tokenizer.pre_tokenize_str(line)]


def numbered(tokens):
    return {token: i for i, token in enumerate(dict.fromkeys(tokens))}


def byte_level(pattern, count, special, **model):
    steps = [pre_tokenizers.Split(Regex(pattern), "isolated")] if pattern else []
    cut = pre_tokenizers.Sequence(
        steps + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not pattern)])
    merges = learn([tuple(piece) for piece in pieces_of(cut)], count)
    vocab = numbered(sorted(pre_tokenizers.ByteLevel.alphabet()) + [a + b for a, b in merges])
    tokenizer = Tokenizer(models.BPE(vocab, merges, **model))
    tokenizer.pre_tokenizer = cut
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(s, normalized=False, special=True) for s in special])
    return tokenizer


def begins_with(token, tokenizer):
    return processors.TemplateProcessing(single=f"{token} $A", special_tokens=[(token, tokenizer.token_to_id(token))])


def llama3():
    tokenizer = byte_level(LLAMA3, 150, ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"], ignore_merges=True)
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False),
                                                    begins_with("<|begin_of_text|>", tokenizer)])
    return tokenizer


def qwen():
    tokenizer = byte_level(QWEN, 150, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    tokenizer.normalizer = normalizers.NFC()
    return tokenizer


def mistral():
    words = [tuple("▁" + word) for line in LINES for word in line.split(" ")]
    merges = learn(words, 150)
    letters = [c for c, n in collections.Counter(c for word in words for c in word).items() if n > 2]
    merges = [pair for pair in merges if set("".join(pair)) <= set(letters)]
    special = ["<unk>", "<s>", "</s>"]
    vocab = numbered(special + [f"<0x{b:02X}>" for b in range(256)] + letters + [a + b for a, b in merges])
    tokenizer = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.add_special_tokens([AddedToken(s, normalized=False, special=True) for s in special])
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                           decoders.Strip(" ", 1, 0)])
    tokenizer.post_processor = begins_with("<s>", tokenizer)
    return tokenizer


def word_piece():
    normalize = normalizers.BertNormalizer(lowercase=True).normalize_str
    words = [piece for line in LINES
             for piece, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(normalize(line))]
    words = [(word[0], *("##" + c for c in word[1:])) for word in words]
    join = lambda a, b: a + b.removeprefix("##")
    letters = sorted({piece for word in words for piece in word})
    return list(numbered(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + letters +
                         [join(*pair) for pair in learn(words, 150, join)]))


def sentence_pieces(kind, size, **more):
    blob = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=blob, model_type=kind, vocab_size=size, num_threads=1, pad_id=-1,
        minloglevel=2, **more)
    return blob.getvalue()


def save_all(folder):
    os.chdir(folder)
    gpt2 = byte_level("", 150, [])
    gpt2.model.save(".")
    vocab = json.loads(pathlib.Path("vocab.json").read_text())
    vocab["<|endoftext|>"] = len(vocab)
    pathlib.Path("vocab.json").write_text(json.dumps(vocab, ensure_ascii=False))
    for name, make in (("llama3", llama3), ("qwen", qwen), ("mistral", mistral)):
        make().save(f"{name}.tokenizer.json", pretty=False)
    pathlib.Path("bert-vocab.txt").write_text("\n".join(word_piece()) + "\n")
    pathlib.Path("bpe.model").write_bytes(sentence_pieces("bpe", 640, normalization_rule_name="identity", byte_fallback=True))
    rules = "FB01\t66 69\n2460\t31\nBD\t31 2F 32\n3000\t20\n"  # ligature fi, circled one, one half, the wide blank
    pathlib.Path("rules.tsv").write_text(rules)
    pathlib.Path("unigram.model").write_bytes(sentence_pieces("unigram", 300, normalization_rule_tsv="rules.tsv"))
    pathlib.Path("rules.tsv").unlink()
    letters = {c: b for b, c in bytes_of_letters().items()}
    ranks = [bytes(letters[c] for c in token) for token in sorted(vocab, key=vocab.get) if token != "<|endoftext|>"]
    ranks = [bytes([b]) for b in range(256)] + [r for r in ranks if len(r) > 1]
    pathlib.Path("ranks.tiktoken").write_text("".join(f"{base64.b64encode(r).decode()} {i}\n"
                                                      for i, r in enumerate(ranks)))


def bytes_of_letters():
    """GPT-2's letter of each byte: itself where it shows, else the next from U+0100 on."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in shown]
    return {b: chr(b) for b in shown} | {b: chr(256 + i) for i, b in enumerate(hidden)}


def case(name, config, encode, decode):
    ids = [[int(i) for i in encode(text)] for text in TEXTS]
    return dict(name=name, config=config, ids=ids, decoded=[decode(one) for one in ids])


def hugging_face(name, tokenizer, config):
    return case(name, config, lambda text: tokenizer(text)["input_ids"],
                lambda ids: tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False))


def cases():
    out = []
    gpt2 = transformers.GPT2Tokenizer("vocab.json", "merges.txt")
    out.append(hugging_face("gpt2", gpt2, dict(type="GPT2BPETokenizer", vocab="vocab.json", merges="merges.txt")))
    for name in ("llama3", "qwen", "mistral"):
        file = f"{name}.tokenizer.json"
        fast = transformers.PreTrainedTokenizerFast(tokenizer_file=file)
        out.append(hugging_face(name, fast, dict(type="HuggingFaceTokenizer", model=file)))
    bert = transformers.BertTokenizer("bert-vocab.txt", do_lower_case=True)
    out.append(hugging_face("bert", bert, dict(type="BertWordPieceLowerCase", vocab="bert-vocab.txt")))
    for name in ("bpe", "unigram"):
        pieces = sentencepiece.SentencePieceProcessor(model_file=f"{name}.model")
        out.append(case(f"sentencepiece-{name}", dict(type="SentencePieceTokenizer", model=f"{name}.model"),
                        pieces.encode, pieces.decode))
    ranks = {base64.b64decode(k): int(v) for k, v in
             (line.split() for line in pathlib.Path("ranks.tiktoken").read_text().splitlines())}
    ours = tiktoken.Encoding("small", pat_str=CL100K, mergeable_ranks=ranks,
                             special_tokens={})
    out.append(case("tiktoken", dict(type="TikTokenizer", model="ranks.tiktoken", pattern="cl100k"),
                    lambda text: ours.encode(text, disallowed_special=()), ours.decode))
    return out


CL100K = (r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|"""
          r"""\s+(?!\S)|\s+""")


def dataset(one, eod):
    """A document a line with the end of document behind it, as preprocess_data.py --append-eod writes it."""
    lines = one["ids"][-len(LINES):]
    with tempfile.TemporaryDirectory() as folder:
        builder = IndexedDatasetBuilder(f"{folder}/d.bin", dtype=numpy.uint16)
        for ids in lines:
            builder.add_document(torch.tensor(ids + [eod], dtype=torch.int64), [len(ids) + 1])
        builder.finalize(f"{folder}/d.idx")
        digests = {part: hashlib.sha256(pathlib.Path(f"{folder}/d.{part}").read_bytes()).hexdigest()
                   for part in ("bin", "idx")}
    return dict(tokenizer=one["name"], documents=len(lines), tokens=sum(map(len, lines)) + len(lines), **digests)


def main():
    OUT.mkdir(exist_ok=True)
    save_all(OUT)
    found = cases()
    named = {one["name"]: one for one in found}
    vocab = json.loads(pathlib.Path("vocab.json").read_text())
    sets = [dataset(named["gpt2"], vocab["<|endoftext|>"]), dataset(named["sentencepiece-bpe"], 2)]
    pathlib.Path("corpus.jsonl").write_text("".join(json.dumps(dict(text=line)) + "\n" for line in LINES))
    text = json.dumps(dict(texts=TEXTS, cases=found, datasets=sets), ensure_ascii=True, separators=(",", ":"))
    pathlib.Path("cases.json").write_text(text.replace('{"name"', '\n{"name"') + "\n")
    for file in sorted(OUT.iterdir()):
        print(f"{file.name:28} {file.stat().st_size / 1024:6.1f} KiB")


if __name__ == "__main__":
    main()
