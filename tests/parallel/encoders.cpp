#include "tests/parallel/encoders.h"

#include <span>

#include "tests/parallel/compare.h"

namespace megalith::parity {
namespace {

// Layouts with one kind of parallelism each.
const char* const kPlainBert[] = {"tp2 bert",     "tp2 sp bert",       "tp8 bert-post",   "cp2 bert",
                                  "cp4 bert-one", "cp2-a2a bert",      "dp2 bert",        "pp2 bert",
                                  "pp2-zb bert",  "pp2-vp2 bert-post", "dp4 distopt bert"};

// Layouts with one kind of parallelism each, and with each way to divide encoder and decoder into stages.
const char* const kPlainT5[] = {"tp2 t5-relative",
                                "tp2 sp t5",
                                "tp8 t5-v10",
                                "cp2 t5-relative",
                                "cp2-a2a t5",
                                "cp2-ring t5-rope",
                                "dp2 t5",
                                "dp4 distopt t5",
                                "pp2 t5",
                                "pp2 t5-relative",
                                "pp2 t5-v10",
                                "pp2 untied t5",
                                "pp2-border t5",
                                "pp2-border t5-relative",
                                "pp2-zb t5-relative",
                                "pp2-vp2 t5",
                                "pp2-vp2 t5-relative",
                                "pp2-vp2-zb t5-v10",
                                "pp2-vp3 t5-relative",
                                "pp3-e1 t5",
                                "pp3-e1 t5-relative",
                                "pp3-border t5",
                                "pp3-border t5-v10",
                                "pp4 t5",
                                "pp4 t5-relative",
                                "pp4-zb t5-rope",
                                "pp4-drawn t5-relative",
                                "pp4-auto t5",
                                "pp5-head t5-relative",
                                "pp4 tp2 sp t5-relative",
                                "pp3-border dp2 distopt t5",
                                "pp2 cp2 tp2 sp t5",
                                "pp2-vp2 dp2 distopt-overlap t5-relative",
                                "pp2-vp2 dp4 overlap t5"};

// Layouts with one kind of parallelism each.
const char* const kPlainRetro[] = {"tp2 retro",         "tp4 retro-llama",           "tp8 retro-no-norm",
                                   "dp2 retro",         "dp4 distopt retro",         "dp8 distopt-overlap retro",
                                   "dp2 overlap retro", "tp2 dp2 retro encoder-drop"};

int compare_all(const Hall& at, Kind kind, std::span<const char* const> plain) {
  std::vector<Layout> all;
  for (const char* words : plain) all.push_back(layout_of(words));
  return compare_matrix(at, kind, std::move(all));
}

}  // namespace

int bert(const Hall& at) { return compare_all(at, Kind::bert, kPlainBert); }

int t5(const Hall& at) { return compare_all(at, Kind::t5, kPlainT5); }

int retro(const Hall& at) { return compare_all(at, Kind::retro, kPlainRetro); }

}  // namespace megalith::parity
