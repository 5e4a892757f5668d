// Replaces steps of faiss's training that take too long, print warnings or depend on threads:
//   - Product quantizers sort their codes by simulated annealing, 500,000 moves twice for each code. Only
//     "polysemous" searches need that, and they are not used here.
//   - OPQ clusters 65,536 points 50 times. A quarter of both is enough for points that are sums of random signs.
//   - After each of many small steps threads wait for each other, longer than the steps take. So one thread
//     trains on few points.
//   - HNSW links depend on the order in which threads add points.
#include "data/retro/faiss/learn.h"

#include <faiss/Clustering.h>
#include <faiss/IndexFlat.h>
#include <faiss/IndexHNSW.h>
#include <faiss/IndexIVFPQ.h>
#include <faiss/IndexPQ.h>
#include <faiss/IndexPreTransform.h>
#include <faiss/VectorTransform.h>
#include <faiss/impl/ProductQuantizer.h>

#include <memory>
#include <optional>

namespace megalith {
namespace {

constexpr int kRounds = 10, kPointsOfACode = 64;  // of product quantizers; faiss uses 25 and 256
constexpr i64 kNumbersOfThreads = 1 << 22;
constexpr int kTurns = 12, kTurnedPoints = 16384;

void shorten(faiss::ProductQuantizer& codes) {
  codes.cp.niter = kRounds;
  codes.cp.max_points_per_centroid = kPointsOfACode;
  codes.cp.min_points_per_centroid = 1;  // with fewer points faiss prints a warning to stderr
}

void learn_turn(faiss::VectorTransform& turn, i64 n, const float* points) {
  if (turn.is_trained) return;
  auto* const opq = dynamic_cast<faiss::OPQMatrix*>(&turn);
  if (opq == nullptr) return turn.train(n, points);
  faiss::ProductQuantizer codes(std::size_t(opq->d_out), std::size_t(opq->M), 8);
  shorten(codes);
  opq->pq = &codes;
  opq->niter = kTurns, opq->niter_pq_0 = kRounds;
  opq->max_train_points = kTurnedPoints;
  opq->train(n, points);
  opq->pq = nullptr;
}

// Trains the centroids of an HNSW coarse quantizer: all threads cluster the points, one thread makes the links.
void learn_centroids(faiss::IndexIVF& lists, i64 n, const float* points) {
  if (dynamic_cast<faiss::IndexHNSW*>(lists.quantizer) == nullptr) return;
  faiss::Clustering clusters(lists.d, int(lists.nlist), lists.cp);
  faiss::IndexFlatL2 flat(lists.d);
  clusters.train(n, points, flat);
  const OneThread one;
  lists.quantizer->train(i64(lists.nlist), clusters.centroids.data());
  lists.quantizer->add(i64(lists.nlist), clusters.centroids.data());
}

}  // namespace

void learn(faiss::Index& index, i64 n, const float* points) {
  std::optional<OneThread> one;
  if (n * index.d < kNumbersOfThreads) one.emplace();
  if (auto* const turned = dynamic_cast<faiss::IndexPreTransform*>(&index)) {
    for (faiss::VectorTransform* turn : turned->chain) learn_turn(*turn, n, points);
    const float* const behind = turned->apply_chain(n, points);
    const std::unique_ptr<const float[]> own(behind == points ? nullptr : behind);
    learn(*turned->index, n, behind);
    turned->is_trained = true;
    return;
  }
  if (auto* const lists = dynamic_cast<faiss::IndexIVF*>(&index)) {
    lists->cp.min_points_per_centroid = 1;
    learn_centroids(*lists, n, points);
  }
  if (auto* const codes = dynamic_cast<faiss::IndexPQ*>(&index))
    codes->do_polysemous_training = false, shorten(codes->pq);
  if (auto* const codes = dynamic_cast<faiss::IndexIVFPQ*>(&index))
    codes->do_polysemous_training = false, shorten(codes->pq);
  index.train(n, points);
}

}  // namespace megalith
