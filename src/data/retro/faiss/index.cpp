// Approximate nearest neighbours by faiss.
#include <faiss/IVFlib.h>
#include <faiss/IndexHNSW.h>
#include <faiss/IndexIVF.h>
#include <faiss/IndexPreTransform.h>
#include <faiss/impl/io.h>
#include <faiss/index_factory.h>
#include <faiss/index_io.h>

#include <algorithm>
#include <exception>
#include <new>

#include "base/check.h"
#include "data/retro/faiss/index_words.h"
#include "data/retro/faiss/learn.h"
#include "data/retro/faiss/learning_watch.h"
#include "data/retro/point_index.h"

namespace megalith {
namespace {

std::vector<float> floats_of(std::span<const i16> numbers) { return {numbers.begin(), numbers.end()}; }

faiss::IndexHNSW* links_of(faiss::Index* index) {
  if (auto* const turned = dynamic_cast<faiss::IndexPreTransform*>(index)) return links_of(turned->index);
  return dynamic_cast<faiss::IndexHNSW*>(index);
}

class FaissIndex final : public PointIndex {
 public:
  FaissIndex(const PointIndexConfig& config, i64 size, std::span<const i16> sample) : config_(config), size_(size) {
    const i64 n = i64(sample.size()) / size, least = least_learned(config.description, size);
    check(n >= least,
          "--retro-index-str {}: its training needs {} points or more, and there are {}: give a smaller index",
          config.description, least, n);
    const LearningWatch watch(config.description, config.learn_seconds);
    told(
        [&] {
          index_.reset(faiss::index_factory(int(size), config.description.c_str()));
          learn(*index_, n, floats_of(sample).data());
        },
        &watch);
    set_search();
  }

  FaissIndex(const PointIndexConfig& config, i64 size, const std::string& bytes) : config_(config), size_(size) {
    told([&] {
      faiss::VectorIOReader from;
      from.data.assign(bytes.begin(), bytes.end());
      index_.reset(faiss::read_index(&from));
    });
    set_search();
  }

  void add(std::span<const i16> points) override {
    const auto to_all = [&] { index_->add(i64(points.size()) / size_, floats_of(points).data()); };
    if (links_of(index_.get()) == nullptr) return told(to_all);
    const OneThread one;  // in HNSW, links depend on the order in which points are added
    told(to_all);
  }

  // One query at a time: the sums of a matrix product may depend on the number of rows.
  std::vector<i64> near(std::span<const i16> query, i64 count) const override {
    const OneThread one;
    std::vector<i64> out(std::size_t(count), -1);
    std::vector<float> distances(out.size());
    told([&] { index_->search(1, floats_of(query).data(), count, distances.data(), out.data()); });
    // At equal distances the lower index comes first, as in the exact search.
    for (std::size_t begin = 0, end = 0; begin < out.size() && out[begin] >= 0; begin = end) {
      while (end < out.size() && out[end] >= 0 && distances[end] == distances[begin]) ++end;
      std::sort(out.begin() + std::ptrdiff_t(begin), out.begin() + std::ptrdiff_t(end));
      if (end == begin) break;  // NaN
    }
    return out;
  }

  std::string bytes() const override {
    faiss::VectorIOWriter to;
    told([&] { faiss::write_index(index_.get(), &to); });
    return {to.data.begin(), to.data.end()};
  }

 private:
  void set_search() {
    faiss::IndexHNSW* links = links_of(index_.get());
    if (faiss::IndexIVF* lists = faiss::ivflib::try_extract_index_ivf(index_.get())) {
      lists->nprobe = std::size_t(std::min<i64>(config_.probes, i64(lists->nlist)));
      links = dynamic_cast<faiss::IndexHNSW*>(lists->quantizer);
    }
    if (links != nullptr) links->hnsw.efSearch = int(config_.explored);
  }

  // Converts exceptions of faiss, whose texts may have several lines, to an Error.
  template <class F>
  void told(const F& f, const LearningWatch* watch = nullptr) const {
    try {
      f();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {
      check(watch == nullptr || !watch->is_over(),
            "--retro-index-str {}: its training takes more than {} s: give a smaller index, --retro-index-ntrain or "
            "--retro-index-learn-mins",
            config_.description, config_.learn_seconds);
      std::string why = e.what();
      std::ranges::replace(why, '\n', ' ');
      fail("--retro-index-str {}: {}: give another index, or leave out the flag for exact search", config_.description,
           why);
    }
  }

  const PointIndexConfig config_;
  const i64 size_;
  std::unique_ptr<faiss::Index> index_;
};

}  // namespace

std::string why_no_point_index() { return {}; }

void check_point_index(const std::string& description, i64 size) { least_learned(description, size); }

std::unique_ptr<PointIndex> make_point_index(const PointIndexConfig& config, i64 size, std::span<const i16> sample) {
  return std::make_unique<FaissIndex>(config, size, sample);
}

std::unique_ptr<PointIndex> read_point_index(const PointIndexConfig& config, i64 size, const std::string& bytes) {
  return std::make_unique<FaissIndex>(config, size, bytes);
}

}  // namespace megalith
