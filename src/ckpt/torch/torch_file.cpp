#include "ckpt/torch/torch_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/check.h"
#include "mesh/block_copy.h"

namespace megalith {
namespace {

struct TorchType {
  std::string_view name, storage;
  i64 bytes;
  std::optional<DType> ours;
};

constexpr TorchType kTorchTypes[] = {{"float32", "FloatStorage", 4, DType::f32},
                                     {"float64", "DoubleStorage", 8, DType::f64},
                                     {"bfloat16", "BFloat16Storage", 2, DType::bf16},
                                     {"float16", "HalfStorage", 2, DType::f16},
                                     {"int32", "IntStorage", 4, DType::i32},
                                     {"int64", "LongStorage", 8, DType::i64},
                                     {"uint8", "ByteStorage", 1, DType::u8},
                                     {"uint16", "", 2, DType::u16},
                                     {"int16", "ShortStorage", 2, DType::i16},
                                     {"int8", "CharStorage", 1, DType::i8},
                                     {"bool", "BoolStorage", 1, DType::boolean},
                                     {"uint32", "", 4, DType::u32},
                                     {"uint64", "", 8, DType::u64},
                                     {"float8_e4m3fn", "", 1, DType::f8_e4m3},
                                     {"float8_e5m2", "", 1, DType::f8_e5m2},
                                     {"float8_e4m3fnuz", "", 1, {}},
                                     {"float8_e5m2fnuz", "", 1, {}},
                                     {"float8_e8m0fnu", "", 1, {}},
                                     {"float4_e2m1fn_x2", "", 1, {}},  // two in a byte
                                     {"complex32", "", 4, {}},
                                     {"complex64", "ComplexFloatStorage", 8, {}},
                                     {"complex128", "ComplexDoubleStorage", 16, {}}};

const TorchType* find_type(std::string_view name, std::string_view TorchType::*key) {
  const auto it = std::ranges::find(kTorchTypes, name, key);
  return it == std::end(kTorchTypes) ? nullptr : &*it;
}

std::string_view after_dot(std::string_view name) { return name.substr(name.rfind('.') + 1); }

Pickle read_pickle(const TorchZip& zip) { return Pickle(zip.bytes(zip.at("data.pkl")), zip.where() + "/data.pkl"); }

bool is_big_endian(const TorchZip& zip) {
  const ZipRecord* record = zip.find("byteorder");
  if (record == nullptr) return false;
  const std::vector<std::byte> bytes = zip.bytes(*record);
  const std::string_view order(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  check(order == "little" || order == "big", "{}: byteorder is \"{}\": want little or big", zip.where(),
        order.substr(0, 20));
  return order == "big";
}

}  // namespace

DType TorchTensor::dtype() const {
  const auto type_of = dtype_of_torch(type);
  check(type_of.has_value(), "torch.{} is no type that we read", type);
  return *type_of;
}

std::optional<DType> dtype_of_torch(std::string_view type) {
  const TorchType* t = find_type(type, &TorchType::name);
  return t == nullptr ? std::nullopt : t->ours;
}

std::string_view torch_name_of(DType type) {
  return std::ranges::find(kTorchTypes, std::optional(type), &TorchType::ours)->name;
}

std::string_view torch_storage_of(DType type) {
  return std::ranges::find(kTorchTypes, std::optional(type), &TorchType::ours)->storage;
}

TorchFile::TorchFile(const FileRange& archive, const std::string& where)
    : zip_(archive, where), pickle_(read_pickle(zip_)), swapped_(is_big_endian(zip_)) {}

// The call that makes a tensor from its storage: torch._utils._rebuild_tensor, _v2 or _v3, or an equivalent.
static std::optional<TensorCall> tensor_call(const PickleValue& value) {
  constexpr std::string_view kTensor = "torch._utils._rebuild_tensor";
  if (value.kind != PickleValue::Kind::object) return std::nullopt;
  const auto& args = value.args->items;
  if (value.text.starts_with(kTensor)) return TensorCall{value.text, args};
  // A tensor with attributes, as Megatron-LM's main values are: the function, the class, arguments, attributes.
  const bool with_attributes = value.is("torch._tensor._rebuild_from_type_v2") && args.size() >= 3;
  if (with_attributes && args[0]->kind == PickleValue::Kind::global && args[0]->text.starts_with(kTensor))
    if (const auto* inner = args[2]->sequence()) return TensorCall{args[0]->text, *inner};
  return std::nullopt;
}

std::optional<TorchTensor> TorchFile::tensor(const PickleValue& value, const std::string& name) const {
  const bool parameter = value.kind == PickleValue::Kind::object &&
                         value.text.starts_with("torch._utils._rebuild_parameter") && !value.args->items.empty();
  const auto call = tensor_call(parameter ? *value.args->items[0] : value);
  return call ? std::optional(place(*call, name)) : std::nullopt;
}

std::vector<std::byte> TorchFile::bytes(const PickleValue& value, const std::string& name) const {
  const auto t = tensor(value, name);
  check(t && !t->swapped && t->strides == row_major_strides(t->shape), "{}: {} is no contiguous tensor", zip_.where(),
        name);
  const i64 size = count(t->shape) * size_of(t->dtype());
  for (const ZipRecord& r : zip_.records()) {
    if (size == 0 || t->position < r.begin || t->position >= r.begin + r.size) continue;
    const std::vector<std::byte> all = zip_.bytes(r);
    const auto begin = all.begin() + (t->position - r.begin);
    return {begin, begin + size};  // place() has seen that they fit
  }
  return {};
}

std::optional<double> TorchFile::number(const PickleValue& value) const {
  if (value.kind == PickleValue::Kind::integer) return double(value.integer);
  if (value.kind == PickleValue::Kind::real) return value.real;
  const auto t = tensor(value);
  if (!t || t->type != "float32" || count(t->shape) != 1 || t->swapped) return std::nullopt;
  for (const ZipRecord& r : zip_.records()) {
    if (t->position < r.begin || t->position >= r.begin + r.size) continue;
    const std::vector<std::byte> bytes = zip_.bytes(r);
    float out = 0;
    std::memcpy(&out, bytes.data() + t->position - r.begin, sizeof out);  // place() has seen that it fits
    return double(out);
  }
  return std::nullopt;
}

TorchTensor TorchFile::place(const TensorCall& call, const std::string& name) const {
  const std::string what = zip_.where() + (name.empty() ? ": a tensor" : ": tensor " + name);
  const auto& args = call.args;
  const bool typed = call.function == "torch._utils._rebuild_tensor_v3";
  check(args.size() >= 4 && args[0]->kind == PickleValue::Kind::persistent, "{} has no storage", what);
  const auto* id = args[0]->items[0]->sequence();
  check(id != nullptr && id->size() == 5 && pickle_text((*id)[0], what) == "storage" &&
            (*id)[1]->kind == PickleValue::Kind::global,
        "{} has a strange storage", what);
  const TorchType* type = find_type(after_dot((*id)[1]->text), &TorchType::storage);
  if (typed) {
    check(args.size() >= 7 && args[6]->kind == PickleValue::Kind::global, "{} has no type", what);
    type = find_type(after_dot(args[6]->text), &TorchType::name);
  }
  const std::size_t notes = typed ? 7 : 6;
  for (const char* bit : {"neg", "conj"})
    if (const PickleValue* set = args.size() > notes ? args[notes]->find(bit) : nullptr)
      check(set->kind == PickleValue::Kind::boolean && set->integer == 0,
            "{} has the bit {}: its values differ from the stored bytes; save it with .resolve_{}()", what, bit, bit);
  check(type != nullptr, "{} has the storage {}, which is unknown", what, (*id)[1]->text);
  const ZipRecord& record = zip_.at("data/" + pickle_text((*id)[2], what + "'s storage"));
  TorchTensor t{.type = std::string(type->name),
                .shape = pickle_sizes(args[2], what + "'s shape"),
                .strides = pickle_strides(args[3], what + "'s strides"),
                .swapped = swapped_};
  const i64 first = pickle_integer(args[1], what + "'s offset"), stored = record.size / type->bytes;
  i64 last = first;
  bool fits = first >= 0 && t.strides.size() == t.shape.size();
  for (std::size_t d = 0; fits && d < t.shape.size(); ++d) {
    i64 reach = 0;
    fits = !__builtin_mul_overflow(t.strides[d], std::max<i64>(t.shape[d] - 1, 0), &reach) &&
           !__builtin_add_overflow(last, reach, &last);
  }
  check(fits && (count(t.shape) == 0 || last < stored), "{} of shape {} goes beyond its storage of {} elements", what,
        to_string(t.shape), stored);
  t.position = record.begin + (count(t.shape) == 0 ? 0 : first * type->bytes);
  return t;
}

}  // namespace megalith
