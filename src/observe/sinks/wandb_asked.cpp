// Reads the W&B settings from flags and W&B's variables; flags have precedence.
#include "observe/endpoint.h"
#include "observe/sinks/wandb.h"

namespace megalith {

static std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    if (end > at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// The id becomes part of file names.
static void check_wandb_id(const std::string& id) {
  const bool ok = id.size() <= 64 && id.find_first_of("/\\#?%: ") == std::string::npos && !id.starts_with(".");
  check(ok, "WANDB_RUN_ID={}: want up to 64 letters, digits, - and _", id);
}

WandbAsked wandb_asked(const Options& o, const Environment& env) {
  const ObserveConfig& c = o.train.observe;
  const auto variable = [&](const char* name) {
    const char* value = env(name);
    return std::string(value ? value : "");
  };
  const auto first = [](const std::string& a, const std::string& b) { return a.empty() ? b : a; };
  WandbAsked asked{.project = c.wandb_project, .entity = c.wandb_entity};
  if (asked.project.empty()) return asked;
  asked.mode = first(variable("WANDB_MODE"), "offline");
  if (asked.mode == "dryrun") asked.mode = "offline";  // the variable's old name
  check(asked.mode == "offline" || asked.mode == "online" || asked.mode == "disabled",
        "WANDB_MODE={}: want offline, online or disabled", asked.mode);
  if (!asked.is_on()) return asked;
  asked.name = first(c.wandb_exp_name, first(variable("WANDB_NAME"), name_of_run(o)));
  asked.group = first(variable("WANDB_RUN_GROUP"), asked.name);
  asked.id = variable("WANDB_RUN_ID");
  check_wandb_id(asked.id);
  asked.tags = parts_of(variable("WANDB_TAGS"));
  asked.dir = first(c.wandb_save_dir, variable("WANDB_DIR"));
  if (asked.dir.empty() && !o.train.save.empty()) asked.dir = std::filesystem::path(o.train.save) / "wandb";
  check(!asked.dir.empty(),
        "--wandb-project {}: no place for its files: give --wandb-save-dir, --save or the variable WANDB_DIR",
        asked.project);
  return asked;
}

}  // namespace megalith
