"""Makes chats/*.json: conversations, and what transformers' apply_chat_template makes of them with templates of our own
(chats/templates, and some of tests/tokens/chat/templates); and gpt2_files.json: directories of vocab.json and merges.txt,
and AutoTokenizer's ids. make_chats.py, run by a Python with transformers and jinja2."""
import json
import pathlib
import tempfile

from jinja2 import TemplateError
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

HERE = pathlib.Path(__file__).parent
OTHERS = HERE.parent / "tokens" / "chat" / "templates"
PLAIN = [p for p in range(256) if 33 <= p < 127 or 161 <= p < 173 or 174 <= p]
ALPHABET = {**{b: chr(b) for b in PLAIN}, **{b: chr(256 + i) for i, b in enumerate(b for b in range(256) if b not in PLAIN)}}
TOOLS = [
    {"type": "function", "function": {"name": "weather", "description": "Tells the weather — \"now\".", "parameters": {
        "type": "object", "properties": {"city": {"type": "string", "description": "A town"}, "unit": {"type": "string", "enum": ["C", "F"]},
        "days": {"type": "array", "items": {"type": "integer"}}}, "required": ["city"]}}},
    {"type": "function", "function": {"name": "clock", "description": "Tells the time.", "parameters": {"type": "object", "properties": {}}}}]


def user(text):
    return {"role": "user", "content": text}


def said(text, **more):
    return {"role": "assistant", "content": text, **more}


def call(name, arguments, number):
    return {"id": f"abcdefgh{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


def asked(*calls, **more):
    return {"role": "assistant", "tool_calls": list(calls), **more}


def result(text, number, name="weather"):
    return {"role": "tool", "name": name, "tool_call_id": f"abcdefgh{number}", "content": text}


PARIS = {"city": "Zürich", "days": [1, -2], "unit": "C", "exact": True, "near": None, "x": 1.5e-7}
CHATS = [
    {"messages": [user("Hi"), said("Hello, what can I do?")]},
    {"messages": [{"role": "system", "content": "Be brief."}, user("  1 + 1?\n"), said("2"), user("and 日本語?"), said(" 日本語 👩‍👩‍👧 ")]},
    {"messages": [user("Why?"), said("<think>\nfirst\n</think>\n\nBecause."), user("Really?"), said("<b>Yes</b> & \"no\"")]},
    {"messages": [user("Why?"), said("Because.", reasoning_content="\nhm, 'so'\n")]},
    {"messages": [user("Why?"), said("Because.", reasoning="old name"), user("So?"), said("So.", thinking="other name")]},
    {"messages": [user("Weather?"), asked(call("weather", PARIS, 1)), result("{\"t\": 21}", 1), said("21 degrees.")], "tools": TOOLS},
    {"messages": [{"role": "system", "content": "Use tools."}, user("Both?"), asked(call("weather", {"city": "Bern"}, 1), call("clock", {}, 2), content="I look."),
                  result("rain", 1), result("12:30", 2, "clock"), said("Rain at half past twelve."), user("Thanks"), said("…")], "tools": TOOLS},
    {"messages": [user("Text?"), asked(call("weather", "{\"city\": \"Bern\"}", 3)), result("snow", 3), said("Snow.")], "tools": TOOLS[:1]},
    {"messages": [user("No call?"), said("None is needed.")], "tools": TOOLS},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": " A part "}, {"type": "image"}, {"type": "text", "text": "and more"}]}, said("Seen.")]},
    {"messages": [user("{{ x }} {% if %} </x>"), said("\\n \t tab  \u2028 end\n")]},
]


def byte_tokenizer():
    t = Tokenizer(models.BPE({ALPHABET[b]: b for b in range(256)}, []))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    t.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=t, bos_token="<s>", eos_token="</s>")


def runs(mask):
    edges = [i for i, (a, b) in enumerate(zip([0, *mask], [*mask, 0])) if a != b]
    return [list(pair) for pair in zip(edges[::2], edges[1::2])]


def case(tokenizer, source, chat):
    more = {"tools": chat.get("tools"), "date_string": "26 Jul 2024", "chat_template": source}
    try:
        texts = [tokenizer.apply_chat_template(chat["messages"], tokenize=False, add_generation_prompt=p, **more) for p in (False, True)]
    except (TemplateError, TypeError, KeyError) as error:
        return {"line": chat, "refused": str(error)}
    out = {"line": chat, "text": texts[0], "with_prompt": texts[1]}
    if "generation %}" in source.replace("add_generation", "") and "endgeneration" in source:
        coded = tokenizer.apply_chat_template(chat["messages"], return_dict=True, return_assistant_tokens_mask=True, **more)
        out["learned"] = runs(coded["assistant_masks"])
    return out


def make_chats():
    tokenizer = byte_tokenizer()
    files = [*sorted((HERE / "chats" / "templates").glob("*.jinja")), OTHERS / "llama31_tools.jinja", OTHERS / "mistral.jinja"]
    for file in files:
        source = file.read_text(encoding="utf8")
        cases = [case(tokenizer, source, chat) for chat in CHATS]
        path = file.relative_to(HERE.parent).as_posix()
        lines = ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases)
        (HERE / "chats" / f"{file.stem}.json").write_text(f'{{"template": "{path}", "cases": [\n{lines}\n]}}\n', encoding="utf8")


TEXTS = ["the low tide", " the<|endoftext|>low", "a <|im_start|> b<think>c</think>  d", "the <pad> <extra> the", "日本 é\n\n", ""]
VOCAB = [*(ALPHABET[b] for b in range(256)), "th", "the", "Ġthe", "lo", "low", "<|endoftext|>"]
MERGES = "#version: 0.2\nt h\nth e\nĠ the\nl o\nlo w\n"
SETTINGS = {"content": "<think>", "lstrip": True, "rstrip": True, "single_word": False, "normalized": False, "special": False}
GPT2 = {"tokenizer_class": "GPT2Tokenizer"}
PAD = {"content": "<pad>", "lstrip": True, "rstrip": False, "single_word": False, "normalized": False}
BESIDE = [
    {"tokenizer_config.json": GPT2},
    {"config.json": {"model_type": "gpt2"}},
    {"tokenizer_config.json": {"tokenizer_class": "GPT2TokenizerFast", "add_prefix_space": True}},
    {"tokenizer_config.json": GPT2, "added_tokens.json": {"<|im_start|>": 262, "<think>": 263}},
    {"tokenizer_config.json": {**GPT2, "bos_token": "<|im_start|>", "eos_token": "<|endoftext|>"}},
    {"tokenizer_config.json": {**GPT2, "pad_token": "<pad>", "additional_special_tokens": ["<extra>"]}, "added_tokens.json": {"<pad>": 262}},
    {"tokenizer_config.json": {**GPT2, "pad_token": "<pad>", "extra_special_tokens": ["<extra>", "<think>"]}},
    {"tokenizer_config.json": {**GPT2, "added_tokens_decoder": {"262": SETTINGS, "263": {"content": "<|im_start|>", "special": True}}}},
    {"tokenizer_config.json": GPT2, "special_tokens_map.json": {"eos_token": "<|im_start|>", "pad_token": PAD}},
    {"config.json": {"model_type": "gpt2"}, "added_tokens.json": {"<think>": 262}},
    {"config.json": {"model_type": "gpt2"}, "special_tokens_map.json": {"pad_token": PAD, "additional_special_tokens": ["<extra>"]}},
    {"config.json": {"model_type": "qwen2"}, "added_tokens.json": {"<|im_start|>": 262}},
    {"tokenizer_config.json": {"tokenizer_class": "Qwen2Tokenizer", "eos_token": "<|im_start|>"}, "added_tokens.json": {"<|im_start|>": 262}},
]


def make_gpt2_files():
    vocab = {t: i for i, t in enumerate(VOCAB)}
    cases = []
    for files in BESIDE:
        with tempfile.TemporaryDirectory() as home:
            for name, content in {"vocab.json": vocab, **files}.items():
                (pathlib.Path(home) / name).write_text(json.dumps(content), encoding="utf8")
            (pathlib.Path(home) / "merges.txt").write_text(MERGES, encoding="utf8")
            t = AutoTokenizer.from_pretrained(home)
            cases.append({"files": files, "class": type(t).__name__, "size": len(t), "eos": t.eos_token_id, "bos": t.bos_token_id,
                          "pad": t.pad_token_id, "ids": [t(text).input_ids for text in TEXTS]})
    lines = ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases)
    start = {"vocab": vocab, "merges": MERGES, "texts": TEXTS}
    (HERE / "gpt2_files.json").write_text(f"{json.dumps(start, ensure_ascii=False)[:-1]}, \"cases\": [\n{lines}\n]}}\n", encoding="utf8")


make_chats()
make_gpt2_files()
