#include "disk_model.h"

#include <fmt/format.h>

#include <filesystem>

#include "tests/ckpt/helpers.h"

namespace megalith {

// The content of the disk after the steps before the cut.
struct DiskModel::Replay {
  NodePtr root = directory();
  std::vector<NodePtr> files;  // all created files, in order

  static NodePtr directory() {
    auto node = std::make_shared<Node>();
    node->is_directory = true;
    return node;
  }

  NodePtr find(const std::string& path) const {
    NodePtr node = root;
    for (const fs::path& part : fs::path(path)) {
      if (!node) return nullptr;
      const auto it = node->names.find(part.string());
      node = it == node->names.end() ? nullptr : it->second;
    }
    return node;
  }
  NodePtr parent(const std::string& path) const { return find(fs::path(path).parent_path().string()); }
  static std::string leaf(const std::string& path) { return fs::path(path).filename().string(); }

  static void apply(std::map<std::string, NodePtr>& names, const Change& change) {
    for (const auto& [name, node] : change.names) {
      if (node)
        names[name] = node;
      else
        names.erase(name);
    }
  }
  static void change(const NodePtr& directory, const Change& c) {
    apply(directory->names, c);
    directory->changes.push_back(c);
  }

  void run(const Step& s, const std::string& bytes) {
    const NodePtr node = find(s.path), above = s.path.empty() ? nullptr : parent(s.path);
    if (s.kind == "mkdir" && !node) change(above, {{{leaf(s.path), directory()}}});
    if (s.kind == "create") {
      auto file = std::make_shared<Node>();
      file->bytes = bytes, file->is_synced = false;
      files.push_back(file);
      change(above, {{{leaf(s.path), file}}});
    }
    if (s.kind == "fsync") node->is_synced = true;
    if (s.kind == "fsync-dir" && node) node->synced_names = node->names, node->changes.clear();
    if (s.kind == "rename") rename(s, above, node);
    if (s.kind == "exchange") change(above, {{{leaf(s.path), find(s.target)}, {leaf(s.target), node}}});
    if (s.kind == "remove" && node) remove(above, leaf(s.path), node);
  }

  // In one directory both names change at once. Between two directories, either change may be lost.
  void rename(const Step& s, const NodePtr& above, const NodePtr& node) const {
    const NodePtr to = parent(s.target);
    if (to == above) return change(above, {{{leaf(s.path), nullptr}, {leaf(s.target), node}}});
    change(above, {{{leaf(s.path), nullptr}}});
    change(to, {{{leaf(s.target), node}}});
  }

  // Removes each name separately, the innermost names first.
  static void remove(const NodePtr& above, const std::string& name, const NodePtr& node) {
    const auto names = node->names;
    for (const auto& [inner, child] : names) remove(node, inner, child);
    change(above, {{{name, nullptr}}});
  }
};

namespace {

void read_tree(const std::string& root, DiskModel::Left& out) {
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const std::string name = fs::relative(entry.path(), root).string();
    out[name] = entry.is_directory() ? "/" : slurp(entry.path().string());
  }
}

// The possible contents of an unsynced file after a power cut.
std::vector<std::string> remains(const std::string& bytes) {
  std::vector<std::string> all = {bytes, "", std::string(bytes.size(), '\0'), bytes.substr(0, bytes.size() / 2)};
  if (!bytes.empty()) all.push_back(bytes.substr(0, bytes.size() - 1));
  std::string holed = bytes;  // a block in the middle is missing
  for (std::size_t i = bytes.size() / 4; i < bytes.size() / 2; ++i) holed[i] = '\0';
  all.push_back(holed);
  return all;
}

}  // namespace

DiskModel::DiskModel(std::string root, std::function<bool(const FileStep&)> forgets)
    : root_(std::move(root)), forgets_(std::move(forgets)) {
  read_tree(root_, before_);
}

// The final content of a file is the content before its writer's next step.
void DiskModel::keep_bytes() {
  for (const auto& [path, step] : made_by_)
    if (fs::is_regular_file(path)) bytes_[step] = slurp(path);
}

void DiskModel::see(const FileStep& s) {
  const std::lock_guard lock(mutex_);
  keep_bytes();
  if (s.kind == "create") made_by_[s.path] = int(steps_.size());
  if (s.kind == "rename" || s.kind == "exchange" || s.kind == "remove")  // complete
    std::erase_if(made_by_, [&](const auto& f) { return f.first.starts_with(s.path); });
  if (forgets_ && forgets_(s)) return;
  const auto below = [&](const std::string& path) {
    return path.size() <= root_.size() ? "" : path.substr(root_.size() + 1);
  };
  if (s.path.starts_with(root_)) steps_.push_back({std::string(s.kind), below(s.path), below(s.target)});
}

std::string DiskModel::print(int step) const {
  if (step >= steps()) return "the end";
  const Step& s = steps_[std::size_t(step)];
  return fmt::format("{} {} {}", s.kind, s.path, s.target);
}

void DiskModel::for_states(int cut, const std::function<void(const Left&)>& f) const {
  Replay disk;
  for (const auto& [path, bytes] : before_) {
    const NodePtr node = bytes == "/" ? Replay::directory() : std::make_shared<Node>();
    if (bytes != "/") node->bytes = bytes;
    disk.parent(path)->names[Replay::leaf(path)] = node;
  }
  const std::function<void(const NodePtr&)> sync = [&](const NodePtr& node) {
    node->synced_names = node->names;
    for (const auto& [name, child] : node->names) sync(child);
  };
  sync(disk.root);
  std::vector<NodePtr> directories = {disk.root};
  for (int i = 0; i < cut; ++i) {
    const auto bytes = bytes_.find(i);
    disk.run(steps_[std::size_t(i)], bytes == bytes_.end() ? "" : bytes->second);
  }
  // A power cut leaves one of the possible contents of each unsynced file. Each change of a directory is on disk or is
  // lost.
  std::vector<NodePtr> torn;
  std::vector<std::vector<std::string>> ways;
  for (const NodePtr& file : disk.files) {
    if (file->is_synced) continue;
    torn.push_back(file), ways.push_back(remains(file->bytes));
  }
  std::set<NodePtr> seen;
  std::vector<NodePtr> open;
  const std::function<void(const NodePtr&)> look = [&](const NodePtr& node) {
    if (!seen.insert(node).second) return;
    if (!node->changes.empty()) open.push_back(node);
    for (const auto& [name, child] : node->names) look(child);
    for (const auto& [name, child] : node->synced_names) look(child);
    for (const Change& c : node->changes)
      for (const auto& [name, child] : c.names)
        if (child) look(child);
  };
  look(disk.root);
  std::vector<int> choices;  // number of outcomes per item
  for (const auto& w : ways) choices.push_back(int(w.size()));
  for (const NodePtr& d : open) choices.insert(choices.end(), d->changes.size(), 2);
  const auto show = [&](const std::vector<int>& choice) {
    std::size_t at = 0;
    std::vector<std::string> whole;
    for (std::size_t i = 0; i < torn.size(); ++i) {
      whole.push_back(torn[i]->bytes);
      torn[i]->bytes = ways[i][std::size_t(choice[at++])];
    }
    std::map<NodePtr, std::map<std::string, NodePtr>> names;
    for (const NodePtr& d : open) {
      auto& mine = names[d] = d->synced_names;
      for (const Change& c : d->changes)
        if (choice[at++] == 0) Replay::apply(mine, c);
    }
    Left left;
    const std::function<void(const NodePtr&, const std::string&)> walk = [&](const NodePtr& d,
                                                                             const std::string& path) {
      const auto it = names.find(d);
      for (const auto& [name, child] : it == names.end() ? d->names : it->second) {
        left[path + name] = child->is_directory ? "/" : child->bytes;
        if (child->is_directory) walk(child, path + name + "/");
      }
    };
    walk(disk.root, "");
    f(left);
    for (std::size_t i = 0; i < torn.size(); ++i) torn[i]->bytes = whole[i];
  };
  double all = 1;
  for (const int n : choices) all *= n;
  constexpr double kAll = 256;
  std::vector<int> choice(choices.size(), 0);
  if (all <= kAll) {
    for (bool more = true; more;) {
      show(choice);
      more = false;
      for (std::size_t i = 0; i < choice.size() && !more; ++i) {
        choice[i] = (choice[i] + 1) % choices[i];
        more = choice[i] != 0;
      }
    }
    return;
  }
  std::mt19937 random(static_cast<unsigned>(cut));
  show(choice);
  for (std::size_t i = 0; i < choice.size(); ++i) {  // one item is lost; one item is kept
    for (int way = 1; way < choices[i]; ++way) choice.assign(choices.size(), 0), choice[i] = way, show(choice);
    choice.assign(choices.size(), 1), choice[i] = 0, show(choice);
  }
  for (int i = 0; i < int(kAll) / 2; ++i) {
    for (std::size_t k = 0; k < choice.size(); ++k) choice[k] = int(random() % unsigned(choices[k]));
    show(choice);
  }
}

}  // namespace megalith
