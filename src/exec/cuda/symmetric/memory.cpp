#include "exec/cuda/symmetric/memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "base/rng.h"
#include "exec/cuda/symmetric/nvlink.h"

namespace megalith::cuda {

namespace {

// The kernel draws this id when it boots, so processes with the same id are on one host, containers too.
constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";

std::string as_hex(const cudaIpcMemHandle_t& handle) {
  std::string out;
  for (const char c : handle.reserved) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

cudaIpcMemHandle_t of_hex(const std::string& hex) {
  cudaIpcMemHandle_t handle{};
  for (size_t i = 0; i < sizeof handle.reserved; ++i)
    handle.reserved[i] = char(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  return handle;
}

// The number that all threads of this process draw once.
const std::string& process_name() {
  static const std::string name =
      fmt::format("{}.{:08x}{:08x}", getpid(), std::random_device()(), std::random_device()());
  return name;
}

// What a rank writes to the start and to the end of its memory. Others find it there if they mapped the right memory.
u64 token(int rank, std::string_view handle) { return hash_name(fmt::format("{} {}", rank, handle)); }

bool has_token(const std::byte* memory, i64 bytes, u64 want) {
  u64 first = 0, last = 0;
  return cudaMemcpy(&first, memory, sizeof first, cudaMemcpyDefault) == cudaSuccess &&
         cudaMemcpy(&last, memory + bytes - sizeof last, sizeof last, cudaMemcpyDefault) == cudaSuccess &&
         first == want && last == want;
}

}  // namespace

SymmetricMemory::SymmetricMemory(Ranks& ranks, Device& device, bool takes_part)
    : ranks_(ranks), device_(device), takes_part_(takes_part), process_(process_name()) {}

void SymmetricMemory::find_hosts() {
  std::string mine;
  std::getline(std::ifstream(kBootId), mine);
  if (mine.empty()) mine = process_;  // then it is alone
  std::map<std::string, int> numbers;
  for (const std::string& id : ranks_.all_gather(mine))
    hosts_.push_back(numbers.try_emplace(id, int(numbers.size())).first->second);
}

SymmetricMemory::~SymmetricMemory() {
  while (!regions_.empty()) unshare(regions_.back().mine);
}

// What a rank tells of its memory.
struct Offer {
  std::string process, bus, handle, layout;
  u64 address = 0;
};
static Offer parse(const std::string& text) {
  Offer o;
  std::istringstream in(text);
  in >> o.process >> o.bus >> o.handle >> o.address >> o.layout;
  return o;
}

void SymmetricMemory::share(std::byte* memory, i64 bytes, const std::string& layout, const std::set<int>& peers) {
  unshare(memory);  // of a former owner of the address that failed before it could
  const int me = ranks_.rank();
  Region region{memory, bytes, std::vector<std::byte*>(size_t(ranks_.size())), {}, {}};
  cudaIpcMemHandle_t handle{};
  const bool offers = takes_part_ && bytes >= i64(sizeof(u64)) && cudaIpcGetMemHandle(&handle, memory) == cudaSuccess;
  cudaGetLastError();  // clears the error, which the next launch's check would find
  const std::string text = offers ? as_hex(handle) : "none";
  const u64 mark = token(me, text);
  if (offers)
    for (std::byte* to : {memory, memory + bytes - sizeof mark})
      check_cuda(cudaMemcpy(to, &mark, sizeof mark, cudaMemcpyHostToDevice), "sharing memory");
  check_cuda(cudaDeviceSynchronize(), "sharing memory");  // a copy may return before it ends
  const std::vector<std::string> offered = ranks_.all_gather(fmt::format(
      "{} {} {} {} {}:{}", process_, device_.bus_place(), text, reinterpret_cast<u64>(memory), bytes, layout));
  const Offer own = parse(offered[size_t(me)]);
  std::string reached(size_t(ranks_.size()), '0');
  for (int r = 0; r < ranks_.size(); ++r) {
    const Offer theirs = parse(offered[size_t(r)]);
    if (!takes_part_ || (r != me && !peers.contains(r))) continue;
    if (host(r) != host(me) || theirs.handle == "none" || theirs.layout != own.layout) continue;
    if (is_linked(theirs.bus)) {
      std::byte* const there = theirs.process != process_ ? open(theirs.handle, region)
                               : reach(theirs.bus)        ? reinterpret_cast<std::byte*>(theirs.address)
                                                          : nullptr;
      if (there && has_token(there, bytes, token(r, theirs.handle)))
        region.on[size_t(r)] = there, reached[size_t(r)] = '1';
    }
    cudaGetLastError();
  }
  region.reached = ranks_.all_gather(reached);
  regions_.push_back(std::move(region));
}

bool SymmetricMemory::is_linked(const std::string& bus) {
  const auto [it, is_new] = linked_.try_emplace(bus);
  if (is_new) it->second = has_nvlink(device_.bus_place(), bus);
  return it->second;
}

bool SymmetricMemory::reach(const std::string& bus) const {
  int gpu = 0;
  if (cudaDeviceGetByPCIBusId(&gpu, bus.c_str()) != cudaSuccess) return false;
  if (gpu == device_.ordinal()) return true;
  const cudaError_t status = cudaDeviceEnablePeerAccess(gpu, 0);
  return status == cudaSuccess || status == cudaErrorPeerAccessAlreadyEnabled;
}

std::byte* SymmetricMemory::open(const std::string& handle, Region& region) {
  void* there = nullptr;
  if (cudaIpcOpenMemHandle(&there, of_hex(handle), cudaIpcMemLazyEnablePeerAccess) != cudaSuccess) return nullptr;
  region.opened.push_back(there);
  return static_cast<std::byte*>(there);
}

void SymmetricMemory::unshare(const std::byte* memory) {
  const auto it = std::ranges::find(regions_, memory, &Region::mine);
  if (it == regions_.end()) return;
  for (void* there : it->opened) cudaIpcCloseMemHandle(there);
  regions_.erase(it);
}

const SymmetricMemory::Region* SymmetricMemory::region_of(const std::byte* memory, i64 bytes) const {
  const auto it = std::ranges::find_if(
      regions_, [&](const Region& r) { return memory >= r.mine && memory + bytes <= r.mine + r.bytes; });
  return it == regions_.end() ? nullptr : &*it;
}

bool SymmetricMemory::reach_each_other(std::span<const int> ranks, const std::byte* memory) const {
  const Region* region = region_of(memory, 1);
  return region && std::ranges::all_of(ranks, [&](int a) {
           return std::ranges::all_of(ranks, [&](int b) { return region->reached[size_t(a)][size_t(b)] == '1'; });
         });
}

std::optional<std::vector<std::byte*>> SymmetricMemory::at(std::span<const int> ranks, const std::byte* mine,
                                                           i64 bytes) const {
  const Region* region = region_of(mine, bytes);
  if (!region || !reach_each_other(ranks, mine)) return std::nullopt;
  std::vector<std::byte*> out;
  for (const int r : ranks) out.push_back(region->on[size_t(r)] + (mine - region->mine));
  return out;
}

}  // namespace megalith::cuda
