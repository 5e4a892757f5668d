// Mistakes of new users. The answer to each is one precise line, within two seconds.
#include <filesystem>

#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

class NewUser : public Workshop {
 protected:
  void refuses(const std::string& flags, const std::string& part) {
    SCOPED_TRACE(flags);
    expect_refused(pretrain("--train-iters 3 --split 80,10,10 " + flags), part);
  }
  // Appends arguments with blanks and control characters to those of a small run.
  void refuses_words(const std::vector<std::string>& more, const std::string& part) {
    SCOPED_TRACE(more[0]);
    std::vector<std::string> words = words_of(pretrain("--train-iters 3 --split 80,10,10"));
    words.insert(words.end(), more.begin(), more.end());
    expect_refused(run_program("megalith", words), part);
  }
  // The command line of a small run without one flag and its value.
  std::string words_without(const std::string& flag) {
    std::string line = pretrain("--train-iters 3 --split 80,10,10");
    const std::size_t at = line.find(flag + " "), value = line.find(' ', at) + 1;
    return line.erase(at, line.find(' ', value) + 1 - at);
  }
  std::string file(const std::string& name, const std::string& text) {
    spit(*this / name, text);
    return *this / name;
  }
  std::string folder(const std::string& name, const std::vector<std::pair<std::string, std::string>>& files) {
    fs::create_directories(*this / name);
    for (const auto& [inside, text] : files) {
      fs::create_directories(fs::path(*this / name + "/" + inside).parent_path());
      spit(*this / name + "/" + inside, text);
    }
    return *this / name;
  }
};

const std::string kPointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 4976698672\n";
const std::string kConfig = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 32,
  "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "vocab_size": 64})";

TEST_F(NewUser, ScriptsAndShells) {
  refuses("--num_layers 3", "--num-layers");
  // The mistake is reported once. A misspelt flag is not also reported as missing.
  for (const char* flag : {"--num_layers 3", "--num-layer 3"}) {
    const Ran ran = megalith("pretrain-gpt --device cpu " + std::string(flag));
    EXPECT_EQ(ran.err.find("missing required flags: --num-layers"), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find("missing required flags: --hidden-size"), std::string::npos) << ran.err;
  }
  refuses("--num-layers= 3", "write no blank after the =");
  refuses("--lr=", "--lr: '' is not a number");
  refuses("\xE2\x80\x93lr 1e-3", "is no minus sign: write --lr");
  refuses("\xE2\x80\x94lr 1e-3", "is no minus sign: write --lr");
  refuses("-lr 1e-3", "--lr");
  refuses("--bf16 true", "--bf16 takes no value");
  refuses("--train-iters 1k", "'1k' is not a whole number");
  refuses("--lr 6,0e-4", "'6,0e-4' is not a number");
  refuses_words({"--num-layers 2"}, "one word: leave out the quotes");
  refuses_words({"--lr", "1e-3\r"}, "Windows line ends");
  refuses_words({"\r"}, "Windows line ends");
  refuses_words({"\\"}, "a blank follows a \\ at the end of a line");
  refuses_words({"--lr", "1e-3", " "}, "a blank follows a \\ at the end of a line");
  expect_refused("pretrain-gpt --num-layers 2 --hidden-size 32", "missing required flags: --num-attention-heads");
  expect_refused(run_program("megalith", {"--num-layers", "2"}), "pretrain-gpt --num-layers 2");
  expect_refused("pretrain --num-layers 2", "pretrain-gpt");
  expect_refused("pretraingpt --num-layers 2", "the nearest is pretrain-gpt (megalith --help lists all)");
  expect_refused("prerocess-data --input a", "the nearest is preprocess-data (megalith --help lists all)");
  refuses("--config " + file("a.yaml", "num_layers: [1\n"), "a.yaml");
  refuses("--config " + file("b.yaml", "num_layer: 1\n"), "num");
}

TEST_F(NewUser, FilesOfOtherPrograms) {
  refuses("--config " + file("config.json", kConfig), "a model's own config.json: give its directory, --load DIR");
  refuses("--config " + file("neox.yml", "{\"pipe-parallel-size\": 1, \"num-layers\": 2, \"norm\": \"rmsnorm\"}"),
          "a file of GPT-NeoX");
  refuses("--config " + file("ds.json", "{\"train_batch_size\": 8, \"zero_optimization\": {\"stage\": 1}}"),
          "DeepSpeed's file");
  refuses("--config " + file("primus.yaml", "exp_name: a\nmodules:\n  pre_trainer:\n    model: llama3_8B.yaml\n"),
          "an experiment of Primus");
  refuses("--config " + file("nemo.yaml", "trainer:\n  devices: 8\nmodel:\n  encoder_seq_length: 32\n"),
          "a file of NeMo");
  const Ran alone = run_program("megalith", words_of("pretrain-gpt --config " + *this / "neox.yml"));
  EXPECT_EQ(alone.err.find("missing required"), std::string::npos) << alone.err;
  refuses("--config " + file("sft.yaml", "model_name_or_path: a/b\nstage: sft\n"), "a trainer of Hugging Face models");
}

TEST_F(NewUser, SizesThatDoNotFit) {
  refuses("--num-attention-heads 3", "--hidden-size 32 is not divisible by --num-attention-heads 3");
  refuses("--num-query-groups 3", "--num-query-groups 3");
  refuses("--seq-length 64 --max-position-embeddings 32", "--max-position-embeddings 32 is less than --seq-length 64");
  refuses("--global-batch-size 3", "--global-batch-size 3 is not divisible by --micro-batch-size 2");
  refuses("--num-attention-heads 8 --tensor-model-parallel-size 8", "start a multiple of 8 ranks");
  refuses("--train-samples 10", "--train-iters 3 and --train-samples 10");
  refuses("--lr-warmup-iters 10", "--lr-warmup-iters 10 is not less than the 3 iters");
  refuses("--lr-warmup-fraction 2", "--lr-warmup-fraction 2");
  refuses("--min-lr 1", "--min-lr 1 is more than --lr");
  refuses("--split 1.5,-1,0", "--split");
  refuses("--lr-decay-style consine", "'consine' is none of constant, linear, cosine");
  expect_refused(words_without("--lr"), "missing required flags: --lr");
  expect_refused(words_without("--train-iters"), "missing required flags: --train-iters");
}

TEST_F(NewUser, DatasetsInTraining) {
  const std::string text = file("c.jsonl", "{\"text\": \"a\"}\n");
  refuses("--data-path " + *this / "none", "none.idx");
  refuses("--data-path " + data() + ".bin", "give their common prefix, " + data());
  refuses("--data-path " + text, "c.jsonl is no dataset: make one of it with preprocess-data");
  refuses("--data-path " + *this / "corpus", "is " + data() + " meant?");
  refuses("--data-path " + folder("f", {{"a_text_document.idx", ""}, {"a_text_document.bin", ""}}),
          "is a folder: name a dataset in it, " + *this / "f/a_text_document");
  refuses("--data-path " + folder("g", {{"a.txt", ""}}), "is a folder and holds no dataset");
  refuses("--data-path '" + data() + "'", "has its quotes in the name");
  fs::copy(data() + ".bin", *this / "half.bin");
  refuses("--data-path " + *this / "half", "half.bin is there and ");
  refuses("--data-path s3://bucket/a_text_document", "is in an object store, which is not read");
  refuses_words({"--data-path", "~/a_text_document"}, "begins with a ~ that the shell did not replace");
  refuses_words({"--data-path", "$DATA/a_text_document"}, "begins with a $ that the shell did not replace");
  refuses("--data-path 0.5 " + data() + " 0.5", "0.5 is a weight where a dataset is wanted");
  refuses("--data-path [0.5," + data() + "]", "blanks separate a list: 0.3 A 0.7 B");
  refuses("--vocab-size 100", "257 tokens");
  const Ran none = must("preprocess-data --tokenizer-type ByteTokenizer --input " + file("e.jsonl", "") +
                        " --output-prefix " + *this / "e");
  EXPECT_NE(none.err.find("--input holds no documents"), std::string::npos) << none.err;
  refuses("--data-path " + *this / "e_text_document", "e_text_document is empty: tokenize a text");
  refuses("--mock-data", "exclude each other");
}

// Mistakes in flags, files and folders are in one answer. So a user does not find them one start at a time.
TEST_F(NewUser, AllMistakesAreInOneAnswer) {
  const std::string taken = file("taken", "x");
  const Ran ran =
      megalith(pretrain("--train-iters 3 --num-attention-heads 3 --tokenizer-type HuggingFaceTokenizer "
                        "--tokenizer-model none --load " +
                        taken + " --save " + taken + " --save-interval 1 --tensorboard-dir " + taken + " --data-path " +
                        *this / "a " + *this / "b"));
  EXPECT_EQ(ran.exit_code, 1);
  for (const std::string& part :
       {std::string("7 things stop this:"), "--save " + taken + ": this is a file, want a directory",
        "--tensorboard-dir " + taken + ": this is a file", *this / "a.idx: no such file", *this / "b.idx: no such file",
        "--load " + taken + ": this is a file", std::string("--tokenizer-model none: no file or folder here"),
        std::string("--hidden-size 32 is not divisible by --num-attention-heads 3")})
    EXPECT_NE(ran.err.find(part), std::string::npos) << part << "\n" << ran.err;
}

TEST_F(NewUser, TextsToTokenize) {
  const auto tokenize = [&](const std::string& input, const std::string& part) {
    SCOPED_TRACE(input);
    expect_refused(
        "preprocess-data --tokenizer-type ByteTokenizer --output-prefix " + *this / "o" + " --input " + input, part);
  };
  tokenize(*this / "none.jsonl", "none.jsonl: no such file");
  tokenize(file("t.json", "hello world\n"), "a file of plain text ends in .txt");
  tokenize(file("a.json", "[{\"text\": \"a\"},\n{\"text\": \"b\"}]\n"), "jq -c '.[]'");
  tokenize(file("a1.json", "[{\"text\": \"a\"}]\n"), "jq -c '.[]'");
  tokenize(file("p.json", "{\n  \"text\": \"a\"\n}\n"), "jq -c .");
  tokenize(file("c.jsonl", "{\"content\": \"a\"}\n"), "no key \"text\" (the line has: content)");
  tokenize(file("z.jsonl", "\x1f\x8b\x08\x01\x02"), "end in .gz");
  tokenize(file("s.jsonl", "\x28\xb5\x2f\xfd\x04\x05"), "end in .zst");
  tokenize(file("u.jsonl", std::string("\xff\xfe{\0\"\0", 6)), "iconv -f UTF-16");
  tokenize(file("l.jsonl", "{\"text\": \"caf\xe9\"}\n"), "iconv -f LATIN1");
  tokenize(file("t.csv", "a,b\n"), "a file of plain text ends in .txt");
  tokenize(file("t.parquet", "PAR1"), ".parquet files are not read");
  tokenize(*this / "", "is a folder");
  tokenize(file("ok.jsonl", "{\"text\": \"a\"}\n") + " --json-keys title", "no key \"title\"");
  tokenize(*this / "ok.jsonl" + " --json-key text", "--json-keys");
  tokenize(*this / "ok.jsonl" + " --workers 0", "--workers is 0");
  tokenize(*this / "ok.jsonl" + " --output-prefix " + *this / "no/dir/x", "check that its folder exists");
  const Ran windows = must("preprocess-data --tokenizer-type ByteTokenizer --output-prefix " + *this / "w" +
                           " --input " + file("w.jsonl", "{\"text\": \"a\"}\r\n{\"text\": \"b\"}\r\n"));
  EXPECT_NE(windows.out.find("2 documents, 2 tokens"), std::string::npos) << windows.out;
}

TEST_F(NewUser, Tokenizers) {
  const auto make = [&](const std::string& flags, const std::string& part) {
    SCOPED_TRACE(flags);
    expect_refused("preprocess-data --output-prefix " + *this / "o" + " --input " +
                       file("ok.jsonl", "{\"text\": \"a\"}\n") + " " + flags,
                   part);
  };
  make("", "--tokenizer-type");
  make("--tokenizer-type GPT2", "\"GPT2\" is not supported: use one of GPT2BPETokenizer");
  make("--tokenizer-type GPT2BPETokenizer", "--vocab-file");
  make("--tokenizer-type GPT2BPETokenizer --vocab-file no.json --merge-file no.txt", "no.json: no such file");
  make("--tokenizer-type GPT2BPETokenizer --vocab-file " + *this / "" + " --merge-file no.txt", "is a folder");
  make("--tokenizer-type HuggingFaceTokenizer --tokenizer-model meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B");
  make("--tokenizer-type Llama2Tokenizer --tokenizer-model no/tokenizer.model", "no/tokenizer.model");
  make("--tokenizer-type HuggingFaceTokenizer --tokenizer-model " + folder("lfs", {{"tokenizer.json", kPointer}}),
       "git lfs pull");
  make("--tokenizer-type SentencePieceTokenizer --tokenizer-model " + file("tokenizer.model", kPointer),
       "git lfs pull");
  make("--tokenizer-type NullTokenizer --vocab-size 10", "\"a\" is not a token id");
}

TEST_F(NewUser, ModelsAndCheckpoints) {
  const auto load = [&](const std::string& dir, const std::string& part) {
    SCOPED_TRACE(dir);
    expect_refused("convert --to native --save " + *this / "out" + " --load " + dir, part);
    EXPECT_FALSE(fs::exists(*this / "out"));
  };
  load(*this / "none", "none: no such directory");
  load("meta-llama/Llama-3.1-8B", "`hf download meta-llama/Llama-3.1-8B --local-dir Llama-3.1-8B`");
  load(folder("empty", {}), "is empty: give the directory of a checkpoint or a model");
  load(folder("lfs", {{"config.json", kConfig}, {"model.safetensors", kPointer}}),
       "is a Git LFS pointer, not the file itself: run `git lfs pull`");
  load(folder("part", {{"config.json", kConfig}, {".cache/huggingface/download/a.incomplete", "x"}}),
       "was not finished (a.incomplete): start it again");
  load(folder("torn", {{"config.json", kConfig},
                       {"model.safetensors.index.json", R"({"weight_map": {"a": "model-1.safetensors"}})"}}),
       "model-1.safetensors, which is missing: download it");
  load(folder("bin", {{"config.json", kConfig}, {"pytorch_model.bin", "x"}}), "must be saved as safetensors first");
  load(folder("gguf", {{"m-Q4.gguf", "x"}}), "holds GGUF (m-Q4.gguf)");
  load(folder("lora", {{"adapter_config.json", "{}"}}), "holds an adapter (LoRA)");
  load(folder("meta", {{"consolidated.00.pth", "x"}, {"params.json", "{}"}}),
       "holds Meta's weights (consolidated.00.pth)");
  load(folder("nemo", {{"llama.nemo", "x"}}), "holds a model of NeMo");
  load(folder("above", {{"model/config.json", kConfig}}), "above/model holds one");
  expect_refused("generate --prompt a --load " + folder("html", {{"config.json", "<html>Access denied</html>"}}),
                 "config.json is not a JSON object");
  load(*this / "lfs/config.json", "is a file: want a directory");
  // If --load has weights in another format, a run must not start from random weights.
  fs::create_directories(*this / "deepspeed/global_step10");
  spit(*this / "deepspeed/latest", "global_step10");
  spit(*this / "deepspeed/global_step10/mp_rank_00_model_states.pt", "x");
  refuses("--load " + *this / "gguf", "holds GGUF (m-Q4.gguf)");
  refuses("--load " + *this / "lora", "holds an adapter (LoRA)");
  refuses("--load " + *this / "meta", "holds Meta's weights (consolidated.00.pth)");
  refuses("--load " + *this / "nemo --finetune", "holds a model of NeMo");
  refuses("--load " + *this / "deepspeed", "holds a checkpoint of DeepSpeed, which is not read");
  refuses("--load " + folder("torch", {{"model.pt", "x"}}), "torch holds model.pt, but no supported checkpoint");
  refuses("--load " + *this / "above", "it has no checkpoint, but " + *this / "above/model has one");
  expect_refused("convert --load x", "missing required flags: --save, --to (native, torch_dist or hf)");
  expect_refused("convert --load x --save y", "missing required flags: --to");
  expect_refused("generate --load " + *this / "none --prompt a", "no such directory");
  expect_refused("generate --load x", "missing required flags: --prompt");
  expect_refused("generate --load x --prompt a --max-new-tokens 5", "use --tokens-to-generate N");
  expect_refused("generate --model x --prompt a", "use --load DIR");
  expect_refused("evaluate --data-path x --load " + *this / "empty", "is empty");
  expect_refused("inspect " + *this / "empty", "is empty");
  expect_refused("inspect " + *this / "none", "is not there");
  expect_refused("merge-datasets --input " + *this / "empty" + " --output-prefix " + *this / "m", "holds no dataset");
  refuses("--save " + file("taken", "x") + " --save-interval 1", "taken: this is a file, want a directory");
  refuses("--save /proc/x --save-interval 1", "cannot make this directory");
}

}  // namespace
}  // namespace megalith::test
