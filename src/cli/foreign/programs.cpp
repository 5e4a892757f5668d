#include "cli/foreign/programs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>

#include "cli/foreign/bridge_python.h"
#include "cli/foreign/flag_words.h"
#include "cli/foreign/translation.h"
#include "submit/job.h"

namespace megalith {
namespace {

struct Script {
  const char* command;
  const char* names;  // without folder and .py, with underscores
};

// Scripts whose words our command accepts, or for which it prints its own.
constexpr Script kScripts[] = {
    {"pretrain-gpt",
     "pretrain_gpt megatron_gpt_pretraining megatron_gpt_finetuning megatron_gpt_finetune megatron_gpt_sft "
     "megatron_gpt_continue_training megatron_gpt_continue_pretraining train_gpt_sft train_gpt pretrain_megatron_llama "
     "pretrain_megatron_qwen pretrain_megatron_mistral pretrain_megatron_baichuan pretrain_megatron_bloom "
     "pretrain_megatron_falcon pretrain_megatron_starcoder pretrain_mcore_llama pretrain_mcore_qwen "
     "pretrain_mcore_mistral pretrain_mcore_deepseek pretrain_llama pretrain_qwen pretrain_mistral pretrain_deepseek "
     "pretrain_deepseek_v2 pretrain_deepseek_v3 pretrain_falcon finetune"},
    {"pretrain-bert", "pretrain_bert"},
    {"pretrain-t5", "pretrain_t5"},
    {"pretrain-retro", "pretrain_retro"},
    {"preprocess-data", "preprocess_data preprocess_data_fast"},
    {"merge-datasets", "merge_datasets"},
    {"convert",
     "convert convert_checkpoints convert_checkpoints_multi_gpu convert_megatron_to_hf convert_hf_to_megatron "
     "checkpoint_util util hf_to_megatron megatron_to_hf"},
};

// Scripts without an equivalent command, or with a different one: what to do instead.
constexpr Script kInstead[] = {
    {"there is no server: this makes text from a checkpoint: {} generate --load DIR --prompt TEXT "
     "--tokens-to-generate 64",
     "run_text_generation_server run_dynamic_text_generation_server run_hybrid_text_generation_server "
     "run_hybrid_text_generation_server_completions text_generation_cli gpt_static_inference gpt_dynamic_inference "
     "simple_gpt_batch_inference generate_samples_gpt megatron_gpt_eval megatron_gpt_generate megatron_gpt_inference "
     "hf_to_megatron_generate_text run_inference_performance_test serve server chat text_generation"},
    {"other models with an encoder are not built yet: {} pretrain-gpt trains decoders, pretrain-bert BERT, pretrain-t5 "
     "T5",
     "pretrain_ict pretrain_vlm pretrain_vision_classify "
     "megatron_bert_pretraining "
     "megatron_t5_pretraining pretrain_vision_dino pretrain_vision_inpaint preprocess_data_nmt preprocess_mmdata"},
    {"state-space and hybrid models are not built yet: {} pretrain-gpt trains transformers",
     "pretrain_mamba pretrain_hybrid hybrid_conversion gpt_hybrid_conversion"},
    {"no index has to be made beforehand: {} pretrain-gpt makes it at its start, and --data-cache-path DIR keeps it",
     "prepare_cache build_sequences_per_dataset"},
    {"NeMo's .nemo archives are neither read nor written: {} pretrain-gpt --load takes the Hugging Face directory "
     "itself",
     "convert_hf_llama_to_nemo convert_llama_hf_to_nemo convert_llama_nemo_to_hf megatron_ckpt_to_nemo "
     "megatron_lm_ckpt_to_nemo convert_mistral_7b_hf_to_nemo convert_hf_mixtral_to_nemo "
     "megatron_change_num_partitions"},
    {"its flags are not Megatron's: {} preprocess-data --input FILE.jsonl --output-prefix PREFIX --tokenizer-type TYPE "
     "--append-eod makes the same files",
     "preprocess_data_for_megatron"},
    {"it is not a command: {} pretrain-gpt trains, and with --sft fine-tunes on chats",
     "train pretrain finetune fine_tune sft run train_llm"},
    {"it is not a command: {} preprocess-data makes tokens of text", "preprocess tokenize prepare_data"},
    {"it is not a command: {} merge-datasets joins datasets", "merge"},
    {"it is not a command: {} evaluate tells loss and perplexity", "eval test validate lm_eval"},
    {"it is not a command: {} convert goes from and to Hugging Face and Megatron", "export import conversion"},
    {"it is not a command: {} inspect DIR tells what is in a checkpoint", "info show list dump"},
};

// Other programs by a part of their name. The first row that matches counts.
constexpr Script kKinds[] = {
    {"a launcher comes before this program: torchrun --no-python --nproc_per_node 8 {} pretrain-gpt --num-layers ...",
     "^torchrun ^python ^deepspeed$ ^deepspeed_launch ^srun ^mpirun ^mpiexec ^accelerate ^deepy"},
    {"a checkpoint of DeepSpeed is not read; from and to Hugging Face and Megatron goes {} convert --load DIR --to "
     "native, torch_dist or hf --save DIR",
     "deepspeed_to ds_to_ megads to_universal neox_to to_neox"},
    {"{} convert --load DIR --to FORMAT --save DIR does this: FORMAT is native, torch_dist (Megatron-LM's) or hf",
     "hf2 2hf mcore2 2mcore 2megatron megatron2 to_mcore to_megatron to_hf hf_to checkpoint_convert convert_"},
    {"{} preprocess-data --input FILE.jsonl --output-prefix PREFIX --tokenizer-type TYPE --append-eod makes such files",
     "^preprocess_data ^tokenize"},
    {"other tasks than loss and perplexity are not measured: {} evaluate --load DIR --data-path PREFIX tells those",
     "^main$ evaluate ^eval lm_harness"},
    {"{} pretrain-gpt --sft fine-tunes decoders on chats: put these words in the place of the program's name",
     "^finetune_ ^sft_"},
    {"{} pretrain-gpt trains decoders: put these words in the place of the program's name", "^pretrain_ ^train_"},
};

// ^ binds a part to the start of the name, $ to its end.
bool has_part(std::string_view name, std::string_view part) {
  const bool begins = part.starts_with('^'), ends = part.ends_with('$');
  part = part.substr(begins, part.size() - begins - ends);
  if (begins && ends) return name == part;
  return begins ? name.starts_with(part) : name.find(part) != std::string_view::npos;
}

const char* instead_of(std::string_view stem) {
  for (const Script& kind : kKinds)
    for (std::string_view parts = kind.names; !parts.empty();) {
      const std::size_t blank = std::min(parts.find(' '), parts.size());
      if (has_part(stem, parts.substr(0, blank))) return kind.command;
      parts.remove_prefix(std::min(blank + 1, parts.size()));
    }
  return nullptr;
}

// Of "python -m megatron.bridge.convert" the user may replace "python -m" or only "python".
bool is_module(const std::string& name) { return name.starts_with("megatron.") && !name.ends_with(".py"); }

std::string stem_of(std::string name, bool module) {
  const std::size_t slash = name.rfind('/');
  if (slash != std::string::npos) name = name.substr(slash + 1);
  if (name.ends_with(".py")) name.resize(name.size() - 3);
  const std::size_t dot = name.rfind('.');
  if (module && dot != std::string::npos) name = name.substr(dot + 1);
  std::ranges::replace(name, '-', '_');
  return name;
}

// The commands of tools/checkpoint/checkpoint_inspector.py.
NamedProgram inspector(const std::vector<std::string>& words) {
  std::vector<std::string> rest;
  for (const std::string& word : words)
    if (!is_among(word, "--enable-msc --not-ignore-param-to-group-meta")) rest.push_back(word);
  if (rest.size() == 2 && rest[0] == "inspect") return {"inspect", {rest[1]}, {}};
  if (rest.size() == 3 && rest[0] == "print-tensor") return {"inspect", {rest[1], "--tensor", rest[2]}, {}};
  return {{}, {}, fmt::format("this tells what is in a checkpoint: {}", command_line("inspect", {"DIR"}))};
}

// The likely command if it was omitted.
std::string forgotten(const std::vector<std::string>& words) {
  const auto has = [&](std::string_view flags) {
    return std::ranges::any_of(words, [&](const std::string& w) { return is_among(w.substr(0, w.find('=')), flags); });
  };
  if (has("--output-prefix"))
    return has("--tokenizer-type --json-keys --workers") ? "preprocess-data" : "merge-datasets";
  if (has("--loader --saver --load-dir --save-dir --to --input-path")) return "convert";
  if (has("--prompt")) return "generate";
  return "pretrain-gpt";
}

}  // namespace

bool is_script_of(std::string_view command, const std::string& word) {
  if (command == "plan") command = "pretrain-gpt";
  return word.ends_with(".py") && std::ranges::any_of(kScripts, [&](const Script& script) {
           return script.command == command && is_among(stem_of(word, false), script.names);
         });
}

NamedProgram find_program(const std::vector<std::string>& words) {
  if (words[0] == "-c" && words.size() > 1)
    if (const std::vector<std::string> call = bridge_call(words[1]); !call.empty()) return {"convert", call, {}};
  const bool module = words[0] == "-m" && words.size() > 1;
  const std::vector<std::string> rest(words.begin() + (module ? 2 : 1), words.end());
  if (!module && words[0].starts_with("-"))
    return {{}, {}, fmt::format("the command comes first: {}", command_line(forgotten(words), words))};
  const std::string& name = words[module ? 1 : 0];
  const std::string stem = stem_of(name, module || is_module(name));
  if (is_among(stem, "checkpoint_inspector")) return inspector(rest);
  if (is_among(stem, "report_theoretical_memory")) {
    std::vector<std::string> planned = rest;
    planned.push_back("--dry-run");
    return {"pretrain-gpt", planned, {}};
  }
  for (const Script& script : kScripts)
    if (is_among(stem, script.names)) return {script.command, rest, {}};
  for (const Script& other : kInstead)
    if (is_among(stem, other.names))
      return {{}, {}, fmt::format(fmt::runtime(other.command), shell_word(program_invocation_name))};
  if (const char* what = instead_of(stem))
    return {{}, {}, fmt::format(fmt::runtime(what), shell_word(program_invocation_name))};
  return {};
}

}  // namespace megalith
