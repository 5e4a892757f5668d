"""Makes exported BERTs and T5s golden cases of what transformers computes with them: golden_of_export.py DIR ...

Each weight must be there, under a name that the class of config.json has. Batches are those of tests/golden. Of a T5
greedy.json has answers, as there; it ends an answer and pads a batch with what its files say."""
import json
import pathlib
import sys

import torch
import transformers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "golden"))
import make
import make_bert
import make_t5


def golden_of(folder):
    kind = json.loads((folder / "config.json").read_text())["architectures"][0]
    model, loading = getattr(transformers, kind).from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
    assert not any(loading.values()), (folder, loading)
    generator = torch.Generator().manual_seed(3)
    if not kind.startswith("T5"):
        batches = make_bert.random_batches(model.config.vocab_size, generator)
        for batch in batches:
            batch["token_type_ids"].clamp_(max=model.config.type_vocab_size - 1)
        make_bert.write(folder, model.eval(), make_bert.of_class(model, batches))
        return
    found = make_t5.answers(model.eval(), model.config, generator)
    (folder / "greedy.json").write_text(json.dumps(found))
    batches = [make_t5.random_batch(model.config, generator) for _ in range(make.STEPS)]
    make.write(folder.name, folder, model, batches, make_t5.forward)


make.settle()
for name in sys.argv[1:]:
    golden_of(pathlib.Path(name))
