"""Makes vectors/*.json of data: which samples Megatron Core's own dataset code gives, in which order, and the random
numbers behind them (NumPy, PyTorch). make_orders.py, run by a Python with megatron-core."""
import hashlib
import json
import logging
import os
import pathlib
import struct
import tempfile
import warnings

warnings.filterwarnings("ignore")
import numpy
import torch
from megatron.core.datasets import helpers
from megatron.core.datasets.bert_dataset import BERTMaskedWordPieceDataset, BERTMaskedWordPieceDatasetConfig
from megatron.core.datasets.blended_megatron_dataset_builder import (BlendedMegatronDatasetBuilder,
                                                                     _get_size_per_split_per_dataset)
from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig, MockGPTLowLevelDataset
from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder
from megatron.core.datasets.t5_dataset import T5MaskedWordPieceDataset, T5MaskedWordPieceDatasetConfig
from megatron.core.datasets.utils import Split, normalize
from megatron.core.tokenizers.text.text_tokenizer import MegatronTokenizerText

VECTORS = pathlib.Path(__file__).parent / "vectors"
EOD = 4999
LENGTHS = [6, 2, 11, 1, 8, 15, 3, 9, 4, 7, 13, 5]


def write(name, value):
    text = json.dumps(value, separators=(",", ":"))
    (VECTORS / name).write_text(text.replace("},{", "},\n{") + "\n")
    print(f"{name:32} {len(text) / 1024:6.1f} KiB")


def plain(array):
    return numpy.asarray(array).tolist()


def md5(array):
    return hashlib.md5(array.tobytes()).hexdigest()


def shuffled(state, n):
    values = numpy.arange(n, dtype=numpy.int32)
    state.shuffle(values)
    return values


def random_numbers():
    state = numpy.random.RandomState
    return [dict(seed=seed,
                 raw_uint32=[int.from_bytes(word, "little") for word in numpy.split(numpy.frombuffer(
                     state(seed).bytes(32), dtype=numpy.uint8), 8)],
                 random_double_hex_be=[struct.pack(">d", x).hex() for x in state(seed).random_sample(4)],
                 randint_0_10=plain(state(seed).randint(0, 10, 8)),
                 randint_1_1000=plain(state(seed).randint(1, 1000, 8)),
                 shuffle={n: plain(shuffled(state(seed), n)) for n in (1, 2, 3, 7, 16, 33)},
                 consecutive_shuffles_7_9_4=[plain(shuffled(one, n)) for one in [state(seed)] for n in (7, 9, 4)],
                 shuffle_100000_int32_le_md5=md5(shuffled(state(seed), 100000)))
            for seed in (0, 3, 1234, 2**32 - 1)]


def permutations():
    return [dict(seed=seed, n=n, perm=torch.randperm(n, generator=torch.Generator().manual_seed(seed)).tolist())
            for seed in (0, 7, 1234) for n in (1, 2, 6, 12, 40)]


def mock_lengths(tokenizer):
    lengths = MockGPTLowLevelDataset(tokenizer).sequence_lengths
    return dict(first20=plain(lengths[:20]), last5=plain(lengths[-5:]), sum=int(lengths.sum()),
                md5_int32_le=md5(lengths))


# Document d of length L holds `(100 (d + 1) + j) mod 4999` for `j < L - 1`, then the end of document.
def rule_document(d, length):
    return [(100 * (d + 1) + j) % EOD for j in range(length - 1)] + [EOD] * (length > 0)


def write_documents(prefix, documents, dtype=numpy.uint16, modes=None):
    builder = IndexedDatasetBuilder(prefix + ".bin", dtype=dtype, multimodal=modes is not None)
    for d, sentences in enumerate(documents):
        for s, tokens in enumerate(sentences):
            builder.add_item(torch.tensor(tokens, dtype=torch.int64), *([modes[d][s]] if modes else []))
        builder.end_document()
    builder.finalize(prefix + ".idx")


def indexed_files():
    cases = dict(uint16_three_docs=dict(documents=[[[7, 8, 9]], [[300], [65499, 1, 2, 3]], []], dtype="uint16"),
                 int32_multimodal=dict(documents=[[[70000, 2], [5]], [[9, 9, 9]]], modes=[[0, 1], [0]], dtype="int32"))
    for name, case in cases.items():
        write_documents(name, case["documents"], getattr(numpy, case["dtype"]), case.get("modes"))
        for part in ("idx", "bin"):
            case[part] = pathlib.Path(f"{name}.{part}").read_bytes().hex()
        if "modes" in case:
            case["modes"] = sum(case["modes"], [])
    return cases


def gpt_config(tokenizer, **more):
    return GPTDatasetConfig(**dict(dict(
        random_seed=1234, sequence_length=8, split="100,0,0", tokenizer=tokenizer, reset_position_ids=False,
        reset_attention_mask=False, eod_mask_loss=False, create_attention_mask=False, path_to_cache="cache"), **more))


def indices_of(dataset):
    arrays = (dataset.document_index, dataset.sample_index, dataset.shuffle_index)
    return dict(document_index=plain(arrays[0]), sample_index=plain(arrays[1]), shuffle_index=plain(arrays[2]),
                dtypes=[str(a.dtype) for a in arrays], length=len(dataset))


def split_of(dataset):
    if dataset is None:
        return None
    tokens = dataset._get_num_tokens_per_epoch()
    samples = [{key: plain(dataset[i][key]) for key in ("tokens", "labels", "loss_mask", "position_ids")}
               for i in range(min(3, len(dataset)))]
    return dict(document_ids=plain(dataset.indices), num_tokens_per_epoch=int(tokens),
                num_epochs=dataset._get_num_epochs(tokens), unique_description=dataset.unique_description,
                unique_description_hash=dataset.unique_description_hash, **indices_of(dataset), first_samples=samples)


def gpt_samples(tokenizer):
    cases = [("one epoch", {}, [5, 0, 0]),
             ("two epochs, the last one apart", {}, [12, 0, 0]),
             ("two epochs, the last one nearly full: not apart", {}, [20, 0, 0]),
             ("four epochs", {}, [37, 0, 0]),
             ("three splits, each with its own random numbers", dict(split="60,25,15"), [20, 6, 4]),
             ("no extra token", dict(random_seed=9, add_extra_token_to_sequence=False), [12, 0, 0]),
             ("validation keeps its last, partial sequence",
              dict(split="0,100,0", drop_last_partial_validation_sequence=False), [0, 9, 0])]
    write_documents("a", [[rule_document(d, n)] for d, n in enumerate(LENGTHS)])
    out = []
    for note, more, samples in cases:
        config = gpt_config(tokenizer, blend=(["a"], None), **more)
        sets = BlendedMegatronDatasetBuilder(GPTDataset, samples, lambda: True, config).build()
        out.append(dict(note=note, document_lengths=LENGTHS, split=config.split, sequence_length=8,
                        seed=config.random_seed, add_extra_token=config.add_extra_token_to_sequence,
                        drop_last_partial_validation_sequence=config.drop_last_partial_validation_sequence,
                        num_samples=samples, splits={s.name: split_of(sets[s.value]) for s in Split}))
    return out


def blended(tokenizer):
    documents = dict(a=LENGTHS, b=[3, 30, 2, 2, 17, 6, 9], c=[40, 1, 1, 25])
    for name, lengths in documents.items():
        write_documents(name, [[rule_document(d, n)] for d, n in enumerate(lengths)])
    out = {}
    for kind, weights in (("weighted", [1.0, 2.0, 1.0]), ("unweighted", None)):
        config = gpt_config(tokenizer, blend=(list(documents), weights))
        top = BlendedMegatronDatasetBuilder(GPTDataset, [20, 0, 0], lambda: True, config).build()[0]
        parts = [dict(path=d.dataset_path, num_samples=d.num_samples, hash=d.unique_description_hash, **indices_of(d))
                 for d in top.datasets]
        out[kind] = dict(blend=list(documents), weights_in=weights, documents=documents, sequence_length=8, seed=1234,
                         requested=20, blended_size=len(top), unique_description=top.unique_description,
                         hash=top.unique_description_hash, dataset_index=plain(top.dataset_index),
                         dataset_sample_index=plain(top.dataset_sample_index), parts=parts,
                         first_tokens=[plain(top[i]["tokens"]) for i in range(6)])
    return out


def blend_rules():
    indices = []
    for weights, size in (([0.4, 0.6], 25), ([1, 1, 1], 12), ([0.15, 0.25, 0.6], 40), ([7, 3, 2, 1], 33), ([1.0], 5)):
        datasets, samples = numpy.zeros(size, numpy.int16), numpy.zeros(size, numpy.int64)
        helpers.build_blending_indices(datasets, samples, normalize(weights), len(weights), size, False)
        indices.append(dict(kind="weighted", weights=weights, normalized=normalize(weights), size=size,
                            dataset_index=plain(datasets), dataset_sample_index=plain(samples)))
    for sizes in ([3, 5], [1, 1, 1], [9, 2, 5], [7]):
        datasets, samples = numpy.zeros(sum(sizes), numpy.int16), numpy.zeros(sum(sizes), numpy.int64)
        helpers.build_exhaustive_blending_indices(datasets, samples, numpy.array(sizes, numpy.int64), len(sizes))
        indices.append(dict(kind="exhaustive", sizes=sizes, dataset_index=plain(datasets),
                            dataset_sample_index=plain(samples)))
    sizes = [dict(weights=weights, target=target, used=_get_size_per_split_per_dataset(normalize(weights), target),
                  built=_get_size_per_split_per_dataset(normalize(weights), target, 0.005))
             for weights, target in (([0.4, 0.6], [100, 10, 10]), ([1, 1, 1], [100, 50, 7]),
                                     ([0.15, 0.25, 0.6], [12345, 678, 9]))]
    return dict(indices=indices, sizes=sizes)


def splits(tokenizer):
    out = []
    for text in ("969, 30, 1", "99,1,0", "1,1,1", "949,50,1", "100,0,0", "0.6,0.3,0.1", "80,20"):
        matrix = gpt_config(tokenizer, blend=(["a"], None), split=text).split_matrix
        ranges = {n: [cell and [int(round(cell[0] * n)), int(round(cell[1] * n))] for cell in matrix]
                  for n in (1, 7, 10, 100, 999, 12345)}
        out.append(dict(split=text, matrix=matrix, ranges=ranges))
    return out


class Words:
    """A vocabulary of 50 words: 0 to 5 are special, multiples of 3 go on within a word."""
    cls, sep, mask, pad, bos, eos = 1, 2, 3, 0, 4, 5
    additional_special_tokens_ids = list(range(50, 60))
    inv_vocab = {i: "##x" if i > 5 and i % 3 == 0 else "x" for i in range(50)}
    unique_identifiers = {"class": "Words"}


def masked(kind, cls, config_cls, keys, **more):
    settings = dict(masking_probability=0.15, short_sequence_probability=0.1, masking_do_full_word=True,
                    masking_do_permutation=False, masking_use_longer_ngrams=False)
    settings.update(more)
    config = config_cls(random_seed=1234, sequence_length=32, blend=(["words"], None), split="100,0,0",
                        tokenizer=Words(), path_to_cache="cache", **settings)
    dataset = BlendedMegatronDatasetBuilder(cls, [20, 0, 0], lambda: True, config).build()[0]
    samples = [{key: plain(dataset[i][key]) for key in keys} for i in range(5)]
    return dict(config=dict(random_seed=1234, **settings), sequence_length=32,
                sample_index=plain(dataset.sample_index), samples=samples)


def sentences():
    lengths, documents, count = [[5, 3, 4, 6], [8, 2], [3, 3, 3, 3, 3], [9], [5, 4, 4, 6, 2, 3]], [], 0
    for document in lengths:
        documents.append([[6 + (11 * (count + s) + 7 * j) % 44 for j in range(n)] for s, n in enumerate(document)])
        count += len(document)
    write_documents("words", documents)
    flat = sum(documents, [])
    ends = [0, 4, 6, 11, 12, 18]
    mappings = []
    for epochs, most, length, short, seed, least in ((1, 1000, 12, 0.1, 1234, 2), (2**31 - 2, 20, 12, 0.1, 5, 2),
                                                     (2**31 - 2, 15, 9, 0.5, 7, 1)):
        found = helpers.build_mapping(numpy.array(ends, numpy.int64), numpy.array([len(s) for s in flat], numpy.int32),
                                      epochs, most, length, short, seed, False, least)
        mappings.append(dict(num_epochs=epochs, max_num_samples=most, max_seq_length=length, short_seq_prob=short,
                             seed=seed, min_num_sent=least, mapping=plain(found)))
    bert = masked("bert", BERTMaskedWordPieceDataset, BERTMaskedWordPieceDatasetConfig,
                  ("text", "types", "labels", "is_random", "padding_mask", "loss_mask", "truncated"),
                  masking_max_ngram=3, masking_use_geometric_distribution=False, classification_head=True)
    t5 = masked("t5", T5MaskedWordPieceDataset, T5MaskedWordPieceDatasetConfig,
                ("text_enc", "text_dec", "labels", "loss_mask", "truncated", "enc_mask", "dec_mask"),
                masking_max_ngram=10, masking_use_geometric_distribution=True, sequence_length_decoder=24)
    special = {key: getattr(Words, key) for key in ("cls", "sep", "mask", "pad", "bos", "eos")}
    return dict(sentences=flat, special=dict(special, sentinels=Words.additional_special_tokens_ids),
                build_mapping=mappings, build_mapping_docs=ends, bert=dict(bert, classification_head=True),
                t5=dict(t5, sequence_length_decoder=24))


def main():
    logging.disable(logging.WARNING)
    # The class that Megatron-LM names in its caches; that of 0.16.1 is derived from it and adds nothing.
    kind = dict(library="null", class_name="MegatronTokenizerText",
                class_path="megatron.core.tokenizers.text.text_tokenizer")
    tokenizer = MegatronTokenizerText(None, kind, vocab_size=5000)
    VECTORS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=0, world_size=1)
        write("mt19937_numpy_randomstate.json", random_numbers())
        write("torch_randperm.json", permutations())
        write("mock_gpt_lengths.json", mock_lengths(tokenizer))
        write("indexed_dataset.json", indexed_files())
        write("split_matrix.json", splits(tokenizer))
        write("gpt_sampling.json", gpt_samples(tokenizer))
        write("gpt_blend_full.json", blended(tokenizer))
        write("blending.json", blend_rules())
        write("bert_t5.json", sentences())
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
