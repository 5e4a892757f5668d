// snapshot-copy-bench measures how fast a snapshot goes to another node's agent and back: a process serves memory files
// over loopback, and another one writes a copy and reads it. Arguments: MiB (2048), repetitions (3).
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/in_parallel.h"
#include "base/log.h"
#include "comm/slot_client.h"
#include "launch/slot_server.h"

namespace megalith {
namespace {

constexpr i64 kMiB = i64{1} << 20;

// Serves the files until the other process closes its end of the pipe.
int serve(int key_out, int end_in) {
  launch::SnapshotMemory memory(1, 1);
  const launch::SlotServer server("127.0.0.1", memory);
  const std::string key = std::to_string(server.key().port) + " " + server.key().token;
  if (write(key_out, key.data(), key.size()) != ssize_t(key.size())) return 1;
  char end = 0;
  return read(end_in, &end, 1) == 0 ? 0 : 1;
}

SlotServerPlace place_from(int key_in) {
  char text[256] = "";
  check(read(key_in, text, sizeof text - 1) > 0, "no server");
  const std::string key(text);
  const size_t space = key.find(' ');
  return SlotServerPlace::of_own({std::stoi(key.substr(0, space)), key.substr(space + 1)});
}

template <class F>
double seconds_of(F&& work) {
  const double began = steady_seconds();
  work();
  return steady_seconds() - began;
}

void measure(const SlotServerPlace& place, i64 bytes, int repetitions) {
  std::vector<std::byte> data(static_cast<size_t>(bytes)), back(data.size());
  for (size_t i = 0; i < data.size(); i += 64) data[i] = std::byte(i / 64 % 251);
  SlotLink first(place);
  const int file = first.copies_of(1);
  first.write(file, 0, data);  // the system allocates the memory
  log::say("{:5} {:>12} {:>12}", "links", "write GB/s", "read GB/s");
  for (int i = 0; i < repetitions; ++i)
    for (const int links : {1, 2, 4, 8}) {
      std::vector<SlotLink> to;
      for (int k = 0; k < links; ++k) to.emplace_back(place);
      const double written = seconds_of([&] { write_over(to, file, 0, data); });
      const FarSlot slot(place, file);
      const i64 part = (bytes / links + 63) / 64 * 64;
      const double seen = seconds_of([&] {
        in_parallel(links, [&](int k) {
          const i64 begin = std::min(k * part, bytes), n = std::min(part, bytes - begin);
          slot.read(begin, std::span(back).subspan(size_t(begin), size_t(n)));
        });
      });
      check(back == data, "the copy differs");
      log::say("{:5} {:12.2f} {:12.2f}", links, double(bytes) / 1e9 / written, double(bytes) / 1e9 / seen);
    }
}

int run(int argc, char** argv) {
  const i64 bytes = (argc > 1 ? std::atoll(argv[1]) : 2048) * kMiB;
  int key[2], end[2];
  check(pipe(key) == 0 && pipe(end) == 0, "no pipe");
  const pid_t server = fork();
  if (server == 0) {
    close(end[1]);
    _exit(serve(key[1], end[0]));
  }
  measure(place_from(key[0]), bytes, argc > 2 ? std::atoi(argv[2]) : 3);
  close(end[1]);
  int status = 0;
  waitpid(server, &status, 0);
  return status;
}

}  // namespace
}  // namespace megalith

int main(int argc, char** argv) { return megalith::run(argc, argv); }
