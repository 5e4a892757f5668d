#include "data/retro/project.h"

#include <fstream>
#include <sstream>

#include "base/json_field.h"
#include "base/parse_json.h"
#include "data/output_file.h"

namespace megalith {

using nlohmann::ordered_json;

static constexpr i64 kFormat = 1;

static std::string config_file(const std::string& dir) { return dir + "/config.json"; }
std::string chunks_file(const std::string& dir) { return dir + "/chunks.npy"; }
std::string neighbors_file(const std::string& dir, const std::string& split) {
  return fmt::format("{}/neighbors_{}.npy", dir, split);
}

RetroProject read_project(const std::string& dir) {
  std::ifstream in(config_file(dir));
  check(bool(in), "{} cannot be read: make the neighbours with megalith retro build --retro-project-dir {}",
        config_file(dir), dir);
  std::ostringstream text;
  text << in.rdbuf();
  try {
    const auto j = parse_json<ordered_json>(text.str());
    check(j.is_object() && count_field(j, "format") == kFormat, "it has another format");
    RetroProject p;
    p.chunk_length = count_field(j, "chunk_length"), p.seq_length = count_field(j, "seq_length");
    p.kept = count_field(j, "neighbors"), p.point_size = count_field(j, "point_size");
    p.database = field_as<std::string>(j, "database"), p.chunks = count_field(j, "chunks");
    check(p.chunk_length > 0 && p.kept > 0, "chunks of {} tokens with {} neighbours", p.chunk_length, p.kept);
    for (const auto& [split, of] : field(j, "splits").items())
      p.splits[split] = {count_field(of, "samples"), field_as<std::string>(of, "digest")};
    return p;
  } catch (const Error& e) {
    fail("{}: {}: run megalith retro build again", config_file(dir), e.what());
  }
}

void write_project(const std::string& dir, const RetroProject& p) {
  ordered_json splits = ordered_json::object();
  for (const auto& [split, of] : p.splits) splits[split] = {{"samples", of.samples}, {"digest", of.digest}};
  const ordered_json j = {{"format", kFormat},          {"chunk_length", p.chunk_length},
                          {"seq_length", p.seq_length}, {"neighbors", p.kept},
                          {"point_size", p.point_size}, {"database", p.database},
                          {"chunks", p.chunks},         {"splits", splits}};
  const std::string text = j.dump(1) + "\n";
  OutputFile file(config_file(dir));
  file.write(text.data(), text.size());
  file.close();
  file.publish();
}

}  // namespace megalith
