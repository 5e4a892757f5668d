#include "launch/symbol_names.h"

#include <cxxabi.h>
#include <elf.h>
#include <fmt/core.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

namespace megalith::launch {
namespace {

// "" if the file does not have these bytes.
std::string bytes_of(std::ifstream& file, u64 offset, u64 size) {
  constexpr u64 kLargest = u64(1) << 28;
  std::string bytes(size <= kLargest ? size : 0, '\0');
  file.clear();
  if (bytes.empty() || !file.seekg(std::streamoff(offset)) || !file.read(bytes.data(), std::streamsize(size)))
    return {};
  return bytes;
}

template <typename T>
T item(const std::string& bytes, u64 index, u64 stride = sizeof(T)) {
  T value{};
  if (index < bytes.size() / std::max<u64>(stride, sizeof(T)))
    std::memcpy(&value, bytes.data() + index * stride, sizeof(T));
  return value;
}

std::string demangled(const std::string& name) {
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, nullptr),
                                                    std::free);
  std::string plain = text ? text.get() : name;
  for (const std::string part : {"megalith::", "(anonymous namespace)::"})
    for (size_t at; (at = plain.find(part)) != std::string::npos;) plain.erase(at, part.size());
  constexpr size_t kLongest = 120;
  if (plain.size() > kLongest) plain = plain.substr(0, kLongest) + "...";
  return plain;
}

}  // namespace

ElfSymbols::ElfSymbols(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const auto head = item<Elf64_Ehdr>(bytes_of(file, 0, sizeof(Elf64_Ehdr)), 0);
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64) return;
  const std::string segments = bytes_of(file, head.e_phoff, u64(head.e_phnum) * head.e_phentsize);
  for (u64 i = 0; i < head.e_phnum; ++i)
    if (const auto s = item<Elf64_Phdr>(segments, i, head.e_phentsize); s.p_type == PT_LOAD)
      segments_.push_back({s.p_offset, s.p_filesz, s.p_vaddr});
  const std::string sections = bytes_of(file, head.e_shoff, u64(head.e_shnum) * head.e_shentsize);
  for (const u32 kind : {SHT_SYMTAB, SHT_DYNSYM})
    for (u64 i = 0; i < head.e_shnum && functions_.empty(); ++i) {
      const auto table = item<Elf64_Shdr>(sections, i, head.e_shentsize);
      if (table.sh_type != kind) continue;
      const auto names = item<Elf64_Shdr>(sections, table.sh_link, head.e_shentsize);
      read_functions(bytes_of(file, table.sh_offset, table.sh_size), bytes_of(file, names.sh_offset, names.sh_size));
    }
}

void ElfSymbols::read_functions(const std::string& table, const std::string& names) {
  for (u64 i = 0; i < table.size() / sizeof(Elf64_Sym); ++i) {
    const auto s = item<Elf64_Sym>(table, i);
    if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || s.st_value == 0 || s.st_name >= names.size()) continue;
    functions_[s.st_value] = {names.substr(s.st_name, names.find('\0', s.st_name) - s.st_name), s.st_size};
  }
}

std::string ElfSymbols::at(u64 offset) const {
  for (const Segment& s : segments_) {
    if (offset < s.offset || offset - s.offset >= s.size) continue;
    const u64 address = s.address + (offset - s.offset);
    const auto after = functions_.upper_bound(address);
    if (after == functions_.begin()) return {};
    const auto& [begin, f] = *std::prev(after);
    return f.size == 0 || address - begin < f.size ? demangled(f.name) : "";
  }
  return {};
}

// Lines: "begin-end rights offset device inode path". The kernel sorts them.
MappedFiles::MappedFiles(const std::string& maps) {
  std::istringstream lines(maps);
  for (std::string line; std::getline(lines, line);) {
    Range r;
    int path = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &r.begin, &r.end, &r.offset,
                    &path) < 3 ||
        path == 0 || line.compare(size_t(path), 1, "/") != 0)
      continue;
    r.path = line.substr(size_t(path));
    ranges_.push_back(std::move(r));
  }
}

const MappedFiles::Range* MappedFiles::of(u64 address) const {
  const auto after = std::ranges::upper_bound(ranges_, address, {}, &Range::begin);
  if (after == ranges_.begin()) return nullptr;
  const Range& r = *std::prev(after);
  return address < r.end ? &r : nullptr;
}

std::string SymbolNames::of(u64 address, const MappedFiles& files) {
  const MappedFiles::Range* r = files.of(address);
  if (r == nullptr) return fmt::format("0x{:x}", address);
  const u64 offset = address - r->begin + r->offset;
  // The address is after the call, which may be the function's last instruction.
  const std::string name = symbols_.try_emplace(r->path, r->path).first->second.at(offset - 1);
  const std::string file = r->path.substr(r->path.rfind('/') + 1);
  if (name.empty()) return fmt::format("0x{:x} in {}", offset, file);
  return file.find(".so") != std::string::npos ? fmt::format("{} in {}", name, file) : name;
}

}  // namespace megalith::launch
