"""Loads an exported directory with transformers' Auto classes; fails unless the end of text is one and generation stops at it.
usage: load_exported.py DIR"""
import sys

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

torch.set_num_threads(1)
directory = sys.argv[1]
config = AutoConfig.from_pretrained(directory)
model = AutoModelForCausalLM.from_pretrained(directory)
tokenizer = AutoTokenizer.from_pretrained(directory)
end = config.eos_token_id
assert end == model.generation_config.eos_token_id == tokenizer.eos_token_id, (end, tokenizer.eos_token_id)
assert tokenizer("a")["input_ids"], "no tokens"
with torch.no_grad():  # logits that favour only the end of text
    model.lm_head.weight.zero_()
    model.lm_head.bias = torch.nn.Parameter(torch.nn.functional.one_hot(torch.tensor(end), config.vocab_size).float())
    made = model.generate(torch.tensor([[0, 0]]), max_new_tokens=9, do_sample=False)
assert made.tolist() == [[0, 0, end]], made
