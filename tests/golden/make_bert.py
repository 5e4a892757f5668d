"""Makes the golden cases of BERT: make_bert.py [CASE ...] (none named: all).

As make.py, of which it takes weights, optimizer and file names, but for batches of masked text:
  batch0 ... batch9   input_ids, token_type_ids, attention_mask (0: padding, at the end), labels (-100: not predicted), i32
                      [batch, seq], and next_sentence_label [batch] where the class takes it
  logits, binary_logits, loss   of batch0; the loss is that of masked tokens plus that of the two segments' order
"""
import pathlib
import sys

import torch
import transformers as hf
from safetensors.torch import save_file

import make

BATCH, SEQ = 3, 20
SIZES = dict(hidden_size=16, num_attention_heads=4, num_hidden_layers=2, intermediate_size=28, vocab_size=44,
             max_position_embeddings=24, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, pad_token_id=0)
CASES = {
    "bert": (hf.BertForPreTraining, hf.BertConfig(**SIZES)),
    "bert_masked_lm": (hf.BertForMaskedLM, hf.BertConfig(**SIZES, tie_word_embeddings=False)),
    "megatron_bert": (hf.MegatronBertForPreTraining, hf.MegatronBertConfig(**SIZES)),
}


def random_batches(vocab_size, generator):
    """The padding is no token of the text: transformers gives its row of the table no gradient."""
    out = []
    for _ in range(make.STEPS):
        ids = torch.randint(1, vocab_size, (BATCH, SEQ), generator=generator)
        lengths = torch.tensor([SEQ, SEQ - 3, SEQ - 8])
        real = torch.arange(SEQ)[None] < lengths[:, None]
        masked = (torch.rand(ids.shape, generator=generator) < 0.3) & real
        masked[:, 1] = True
        out.append(dict(input_ids=torch.where(real, torch.where(masked, 3, ids), 0), labels=torch.where(masked, ids, -100),
                        attention_mask=real.long(), token_type_ids=((torch.arange(SEQ)[None] >= lengths[:, None] // 2) & real).long(),
                        next_sentence_label=torch.randint(0, 2, (BATCH,), generator=generator)))
    return out


def of_class(model, batches):
    """Without what the class does not take."""
    has_pairs = hasattr(model.cls, "seq_relationship")
    return [{k: v for k, v in b.items() if has_pairs or k != "next_sentence_label"} for b in batches]


def case(name):
    kind, config = CASES[name]
    generator = torch.Generator().manual_seed(sum(map(ord, name)))
    model = kind(config).eval()
    random_weights(model, generator)
    batches = of_class(model, random_batches(config.vocab_size, generator))
    folder = pathlib.Path(__file__).parent / name
    folder.mkdir(exist_ok=True)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    write(folder, model, batches)


def write(folder, model, batches):
    golden = {f"batch{i}.{k}": v.int() for i, b in enumerate(batches) for k, v in b.items()}
    out = model(**batches[0])
    model.zero_grad()
    out.loss.backward()
    golden["loss"] = out.loss.detach().reshape(1)
    golden["logits"] = (out.prediction_logits if "prediction_logits" in out else out.logits).detach()
    if "seq_relationship_logits" in out:
        golden["binary_logits"] = out.seq_relationship_logits.detach()
    for parameter, p in model.named_parameters():
        if p.grad is not None:  # untied, one of the two biases of the logits is not used
            golden["grad." + parameter] = p.grad.clone()
    optimizer = torch.optim.AdamW(
        [dict(params=[p for p in model.parameters() if p.dim() > 1], weight_decay=0.1),
         dict(params=[p for p in model.parameters() if p.dim() == 1], weight_decay=0.0)],
        lr=1e-3, betas=(0.9, 0.95), eps=1e-8)
    losses, norms = [], []
    for batch in batches:
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0))
        optimizer.step()
        losses.append(loss.detach())
    golden["train.losses"], golden["train.grad_norms"] = torch.stack(losses), torch.stack(norms)
    save_file({k: v.contiguous().clone() for k, v in golden.items()}, folder / "golden.safetensors")


def random_weights(model, generator):
    """No parameter hides a mistake. Megatron's norms are called ln. A token of padding is no text, whatever its row is."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            is_norm = "LayerNorm" in name or ".ln." in name
            p.copy_(0.25 * noise if p.dim() > 1 else 1 + 0.1 * noise if is_norm and name.endswith("weight") else 0.1 * noise)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in sys.argv[1:] or CASES:
        case(name)
