// Settings as in Hydra: `section.key=value` words and nested YAML. Later ones override earlier ones.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace megalith {

struct NemoValue {
  std::vector<std::string> items;  // one for a scalar; none for null, ??? and []
  std::string written;             // of a word: as given; otherwise empty

  bool by_user() const { return !written.empty(); }
  std::string text() const { return items.empty() ? "" : items[0]; }
};

class NemoValues {
 public:
  // Whether a word is a setting in a section of NeMo or Megatron Bridge.
  static bool is_setting(std::string_view word);

  void add_word(const std::string& word);       // "+model.optim.lr=1e-4", "model.data.data_prefix=[0.5,a,0.5,b]"
  void add_file(const std::string& path);       // YAML; Error if the file is not YAML
  void add_defaults(const std::string& words);  // settings separated by spaces
  void resolve();                               // replaces `${section.key}` by its value

  const std::map<std::string, NemoValue>& all() const { return values_; }
  const NemoValue* find(const std::string& key) const;  // nullptr also for null

 private:
  void set(const std::string& key, NemoValue value) { values_[key] = std::move(value); }
  void add_text(const std::string& key, const std::string& text, const std::string& written);

  std::map<std::string, NemoValue> values_;  // by full key
};

}  // namespace megalith
