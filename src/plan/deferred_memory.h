// Of an interpreter that prepares a plan's kernels before its device has memory for the plan: the memory is still in
// use by the processes that this one replaces. Meanwhile it can take the state, if the device has room for it too.
#pragma once
#include <memory>
#include <span>

#include "plan/interpreter.h"

namespace megalith {

class DeferredMemory {
 public:
  struct Part {  // bytes of a leaf's local block
    const Leaf* leaf;
    i64 begin, bytes;
  };
  virtual ~DeferredMemory() = default;
  // Allocates memory for these parts, zeroed: they can be written from here on. False if the device has too little,
  // now or later beside the plan's memory.
  virtual bool hold(std::span<const Part> parts) = 0;
  virtual void let_go() = 0;  // frees that memory with its content
  // Allocates the plan's memory, and moves the content of the parts to it. All ranks call it at the same time, before
  // anything else of the interpreter. Error if memory is short.
  virtual void take_memory() = 0;
};

// Of a backend that makes such interpreters.
class DefersMemory {
 public:
  virtual ~DefersMemory() = default;
  // As Backend::make_interpreter(). nullptr if the plan has state in the host's memory.
  virtual std::unique_ptr<Interpreter> make_deferred(const Plan& plan, const Coord& coord) const = 0;
};

}  // namespace megalith
