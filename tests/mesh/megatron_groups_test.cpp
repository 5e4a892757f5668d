// The ranks of the named groups are Megatron Core's, in both views.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "mesh/mesh.h"
#include "tests/places.h"

namespace megalith {

namespace {

const std::string kScript = std::string(kSourceDir) + "/tests/mesh/megatron_groups.py",
                  kTable = std::string(kSourceDir) + "/tests/mesh/megatron_groups.txt";

std::string text_of(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string line_of(const Mesh& mesh, const std::string& name, AxisSet axes) {
  std::string out = "  " + name + ":";
  for (const std::vector<int>& group : mesh.groups(axes)) {
    if (out.back() != ':') out += " |";
    for (int rank : group) out += " " + std::to_string(rank);
  }
  return out + "\n";
}

// The table's text as the mesh has it. `tp_rep`: as many of tp, where it divides that.
std::string by_mesh(const std::string& table, int tp_rep) {
  std::string out;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    MeshSizes s;
    int tp = 0;
    if (std::sscanf(line.c_str(), "tp %d cp %d dp %d pp %d etp %d ep %d", &tp, &s.cp, &s.dp, &s.pp, &s.etp, &s.ep) != 6)
      continue;
    s.tp_rep = tp % tp_rep == 0 ? tp_rep : 1, s.tp_kv = tp / s.tp_rep;
    const Mesh mesh = make_mesh(s);
    out += line + "\n";
    out += line_of(mesh, "tensor", groups::tensor) + line_of(mesh, "context", groups::context);
    out += line_of(mesh, "data", groups::data) + line_of(mesh, "data_context", groups::data_context);
    out += line_of(mesh, "pipeline", groups::pipeline) + line_of(mesh, "expert_tensor", groups::expert_tensor);
    out += line_of(mesh, "expert", groups::expert) + line_of(mesh, "expert_data", groups::expert_data);
    out += line_of(mesh, "expert and expert_tensor", {groups::expert, groups::expert_tensor});
  }
  return out;
}

}  // namespace

TEST(MegatronGroups, are_those_of_the_mesh) {
  const std::string table = text_of(kTable);
  EXPECT_GT(table.size(), 5000u);
  for (int tp_rep : {1, 2}) EXPECT_EQ(by_mesh(table, tp_rep), table) << "tp_rep " << tp_rep;
}

TEST(MegatronGroups, are_still_what_megatron_says) {
  const char* chosen = std::getenv("MEGALITH_PYTHON");
  const std::string python = chosen && *chosen ? chosen : "python3", said = testing::TempDir() + "megatron_groups";
  if (std::system((python + " -c 'import megatron.core' > /dev/null 2>&1").c_str()) != 0)
    GTEST_SKIP() << python << " has no megatron.core";
  ASSERT_EQ(std::system((python + " " + kScript + " > " + said + " 2> /dev/null").c_str()), 0);
  EXPECT_EQ(text_of(said), text_of(kTable));
}

}  // namespace megalith
