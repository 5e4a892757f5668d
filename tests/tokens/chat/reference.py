"""What transformers (with jinja2) makes of chat templates and conversations: chat_reference.py DIR SHARED TEMPLATES.

Writes DIR/texts.json: [{template, variables, text or null where it fails, marks: [[begin, end] in bytes]}, ..],
DIR/tokens.json: [{format, tokenizer, line, ids, mask}, ..] and a directory for each tokenizer. Exits 77 without the packages.
"""
import json
import os
import random
import sys

try:
    import jinja2
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    from transformers.utils.chat_template_utils import render_jinja_template
except ImportError as e:
    print(e)
    sys.exit(77)

out, shared, folder = sys.argv[1:4]
rng = random.Random(7)
WORDS = ["Hello", "world", "it's", "émigré", "日本語", "👩‍👩‍👧", "don't", "x=1;", '"quoted"', "'single'", "<b>&amp;</b>",
         "naïve", "ＦＵＬＬ", "tab\there", "12,345", "\\n", "مرحبا", "ǅ", "I", "</think>", "{{ x }}", "{% if %}", "\u2028"]
TOOLS = [{"type": "function", "function": {"name": "weather", "description": " Tells the weather — now ", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "array", "items": {"type": "integer"}},
    "unit": {"enum": ["C", "F", None, 1.5]}}, "required": ["city"], "description": "all of it\n"}}},
    {"type": "function", "function": {"name": "stop", "parameters": {"type": "array", "items": {"type": "array", "items": {}}}}}]


def content():
    kind = rng.randrange(12)
    if kind == 0:
        return ""
    if kind == 1:
        return " \n" + rng.choice(WORDS) + "\t\n "
    if kind == 2:
        return "<think>\nfirst " + rng.choice(WORDS) + "\n</think>\n\n" + rng.choice(WORDS)
    separators = [" ", " ", "\n", "  ", "\n\n"]
    return "".join(rng.choice(WORDS) + rng.choice(separators) for _ in range(rng.randrange(1, 20))).rstrip(" ")


def conversation(tools):
    messages = [{"role": "system", "content": content()}] if rng.random() < 0.4 else []
    for _ in range(rng.randrange(1, 5)):
        messages.append({"role": "user", "content": content()})
        if tools and rng.random() < 0.4:
            call = {"id": "abcdefgh" + str(rng.randrange(10)), "type": "function", "function": {"name": "weather", "arguments": {
                "city": rng.choice(WORDS), "days": [1, -2, 3.0, 1e20, 1e-7, True, None]}}}
            messages.append({"role": "assistant", "content": rng.choice(["", None, content()]), "tool_calls": [call] * rng.choice([1, 1, 2])})
            messages += [{"role": "tool", "content": content()} for _ in range(rng.choice([1, 1, 2]))]
        messages.append({"role": "assistant", "content": content()})
        if rng.random() < 0.1:
            messages[-1]["reasoning_content"] = "\nbecause\n"
    if rng.random() < 0.2:
        messages.pop()
    if rng.random() < 0.05:
        messages[-1]["content"] = [{"type": "text", "text": content()}, {"type": "image"}]
    return messages


def bytes_of(text, place):
    return len(text[:place].encode())


def render(template, messages, tools, prompt, **more):
    clean = [{k: v for k, v in m.items() if v is not None} for m in messages]
    rendered, marks = render_jinja_template([clean], tools=tools, chat_template=template, add_generation_prompt=prompt,
                                            return_assistant_tokens_mask="{% generation" in template.replace("{%-", "{%"), **more)
    text = rendered[0]
    return text, [[bytes_of(text, a), bytes_of(text, b)] for a, b in (marks[0] if marks else [])]


EXPRESSIONS = open(os.path.join(folder, "..", "expressions.txt"), encoding="utf8").read().split("\n%%\n")
VARIABLES = {"s": " Ünï côde ß ǅ x ", "t": "a,b,,c", "e": "", "n": 7, "f": 2.5, "big": 1e16, "small": 1e-5, "neg": -7, "b": True, "nul": None,
             "l": [3, 1, 2], "m": [{"k": 1, "r": "u"}, {"k": 2, "r": "a"}, {"r": "u"}], "d": {"one": 1, "two": [1, "x'y", None], "ключ": {"z": 1.0, "a": "é\n"}},
             "long": "one two  three\tfour\nfive", "u": "👩‍👩‍👧日本", "q": "say \"hi\" it's \\ \x07 \x85 \u200b \ue000"}


def texts():
    cases = []

    def add(name, source, variables, text_of):
        try:
            text, marks = text_of()
        except (jinja2.exceptions.TemplateError, TypeError, ValueError, KeyError, ZeroDivisionError, AttributeError, IndexError) as e:
            text, marks = None, [type(e).__name__ + ": " + str(e)]
        cases.append({"name": name, "source": source, "variables": variables, "text": text, "marks": marks})

    for source in EXPRESSIONS:
        add("expression", source, VARIABLES, lambda: (render_jinja_template([[]], chat_template=source, **VARIABLES)[0][0], []))
    for file in sorted(os.listdir(folder)):
        source = open(os.path.join(folder, file), encoding="utf8", newline="").read()
        for k in range(150):
            tools = TOOLS if k % 3 == 0 else None
            messages, prompt = conversation(tools), k % 4 == 0
            more = {"bos_token": "<s>", "eos_token": "</s>", "date_string": "01 Jan 2025"}
            clean = [{key: v for key, v in m.items() if v is not None} for m in messages]
            add(file, source, {"messages": clean, "tools": tools, "documents": None, "add_generation_prompt": prompt, **more},
                lambda: render(source, messages, tools, prompt, **more))
    return cases


def special(t):
    t.add_special_tokens([AddedToken(x, normalized=False) for x in ["<s>", "</s>", "<|im_start|>", "<|im_end|>"]])
    return t


def byte_level():
    files = [f"{shared}/data/gpt2-{file}" for file in ("vocab.json", "merges.txt")]
    if not os.path.exists(files[0]):
        files = [os.path.join(folder, "../../../golden/tokenizers", file) for file in ("vocab.json", "merges.txt")]
    t = Tokenizer(models.BPE.from_file(*files))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    return special(t)


def metaspace():
    """Byte fallback and a mark for blanks, as Llama 2 and Mistral; words of the conversations are pieces."""
    pieces = [f"<0x{b:02X}>" for b in range(256)] + ["▁"] + [c for c in map(chr, range(33, 127))]
    merges = []
    for word in ["Hello", "world", "the", "assistant", "user"]:
        made = "▁"
        for c in word:
            merges.append((made, c))
            made += c
            if made not in pieces:
                pieces.append(made)
    vocabulary = {"<unk>": 0} | {p: i + 1 for i, p in enumerate(dict.fromkeys(pieces))}
    t = Tokenizer(models.BPE(vocabulary, list(dict.fromkeys(merges)), unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    return special(t)


def mask_by_prefix(tokenizer, template, messages, more):
    """The rule for templates without marks, on jinja2 and the tokenizer's own offsets; None where it does not hold."""
    whole, _ = render(template, messages, None, False, **more)
    spans = []
    for i, m in enumerate(messages):
        if m["role"] != "assistant":
            continue
        upto, _ = render(template, messages[:i + 1], None, False, **more)
        with_prompt, _ = render(template, messages[:i], None, True, **more)
        without = "" if i == 0 else render(template, messages[:i], None, False, **more)[0]
        before = with_prompt if upto.startswith(with_prompt) else without
        if not whole.startswith(upto) or not upto.startswith(before):
            return None
        spans.append((len(before), len(upto)))
    coded = tokenizer(whole, add_special_tokens=False, return_offsets_mapping=True)
    mask = [int(any(a < e and b > s for s, e in spans)) for a, b in coded["offset_mapping"]]
    return coded["input_ids"], mask


def tokens():
    cases = []
    for name, make in [("bytes", byte_level), ("metaspace", metaspace)]:
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=make(), bos_token="<s>", eos_token="</s>")
        for file in ["chatml_marks.jinja", "plain_marks.jinja", "chatml.jinja", "qwen25.jinja", "qwen3.jinja", "gemma.jinja"]:
            source = open(os.path.join(folder, file), encoding="utf8").read()
            home = f"{out}/{name}-{file}"
            tokenizer.chat_template = source
            tokenizer.save_pretrained(home)
            more = {"bos_token": "<s>", "eos_token": "</s>"}
            for _ in range(60):
                messages = [m for m in conversation(None) if isinstance(m["content"], str)]
                if not any(m["role"] == "assistant" for m in messages) or any(m["role"] == "system" for m in messages[1:]):
                    continue
                ids, mask = None, None
                try:
                    if "marks" in file:
                        # Ends of spans lie at ends of characters, where transformers' rule is that of whole tokens.
                        coded = tokenizer.apply_chat_template(messages, tokenize=True, return_dict=True, return_assistant_tokens_mask=True)
                        ids, mask = coded["input_ids"], coded["assistant_masks"]
                    else:
                        found = mask_by_prefix(tokenizer, source, messages, more)
                        ids, mask = found if found else (None, None)
                except jinja2.exceptions.TemplateError:
                    pass
                cases.append({"home": home, "line": json.dumps({"messages": messages}), "ids": ids, "mask": mask})
    return cases


json.dump(texts(), open(out + "/texts.json", "w"))
json.dump(tokens(), open(out + "/tokens.json", "w"))
