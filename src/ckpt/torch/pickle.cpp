// The stack machine that a pickle is a program for. Opcodes: Python's pickletools.py.
#include "ckpt/torch/pickle.h"

#include <cstring>
#include <unordered_map>

#include "ckpt/torch/pickle_input.h"

namespace megalith {
namespace {

using Kind = PickleValue::Kind;

constexpr std::size_t kMaxValues = std::size_t{1} << 24;

class Machine : PickleInput {
 public:
  Machine(std::span<const std::byte> bytes, const std::string& where, std::deque<PickleValue>& arena)
      : PickleInput(bytes, where), arena_(arena) {}

  const PickleValue* run() {
    while (!done_) step(take<u8>());
    need(stack_.size() == 1 && marks_.empty(), "it ends with {} values", stack_.size());
    return stack_.back();
  }

 private:
  PickleValue* make(Kind kind) {
    need(arena_.size() < kMaxValues, "it has more than {} values", kMaxValues);
    PickleValue& value = arena_.emplace_back();
    value.kind = kind;
    return &value;
  }
  void push(PickleValue* value) { stack_.push_back(value); }
  PickleValue* push_new(Kind kind) {
    push(make(kind));
    return stack_.back();
  }
  void push_integer(i64 value) { push_new(Kind::integer)->integer = value; }
  void push_text(Kind kind, std::string_view text) { push_new(kind)->text = text; }

  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  PickleValue* top() const {
    need(stack_.size() > floor(), "its stack is empty");
    return stack_.back();
  }
  PickleValue* pop() {
    PickleValue* value = top();
    stack_.pop_back();
    return value;
  }
  std::vector<const PickleValue*> pop_to_mark() {
    need(!marks_.empty(), "it has no mark");
    std::vector<const PickleValue*> items(stack_.begin() + std::ptrdiff_t(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  void push_items(Kind kind, std::vector<const PickleValue*> items) { push_new(kind)->items = std::move(items); }
  void push_tuple(std::size_t n) {
    need(stack_.size() >= floor() + n, "its stack is empty");
    std::vector<const PickleValue*> items(stack_.end() - std::ptrdiff_t(n), stack_.end());
    stack_.resize(stack_.size() - n);
    push_items(Kind::tuple, std::move(items));
  }
  void push_dict(std::vector<const PickleValue*> items) {
    need(items.size() % 2 == 0, "a dict has a key without a value");
    push_items(Kind::dict, std::move(items));
  }

  // Into the list, dict or set on top; objects may be such too.
  void append(std::vector<const PickleValue*> items, bool pairs) {
    PickleValue* to = top();
    const bool fits = pairs ? to->kind == Kind::dict || to->kind == Kind::object
                            : to->kind == Kind::list || to->kind == Kind::set || to->kind == Kind::object;
    need(fits && (!pairs || items.size() % 2 == 0), "it adds items to {}", to->describe());
    to->items.insert(to->items.end(), items.begin(), items.end());
  }

  void push_global(const std::string& module, const std::string& name) {
    const std::string full = module + "." + name;
    check(is_known_pickle_class(full), "{} names the class {}, which no checkpoint needs: refused", where(), full);
    push_new(Kind::global)->text = full;
  }
  // The result of calling a class: an inert object; an OrderedDict is a dict.
  void call(const PickleValue* callee, const PickleValue* args) {
    need(callee->kind == Kind::global && args->kind == Kind::tuple, "it calls {}", callee->describe());
    if (callee->text == "collections.OrderedDict" && args->items.empty()) return void(push_new(Kind::dict));
    PickleValue* object = push_new(Kind::object);
    object->text = callee->text, object->args = args;
  }

  void remember(u32 key) { memo_[key] = top(); }
  void recall(u32 key) {
    const auto it = memo_.find(key);
    need(it != memo_.end(), "it recalls value {}, which it never stored", key);
    push(it->second);
  }

  void push_long(u64 n) {
    const std::string_view digits = raw(n);
    PickleValue* value = push_new(Kind::integer);
    if (digits.size() > 8) {  // its size is all that may matter
      value->kind = Kind::real;
      for (std::size_t i = digits.size(); i-- > 0;) value->real = value->real * 256 + u8(digits[i]);
      return;
    }
    const u64 sign = !digits.empty() && (u8(digits.back()) & 0x80) != 0 ? ~u64{0} : 0;
    u64 bits = sign;
    std::memcpy(&bits, digits.data(), digits.size());
    value->integer = i64(bits);
  }

  void step(u8 op);
  bool step_scalar(u8 op);
  bool step_container(u8 op);
  bool step_object(u8 op);

  std::deque<PickleValue>& arena_;
  bool done_ = false;
  std::vector<PickleValue*> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<u32, PickleValue*> memo_;
};

bool Machine::step_scalar(u8 op) {
  switch (op) {
    case 'N':
      return push_new(Kind::none), true;
    case 0x88:
    case 0x89:
      push_new(Kind::boolean)->integer = op == 0x88;
      return true;
    case 'J':
      return push_integer(take<i32>()), true;
    case 'K':
      return push_integer(take<u8>()), true;
    case 'M':
      return push_integer(take<u16>()), true;
    case 0x8a:
      return push_long(take<u8>()), true;
    case 0x8b:
      return push_long(take<u32>()), true;
    case 'G':
      push_new(Kind::real)->real = big_endian_double();
      return true;
    case 'U':
    case 0x8c:
      return push_text(Kind::text, raw(take<u8>())), true;
    case 'T':
    case 'X':
      return push_text(Kind::text, raw(take<u32>())), true;
    case 0x8d:
      return push_text(Kind::text, raw(take<u64>())), true;
    case 'C':
      return push_text(Kind::bytes, raw(take<u8>())), true;
    case 'B':
      return push_text(Kind::bytes, raw(take<u32>())), true;
    case 0x8e:
    case 0x96:
      return push_text(Kind::bytes, raw(take<u64>())), true;
    default:
      return false;
  }
}

bool Machine::step_container(u8 op) {
  switch (op) {
    case ']':
      return push_new(Kind::list), true;
    case '}':
      return push_new(Kind::dict), true;
    case ')':
      return push_new(Kind::tuple), true;
    case 0x8f:
      return push_new(Kind::set), true;
    case '(':
      return marks_.push_back(stack_.size()), true;
    case 't':
      return push_items(Kind::tuple, pop_to_mark()), true;
    case 'l':
      return push_items(Kind::list, pop_to_mark()), true;
    case 'd':
      return push_dict(pop_to_mark()), true;
    case 0x91:
      return push_items(Kind::set, pop_to_mark()), true;
    case 0x85:
    case 0x86:
    case 0x87:
      return push_tuple(std::size_t(op - 0x84)), true;
    case 'a': {
      const PickleValue* item = pop();
      return append({item}, false), true;
    }
    case 's': {
      const PickleValue *value = pop(), *key = pop();
      return append({key, value}, true), true;
    }
    case 'e':
    case 0x90:
      return append(pop_to_mark(), false), true;
    case 'u':
      return append(pop_to_mark(), true), true;
    default:
      return false;
  }
}

bool Machine::step_object(u8 op) {
  switch (op) {
    case 'c': {
      const std::string module = line(), name = line();
      return push_global(module, name), true;
    }
    case 0x93: {
      const PickleValue *name = pop(), *module = pop();
      need(name->kind == Kind::text && module->kind == Kind::text, "a class has no name");
      return push_global(module->text, name->text), true;
    }
    case 'R':
    case 0x81: {
      const PickleValue *args = pop(), *callee = pop();
      return call(callee, args), true;
    }
    case 0x92: {  // keyword arguments are ignored
      pop();
      const PickleValue *args = pop(), *callee = pop();
      return call(callee, args), true;
    }
    case 'b': {
      const PickleValue* state = pop();
      top()->state = state;
      return true;
    }
    case 'Q': {
      const PickleValue* id = pop();
      push_items(Kind::persistent, {id});
      return true;
    }
    default:
      return false;
  }
}

void Machine::step(u8 op) {
  if (step_scalar(op) || step_container(op) || step_object(op)) return;
  switch (op) {
    case 0x80: {
      const u8 protocol = take<u8>();
      need(protocol >= 2 && protocol <= 5, "it has protocol {}; 2 to 5 are read", protocol);
      return;
    }
    case 0x95:
      take<u64>();  // a frame's length is a hint for buffering
      return;
    case '.':
      done_ = true;
      return;
    case '0':
      pop();
      return;
    case '1':
      pop_to_mark();
      return;
    case '2':
      return push(top());
    case 'h':
      return recall(take<u8>());
    case 'j':
      return recall(take<u32>());
    case 'q':
      return remember(take<u8>());
    case 'r':
      return remember(take<u32>());
    case 0x94:
      return remember(u32(memo_.size()));
    default:
      need(false, "opcode 0x{:02x} is unknown", op);
  }
}

}  // namespace

Pickle::Pickle(std::span<const std::byte> bytes, const std::string& where) {
  check(bytes.size() > 2 && bytes[0] == std::byte{0x80}, "{} is not a pickle of protocol 2 to 5", where);
  root_ = Machine(bytes, where, arena_).run();
}

}  // namespace megalith
