#include "report/incident_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/parse_json.h"
#include "base/valid_utf8.h"

namespace megalith::report {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kLongest = 300;  // characters of a cell

// For people: a text as it is, the rest as JSON.
std::string cell_of(const json& value) {
  std::string text = value.is_string() ? value.get<std::string>()
                     : value.is_null() ? ""
                                       : value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > kLongest) text = valid_utf8(text.substr(0, kLongest)) + " ...";
  return text;
}

// The first of these names that is there, in the object or one level below.
std::string cell_named(const json& object, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (object.contains(name)) return cell_of(object[name]);
  for (const json& part : object)
    if (part.is_object())
      for (const char* name : names)
        if (part.contains(name)) return cell_of(part[name]);
  return {};
}

IncidentFile read_incident(const fs::path& path) {
  IncidentFile out;
  out.file = valid_utf8(path.filename().string());
  std::ifstream in(path, std::ios::binary);
  const auto j = parse_json<json>(std::string(std::istreambuf_iterator<char>(in), {}));
  if (!j.is_object()) {
    out.reason = "the file is no JSON object";
    return out;
  }
  if (j.contains("iteration") && j["iteration"].is_number_integer()) out.iteration = j["iteration"].get<i64>();
  out.reason = cell_named(j, {"reason", "what", "kind"});
  out.rank = cell_named(j, {"rank"});
  out.layer = cell_named(j, {"layer"});
  out.tensor = cell_named(j, {"tensor"});
  out.documents = cell_named(j, {"documents", "document", "samples"});
  return out;
}

}  // namespace

std::vector<IncidentFile> read_incidents(const std::string& dir) {
  std::vector<IncidentFile> incidents;
  std::error_code error;
  for (fs::directory_iterator it(dir, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".json") incidents.push_back(read_incident(it->path()));
  std::ranges::sort(incidents, {}, [](const IncidentFile& i) { return std::pair(i.iteration, i.file); });
  return incidents;
}

}  // namespace megalith::report
