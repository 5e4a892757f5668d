// What the library exports, and that programs of earlier releases run on it. A folder of tests/capi/releases has what
// was released: the header, the symbols, where each field lies, and a program.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <megalith/megalith.hpp>
#include <regex>
#include <set>

namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

struct Said {
  int code;
  std::string text;
};

Said run(const std::string& command) {
  std::string out;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return {-1, "popen"};
  for (char buffer[4096]; const size_t n = std::fread(buffer, 1, sizeof buffer, pipe);) out.append(buffer, n);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, out};
}

std::string quoted(const fs::path& path) { return "'" + path.string() + "'"; }

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

Names matches(const std::string& text, const std::string& pattern) {
  Names out;
  const std::regex expression(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), expression), end; it != end; ++it) out.insert((*it)[1]);
  return out;
}

Names exported(const fs::path& library) {
  return matches(run("nm -D --defined-only " + quoted(library)).text, " [TDBRVW] (mgl_\\S+)");
}

// Of a release what a library lacks.
Names lacks(const fs::path& library, const Names& held) {
  Names out;
  const Names found = exported(library);
  for (const std::string& symbol : held)
    if (!found.contains(symbol)) out.insert(symbol);
  return out;
}

bool layout_holds(const fs::path& release, const fs::path& include, const std::string& more = "") {
  return run("cc -std=c11 -fsyntax-only " + more + " -I " + quoted(include) + " " + quoted(release / "structs.c"))
             .code == 0;
}

std::vector<fs::path> releases() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(RELEASES)) out.push_back(entry.path());
  return out;
}

Names held_by(const fs::path& release) { return matches(text_of(release / "symbols.txt"), "(mgl_\\w+@@\\w+\\.\\w+)"); }

class Abi : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(dir_); }
  void TearDown() override { fs::remove_all(dir_); }

  // A library of empty functions with a release's symbols, to link that release's programs with.
  fs::path stub(const std::string& folder, const Names& symbols) const {
    const fs::path at = dir_ / folder, library = at / "libmegalith.so.0";
    fs::create_directories(at);
    std::ofstream source(at / "stub.c"), versions(at / "versions.map");
    std::map<std::string, std::string> nodes;
    for (const std::string& symbol : symbols) {
      const std::string name = symbol.substr(0, symbol.find('@'));
      source << "void " << name << "(void) {}\n";
      nodes[symbol.substr(symbol.rfind('@') + 1)] += name + "; ";
    }
    for (const auto& [node, names] : nodes) versions << node << " { global: " << names << "};\n";
    source.close(), versions.close();
    const Said said =
        run("cc -shared -fPIC -Wl,-soname,libmegalith.so.0 -Wl,--version-script=" + quoted(at / "versions.map") + " " +
            quoted(at / "stub.c") + " -o " + quoted(library));
    EXPECT_EQ(said.code, 0) << said.text;
    fs::create_symlink("libmegalith.so.0", at / "libmegalith.so");
    return library;
  }

  // The release's program, as it was built then.
  fs::path program_of(const fs::path& release) const {
    const fs::path program = dir_ / "user";
    const fs::path library = stub("then", held_by(release));
    const Said said =
        run("cc -std=c11 -pedantic -Wall -Werror -I " + quoted(release) + " " + quoted(release / "user.c") + " -L " +
            quoted(library.parent_path()) + " -lmegalith -o " + quoted(program));
    EXPECT_EQ(said.code, 0) << said.text;
    return program;
  }

  Said run_on(const fs::path& library, const fs::path& program) const {
    return run("LD_BIND_NOW=1 LD_LIBRARY_PATH=" + quoted(library.parent_path()) + " " + quoted(program) + " " +
               quoted(dir_ / "saves"));
  }

  const fs::path dir_ = testing::TempDir() + "megalith-abi-" + std::to_string(getpid());
};

TEST_F(Abi, the_functions_of_the_headers_are_exported_and_nothing_else) {
  const Names of_map = matches(text_of(EXPORTS), "(mgl_\\w+);");
  EXPECT_EQ(matches(text_of(HEADER) + text_of(GRAPH_HEADER), "\n(?:mgl_\\w+|int|const char\\*) (mgl_\\w+)\\("), of_map);
  Names names;
  for (const std::string& symbol : matches(run("nm -D --defined-only '" LIBRARY "'").text, " [TDBRVW] (\\S+)"))
    names.insert(symbol.substr(0, symbol.find('@')));
  EXPECT_EQ(names, of_map);
}

TEST_F(Abi, no_symbol_and_no_field_of_a_release_is_missing) {
  ASSERT_FALSE(releases().empty());
  for (const fs::path& release : releases()) {
    ASSERT_GE(held_by(release).size(), 21u) << release;
    EXPECT_EQ(lacks(LIBRARY, held_by(release)), Names()) << release;
    EXPECT_TRUE(layout_holds(release, INCLUDE)) << release;
    EXPECT_TRUE(layout_holds(release, release, "-DEXACT")) << release;
  }
}

TEST_F(Abi, the_program_of_a_release_runs_on_this_library) {
  if (*SANITIZED) GTEST_SKIP() << "a program without sanitizers can't load a library that has them";
  for (const fs::path& release : releases()) {
    const fs::path program = program_of(release);
    const Said said = run_on(LIBRARY, program);
    ASSERT_EQ(said.code, 0) << release << "\n" << said.text;
    std::istringstream in(said.text);
    std::vector<double> then, now;
    for (double loss; in >> loss;) then.push_back(loss);

    megalith::Config c({"--device", "cpu", "--num-layers", "1", "--hidden-size", "16", "--num-attention-heads", "2",
                        "--seq-length", "8", "--micro-batch-size", "2", "--train-iters", "20", "--lr", "0.01",
                        "--vocab-size", "24"});
    megalith::Session s(c);
    s.batches([](mgl_batch& b) {
      for (int64_t i = 0; i < b.sequences * b.seq_length; ++i) {
        b.tokens[i] = i % b.seq_length ? b.labels[i - 1] : int32_t((b.first_sample + i / b.seq_length) % 24);
        b.labels[i] = (5 * b.tokens[i] + 1) % 24;
      }
      b.loss_mask[0] = 0;
    });
    while (s.iteration() < 10) now.push_back(s.step().loss);
    EXPECT_EQ(then, now) << release;
    fs::remove_all(dir_), fs::create_directories(dir_);
  }
}

// What the tests above look for is found where it is: a symbol that is gone, a field that is gone or moved.
TEST_F(Abi, a_removal_is_found) {
  for (const fs::path& release : releases()) {
    const std::string gone = "mgl_session_evaluate@@MEGALITH_0.1";
    Names fewer = held_by(release);
    ASSERT_EQ(fewer.erase(gone), 1u) << release;
    const fs::path library = stub("fewer", fewer);
    EXPECT_EQ(lacks(library, held_by(release)), Names{gone}) << release;
    const Said said = run_on(library, program_of(release));
    EXPECT_NE(said.code, 0) << release;
    EXPECT_NE(said.text.find("mgl_session_evaluate"), std::string::npos) << said.text;

    const std::string header = text_of(HEADER), line = "  double grad_norm;";
    ASSERT_EQ(matches(header, "(" + line + ")").size(), 1u);
    const auto holds_with = [&](const std::string& from, const std::string& to) {
      fs::create_directories(dir_ / "changed/megalith");
      std::ofstream(dir_ / "changed/megalith/megalith.h") << std::regex_replace(header, std::regex(from), to);
      return layout_holds(release, dir_ / "changed");
    };
    EXPECT_TRUE(holds_with("nothing at all", "")) << release;
    EXPECT_TRUE(holds_with("\\} mgl_step_result;", "double another; } mgl_step_result;")) << release;
    EXPECT_FALSE(holds_with(line, "  float grad_norm;")) << release;
    EXPECT_FALSE(holds_with(line, "  double first; double grad_norm;")) << release;
    EXPECT_FALSE(holds_with(line + "[^\n]*", "")) << release;
    fs::remove_all(dir_), fs::create_directories(dir_);
  }
}

TEST_F(Abi, the_headers_are_c11_and_cpp11) {
  const std::pair<const char*, const char*> languages[] = {
      {"gcc", "c -std=c11"}, {"clang", "c -std=c11"}, {"g++", "c++ -std=c++11"}, {"clang++", "c++ -std=c++11"}};
  for (const auto& [compiler, language] : languages) {
    const std::string name = compiler;
    if (run("command -v " + name).code != 0) continue;
    const std::string flags = std::string(" -fsyntax-only -pedantic -Wall -Wextra -Werror -x ") + language;
    for (const char* header : {HEADER, GRAPH_HEADER})
      EXPECT_EQ(run(name + flags + " -I '" INCLUDE "' '" + header + "'").code, 0) << name << " " << header;
  }
}

}  // namespace
