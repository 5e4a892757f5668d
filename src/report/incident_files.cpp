#include "report/incident_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>

#include "base/open_regular.h"
#include "base/parse_json.h"
#include "base/valid_utf8.h"

namespace megalith::report {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kLongest = 300;  // maximum characters of a cell

std::string shortened(std::string text) {
  return text.size() > kLongest ? valid_utf8(text.substr(0, kLongest)) + " ..." : text;
}

// For readers: a string as it is, other values as JSON.
std::string cell_of(const json& value) {
  std::string text = value.is_string() ? value.get<std::string>()
                     : value.is_null() ? ""
                                       : value.dump(-1, ' ', false, json::error_handler_t::replace);
  return shortened(std::move(text));
}

// The first of these members that exists, in the object or one level below.
std::string cell_named(const json& object, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (object.contains(name)) return cell_of(object[name]);
  for (const json& part : object)
    if (part.is_object())
      for (const char* name : names)
        if (part.contains(name)) return cell_of(part[name]);
  return {};
}

// "wiki 12, 40; books 7": the documents of an incident's samples, by file prefix. Empty if the form is unknown.
std::string documents_of_samples(const json& incident) {
  const auto samples = incident.find("samples");
  if (samples == incident.end() || !samples->is_array()) return {};
  std::map<std::string, std::set<i64>> found;
  for (const json& sample : *samples) {
    const auto documents = sample.is_object() ? sample.find("documents") : sample.end();
    if (documents == sample.end() || !documents->is_array()) continue;
    for (const json& d : *documents)
      if (d.is_object() && d.contains("prefix") && d["prefix"].is_string() && d.contains("document") &&
          d["document"].is_number_integer())
        found[valid_utf8(d["prefix"].get<std::string>())].insert(d["document"].get<i64>());
  }
  std::string out;
  for (const auto& [prefix, numbers] : found)
    out += fmt::format("{}{} {}", out.empty() ? "" : "; ", prefix, fmt::join(numbers, ", "));
  return shortened(std::move(out));
}

IncidentFile read_incident(const fs::path& path) {
  IncidentFile out;
  out.file = valid_utf8(path.filename().string());
  std::ifstream in = open_regular(path.string());
  const auto j = parse_json<json>(std::string(std::istreambuf_iterator<char>(in), {}));
  if (!j.is_object()) {
    out.reason = "the file is not a JSON object";
    return out;
  }
  if (j.contains("iteration") && j["iteration"].is_number_integer()) out.iteration = j["iteration"].get<i64>();
  out.reason = cell_named(j, {"reason", "what", "cause", "kind"});
  out.rank = cell_named(j, {"rank"});
  out.layer = cell_named(j, {"layer"});
  out.tensor = cell_named(j, {"tensor"});
  out.documents = documents_of_samples(j);
  if (out.documents.empty()) out.documents = cell_named(j, {"documents", "document", "samples"});
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
