"""As megatron_core.py, for a BERT and a T5, on one rank: megatron_encoders.py ITERATION_DIR RESULT STEPS DATA SAMPLES
VOCABULARY SAVE

Samples are those of Megatron Core's own datasets over DATA, a --data-path. SAMPLES: how many the run has from its start
to its end. VOCABULARY: the lines of vocab.txt; a T5 has ten sentinels behind them. Core trains STEPS, a micro-batch of
--global-batch-size samples each, saves under SAVE, and trains on for STEPS. RESULT: the losses, as JSON lists "before"
and "after" saving."""
import faulthandler
import json
import os
import sys

import megatron_core as core
import numpy
import torch
import torch.nn.functional as F
from megatron.core import dist_checkpointing, parallel_state
from megatron.core.datasets.bert_dataset import BERTMaskedWordPieceDataset, BERTMaskedWordPieceDatasetConfig
from megatron.core.datasets.indexed_dataset import IndexedDataset
from megatron.core.datasets.t5_dataset import T5MaskedWordPieceDataset, T5MaskedWordPieceDatasetConfig
from megatron.core.datasets.utils import Split
from megatron.core.models.bert.bert_layer_specs import bert_layer_local_spec
from megatron.core.models.bert.bert_model import BertModel
from megatron.core.models.T5 import t5_spec
from megatron.core.models.T5.t5_model import T5Model
from megatron.core.transformer.dot_product_attention import DotProductAttention
from megatron.core.transformer.torch_norm import WrappedTorchNorm
from megatron.core.transformer.transformer_config import TransformerConfig


class Words:
    """What the datasets ask of a tokenizer."""

    def __init__(self, path, sentinels):
        words = open(path).read().split("\n")[:-1] + [f"<extra_id_{i}>" for i in range(sentinels)]
        ids = {w: i for i, w in enumerate(words)}
        self.inv_vocab = dict(enumerate(words))
        self.vocab_size = len(words)
        self.cls, self.sep, self.mask, self.pad = (ids[f"[{w}]"] for w in ("CLS", "SEP", "MASK", "PAD"))
        self.bos, self.eos = self.cls, self.sep
        self.additional_special_tokens_ids = list(range(len(words) - sentinels, len(words)))
        self.unique_identifiers = {"class": "Words"}


class Biased(DotProductAttention):
    """Megatron's own attention takes no bias of relative positions; Transformer Engine's does, on a GPU."""

    def forward(self, query, key, value, attention_mask, attn_mask_type=None, attention_bias=None, **_):
        scores = torch.einsum("qbnd,kbnd->bnqk", query, key) * self.softmax_scale
        scores = scores + (0 if attention_bias is None else attention_bias)
        scores = scores if attention_mask is None else scores.masked_fill(attention_mask, -10000.0)
        return torch.einsum("bnqk,kbnd->qbnd", scores.softmax(-1), value).flatten(2)


def config_of(a, layers):
    return TransformerConfig(
        num_layers=layers, hidden_size=a.hidden_size, num_attention_heads=a.num_attention_heads,
        ffn_hidden_size=a.ffn_hidden_size, kv_channels=a.kv_channels, gated_linear_unit=a.swiglu,
        activation_func=F.silu if a.swiglu else lambda x: F.gelu(x, approximate="tanh"), add_bias_linear=a.add_bias_linear,
        normalization=a.normalization, layernorm_epsilon=a.norm_epsilon, hidden_dropout=0.0, attention_dropout=0.0,
        use_cpu_initialization=True, gradient_accumulation_fusion=False, masked_softmax_fusion=False,
        persist_layer_norm=False, bias_dropout_fusion=False)


def masked(kind, settings, a, data, samples, words, longest, more):
    config = settings(
        random_seed=a.seed, sequence_length=a.seq_length, blend=([data], None), split="1,0,0", tokenizer=words,
        path_to_cache=data + "-core", masking_probability=0.15, short_sequence_probability=0.1, masking_max_ngram=longest,
        masking_do_full_word=True, masking_do_permutation=False, masking_use_longer_ngrams=False,
        masking_use_geometric_distribution=longest > 3, **more)
    source = IndexedDataset(data)
    documents = numpy.arange(source.document_indices.shape[0] - 1, dtype=numpy.int32)
    return kind(source, data, documents, samples, Split.train, config)


class Bert:
    def __init__(self, a, head):
        self.head = head
        self.model = BertModel(
            config=config_of(a, a.num_layers), num_tokentypes=2 if head else 0, transformer_layer_spec=bert_layer_local_spec,
            vocab_size=a.padded_vocab_size, max_sequence_length=a.max_position_embeddings, add_binary_head=head,
            share_embeddings_and_output_weights=not a.untie_embeddings_and_output_weights)

    def data(self, a, data, samples, vocabulary):
        return masked(BERTMaskedWordPieceDataset, BERTMaskedWordPieceDatasetConfig, a, data, samples,
                      Words(vocabulary, 0), 3, dict(classification_head=self.head))

    def loss(self, model, t):
        tokens, order = model(t["text"], t["padding_mask"], tokentype_ids=t["types"] if self.head else None,
                              lm_labels=t["labels"])
        lm = (tokens.float() * t["loss_mask"]).sum() / t["loss_mask"].sum()
        return lm, lm + F.cross_entropy(order.float(), t["is_random"]) if self.head else lm


class T5:
    def __init__(self, a):
        encoder, decoder = (config_of(a, n) for n in (a.encoder_num_layers, a.decoder_num_layers))
        specs = (t5_spec.get_t5_encoder_with_local_block_spec(encoder.num_layers),
                 t5_spec.get_t5_decoder_with_local_block_spec(decoder.num_layers))
        for spec in specs:
            spec.layer_norm = WrappedTorchNorm
            if a.position_embedding_type == "relative":
                for layer in spec.layer_specs:
                    layer.submodules.self_attention.submodules.core_attention = Biased
        self.model = T5Model(
            config=decoder, encoder_config=encoder, transformer_encoder_layer_spec=specs[0],
            transformer_decoder_layer_spec=specs[1], vocab_size=a.padded_vocab_size,
            max_sequence_length=a.max_position_embeddings,
            share_embeddings_and_output_weights=not a.untie_embeddings_and_output_weights,
            position_embedding_type=a.position_embedding_type,
            relative_attention_num_buckets=a.relative_attention_num_buckets,
            relative_attention_max_distance=a.relative_attention_max_distance)

    def data(self, a, data, samples, vocabulary):
        return masked(T5MaskedWordPieceDataset, T5MaskedWordPieceDatasetConfig, a, data, samples, Words(vocabulary, 10),
                      10, dict(sequence_length_decoder=a.decoder_seq_length))

    def loss(self, model, t):
        masks = T5MaskedWordPieceDataset.config_attention_mask(t["text_enc"], t["text_dec"], None, None, use_local=True)
        tokens = model(t["text_enc"], t["text_dec"], *masks, lm_labels=t["labels"])
        lm = (tokens.float() * t["loss_mask"]).sum() / t["loss_mask"].sum()
        return lm, lm


def stored_names(place):
    return set(dist_checkpointing.load_tensors_metadata(place))


def train(case, ddp, optimizer, samples):
    batch = {k: torch.as_tensor(numpy.stack([s[k] for s in samples])) for k in samples[0]}
    ddp.zero_grad_buffer()
    lm, loss = case.loss(ddp.module, batch)
    loss.backward()
    ddp.finish_grad_sync()
    optimizer.step()
    return lm.item()


def main(place, result, steps, data, samples, vocabulary, saved):
    faulthandler.dump_traceback_later(100, exit=True)  # rather than hang
    torch.distributed.init_process_group("gloo", init_method=f"file://{result}.ranks", rank=0, world_size=1)
    parallel_state.initialize_model_parallel(1, 1)
    common = dist_checkpointing.load_common_state_dict(place)
    a = common["args"]
    a.use_distributed_optimizer = True
    names = stored_names(place)
    t5 = any(".cross_attention." in n for n in names)
    case = T5(a) if t5 else Bert(a, head="binary_head.weight" in names)
    core.spell(case.model, engine=True)
    ddp, optimizer = core.with_optimizer(a, case.model.config, case.model, distributed=True)
    core.load(place, case.model, optimizer)
    all_samples, size = case.data(a, data, int(samples), vocabulary), a.global_batch_size
    at = a.consumed_train_samples

    def go(first):
        return [train(case, ddp, optimizer, [all_samples[first + i * size + k] for k in range(size)])
                for i in range(int(steps))]

    before = go(at)
    core.save(saved, a, common, case.model, optimizer, "fully_reshardable", len(before))
    json.dump({"before": before, "after": go(at + len(before) * size)}, open(result, "w"))


if __name__ == "__main__":
    main(*sys.argv[1:])
