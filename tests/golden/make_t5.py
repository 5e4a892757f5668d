"""Makes the golden cases of T5 in this folder: make_t5.py [CASE ...] (none named: all).

greedy.json has texts and what transformers' generate() answers to them, token by token the likeliest.

A case is as those of make.py, of an encoder-decoder. Its batches have
  input_ids, attention_mask   i32 [batch, encoder seq]; padding stands at the end
  labels                      i32 [batch, decoder seq]; -100 does not count. The decoder reads them one behind, after a 0
"""
import json
import pathlib
import sys

import torch
import transformers as hf

import make

BATCH, ENCODER, DECODER = 3, 19, 12
SIZES = dict(vocab_size=44, d_model=16, d_kv=6, d_ff=28, num_heads=2, num_layers=1, num_decoder_layers=2,
             relative_attention_num_buckets=8, relative_attention_max_distance=11, dropout_rate=0.0, decoder_start_token_id=0)
CASES = {
    "t5_v10": hf.T5Config(**SIZES, feed_forward_proj="relu"),
    "t5_v11": hf.T5Config(**dict(SIZES, num_layers=2, num_decoder_layers=1), feed_forward_proj="gated-gelu",
                          scale_decoder_outputs=False),
}


def random_batch(config, generator):
    x = torch.randint(2, config.vocab_size, (BATCH, ENCODER), generator=generator)
    y = torch.randint(2, config.vocab_size, (BATCH, DECODER), generator=generator)
    mask = torch.ones_like(x)
    for i in range(1, BATCH):  # shorter by some
        x[i, ENCODER - 4 * i:], mask[i, ENCODER - 4 * i:], y[i, DECODER - 2 * i:] = 0, 0, -100
    return dict(input_ids=x, attention_mask=mask, labels=y)


def forward(model, batch):
    out = model(**batch, use_cache=False)
    return out.loss, out.logits


def build(name, config, folder, generator):
    config._attn_implementation = "eager"
    model = hf.T5ForConditionalGeneration(config).float().eval()
    if name == "t5_v11":  # the hub's files have a head of their own, which transformers 5 makes of no config
        model.lm_head.weight = torch.nn.Parameter(torch.empty(config.vocab_size, config.d_model))
    make.random_weights(model, generator)
    make.save_file({n: p.detach().clone() for n, p in model.named_parameters()}, folder / "model.safetensors")
    about = config.to_diff_dict()
    about.update(architectures=["T5ForConditionalGeneration"], model_type="t5", feed_forward_proj=config.feed_forward_proj,
                 tie_word_embeddings=name != "t5_v11")
    about.pop("scale_decoder_outputs", None)  # files of the hub do not say it
    (folder / "config.json").write_text(json.dumps(about, indent=2, sort_keys=True) + "\n")
    return model


def answers(model, config, generator):
    """Of texts of several lengths, up to 12 tokens each; the start is no part of an answer."""
    out = []
    for length in (1, 5, 12, 19):
        text = torch.randint(2, config.vocab_size, (1, length), generator=generator)
        made = model.generate(text, attention_mask=torch.ones_like(text), max_new_tokens=12, do_sample=False, num_beams=1,
                              use_cache=False)  # its cache has as many layers as the encoder
        out.append(dict(text=text[0].tolist(), answer=made[0, 1:].tolist()))
    return out


def main():
    make.settle()
    here = pathlib.Path(__file__).parent
    for name in sys.argv[1:] or CASES:
        generator = torch.Generator().manual_seed(1 + sum(name.encode()))
        folder = here / name
        folder.mkdir(exist_ok=True)
        model = build(name, CASES[name], folder, generator)
        found = answers(model, CASES[name], torch.Generator().manual_seed(7))
        (folder / "greedy.json").write_text(json.dumps(found, indent=1) + "\n")
        batches = [random_batch(CASES[name], generator) for _ in range(make.STEPS)]
        make.write(name, folder, model, batches, forward)


if __name__ == "__main__":
    main()
