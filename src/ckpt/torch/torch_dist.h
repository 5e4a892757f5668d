// Megatron's torch_dist checkpoints, which PyTorch's distributed checkpoint (DCP) writes: a pickled table of contents
// (.metadata), tensors and objects as torch.save archives back to back in .distcp files, and common.pt.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/torch/archive_sums.h"
#include "ckpt/torch/torch_file.h"

namespace megalith {

class TorchDist {
 public:
  // One iter_NNNNNNN directory. Reads all but the tensors' numbers, which sums() verify. Error if that is damaged.
  explicit TorchDist(const std::string& dir, bool past_cache = false);

  const TensorStore& tensors() const { return *store_; }
  std::shared_ptr<const TensorStore> share() const { return store_; }
  const std::shared_ptr<ArchiveSums>& sums() const { return sums_; }  // of all tensors
  const std::vector<std::string>& objects() const { return objects_; }
  // One of them, a list of one; nullptr if there is none with this name.
  struct Object {
    TorchFile file;
    const PickleValue* root() const { return file.root().items.empty() ? nullptr : file.root().items[0]; }
  };
  std::unique_ptr<Object> object(const std::string& name);
  const std::vector<std::string>& unread() const { return unread_; }  // tensors of types that we don't have
  // The dict that Megatron stores separately from the tensors (common.pt, or the object common_state); nullptr if there
  // is none.
  const PickleValue* common() const { return common_ ? common_root_ : nullptr; }
  const TorchFile& common_file() const { return *common_; }  // where there is one

 private:
  struct Item {
    std::string file;
    i64 offset = 0, length = 0;
  };
  using Items = std::map<std::string, Item>;  // by the tensor's name and offset, or the object's name

  Items read_items(const PickleValue& metadata) const;
  void add_tensor(const std::string& name, const PickleValue& entry);
  StoredBox read_box(const std::string& name, const PickleValue& chunk, DType type, const Item& item);
  void read_common();
  FileRange range_of(const Item& item);

  std::string dir_;
  Items items_;
  std::shared_ptr<TensorStore> store_;
  std::shared_ptr<ArchiveSums> sums_;
  std::vector<std::string> objects_, unread_;
  std::unique_ptr<TorchFile> common_;
  const PickleValue* common_root_ = nullptr;
};

// Whether the directory has such files, perhaps without .metadata. UnreachableFile if it can't be read.
bool is_torch_dist(const std::string& dir);

}  // namespace megalith
