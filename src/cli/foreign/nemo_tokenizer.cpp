// NeMo's model.tokenizer.* settings.
#include "cli/foreign/flag_words.h"
#include "cli/foreign/nemo_data.h"
#include "complete/absent_tokenizer.h"

namespace megalith {
namespace {

constexpr std::string_view kSection = "model.tokenizer.";

class NemoTokenizer {
 public:
  NemoTokenizer(const NemoValues& values, NemoFlags& flags) : values_(values), flags_(flags) {}

  void take(bool known) {
    const std::string library = text("library"), type = text("type"), model = text("model");
    if (library == "huggingface" && !(type + model).empty()) {
      put("--tokenizer-type", "HuggingFaceTokenizer", "library");
      put("--tokenizer-model", model.empty() || model.ends_with(".model") ? type : model, "type model");
    } else if (is_among(library, "sentencepiece tiktoken") && !model.empty()) {
      put("--tokenizer-type", library == "tiktoken" ? "TikTokenizer" : "SentencePieceTokenizer", "library type");
      put("--tokenizer-model", model, "model");
    } else if (is_of_megatron(library) && !text("vocab_file").empty()) {
      put("--tokenizer-type", type.find("Bert") == std::string::npos ? "GPT2BPETokenizer" : type, "library type");
      put("--vocab-file", text("vocab_file"), "vocab_file");
      if (!text("merge_file").empty()) put("--merge-file", text("merge_file"), "merge_file");
    } else if (!known) {
      take_size(library, type);
    }
    tell_others();
  }

 private:
  static bool is_of_megatron(std::string_view library) { return library.empty() || library == "megatron"; }

  std::string text(const std::string& key) const {
    const NemoValue* v = values_.find(std::string(kSection) + key);
    return v ? v->text() : "";
  }

  void put(const char* flag, const std::string& value, std::string_view keys) {
    flags_.put(flag, {value}, true);
    used_ += " " + std::string(keys);
  }

  // NeMo downloads the files of these types. A run on tokens needs only the vocabulary's size.
  void take_size(const std::string& library, const std::string& type) {
    TokenizerConfig tokenizer;
    tokenizer.type = type;
    const std::optional<i64> size = is_of_megatron(library) ? public_vocabulary(tokenizer) : std::nullopt;
    if (size) flags_.put("--vocab-size", {std::to_string(*size)}, false);
    for (const char* key : {"library", "type"}) {
      const NemoValue* v = values_.find(std::string(kSection) + key);
      if (v && size)
        flags_.idle("--vocab-size is that of this type; text needs --tokenizer-type and its files", *v);
      else if (v && v->by_user())
        flags_.refuse("the tokenizer's files are not given: give --tokenizer-type and its files", key, *v);
    }
    used_ += " library type";
  }

  void tell_others() {
    for (const auto& [key, value] : values_.all())
      if (key.starts_with(kSection) && !value.items.empty() && !is_among(key.substr(kSection.size()), used_))
        flags_.idle("the files of a tokenizer or of the loaded model say it", value);
  }

  const NemoValues& values_;
  NemoFlags& flags_;
  std::string used_;
};

}  // namespace

void take_nemo_tokenizer(const NemoValues& values, bool known, NemoFlags& flags) {
  NemoTokenizer(values, flags).take(known);
}

}  // namespace megalith
