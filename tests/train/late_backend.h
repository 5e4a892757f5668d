// A CPU backend that behaves like a GPU. Runs and writes wait in a queue until a result is needed, so no result is
// ready before that.
#pragma once
#include <cstring>
#include <deque>
#include <map>

#include "exec/cpu/backend.h"
#include "tests/harness/wrapped_backend.h"

namespace megalith {

class LateInterpreter final : public Interpreter {
 public:
  LateInterpreter(std::unique_ptr<Interpreter> inner, std::vector<int>& profiled)
      : inner_(std::move(inner)), profiled_(profiled) {}

  void run(int program, bool first, int slot) override {
    queue_.push_back([=, this] { inner_->run(program, first, slot); });
  }
  int send(const Leaf& leaf, int slot, int peer, int channel) override {
    return now()->send(leaf, slot, peer, channel);
  }
  int receive(const Leaf& leaf, int slot, int peer, int channel) override {
    return now()->receive(leaf, slot, peer, channel);
  }
  void join(int ticket) override { now()->join(ticket); }
  void write(const Leaf& leaf, const void* data, int slot) override {
    const auto* bytes = static_cast<const std::byte*>(data);
    queue_.push_back([=, this, copy = std::vector<std::byte>(bytes, bytes + leaf.bytes)] {
      inner_->write(leaf, copy.data(), slot);
    });
  }
  void write_part(const Leaf& leaf, i64 begin, std::span<const std::byte> data) override {
    now()->write_part(leaf, begin, data);
  }
  void read_part(const Leaf& leaf, i64 begin, std::span<std::byte> out) override { now()->read_part(leaf, begin, out); }
  void make_ready(int program, bool first, int slot) override { inner_->make_ready(program, first, slot); }
  void copy_on_device(i64 bytes) override { inner_->copy_on_device(bytes); }
  std::byte* host_memory(i64 bytes) override { return inner_->host_memory(bytes); }
  void begin_copies(std::span<const Copy> copies) override { now()->begin_copies(copies); }
  void wait_for_copies() override { inner_->wait_for_copies(); }
  void draw(const Leaf& leaf, const Draw& draw) override { now()->draw(leaf, draw); }
  void read(const Leaf& leaf, void* data) override { now()->read(leaf, data); }
  std::byte* host_view(const Leaf&) override { return nullptr; }
  std::span<const double> scalars(int program, const std::string& output) override {
    return now()->scalars(program, output);
  }
  void read_output(int program, const std::string& output, void* data) override {
    now()->read_output(program, output, data);
  }
  int request(int program, const std::string& output) override {
    const int ticket = ++tickets_;
    queue_.push_back([=, this] { inner_tickets_[ticket] = inner_->request(program, output); });
    return ticket;
  }
  bool ready(int) override { return false; }
  double arrived(int ticket) override {
    while (!inner_tickets_.contains(ticket)) step();  // runs no further than necessary
    return inner_->arrived(inner_tickets_.at(ticket));
  }
  std::vector<double> take(int ticket) override {
    while (!inner_tickets_.contains(ticket)) step();  // runs no further than necessary
    std::vector<double> values = inner_->take(inner_tickets_.at(ticket));
    values_[ticket] = values;
    return values;
  }
  void write_after(int ticket, const Leaf& leaf, Fill fill) override {
    queue_.push_back([=, this] {  // the ticket's result was taken before
      std::vector<std::byte> data(size_t(leaf.bytes));
      fill(values_.at(ticket), data.data());
      inner_->write(leaf, data.data());
    });
  }
  void profile(bool on) override { profiled_.push_back(on ? tickets_ : -tickets_); }
  double busy_seconds() override { return 0; }
  double own_seconds() override { return 0; }
  std::vector<double> time_instructions(int program) override { return now()->time_instructions(program); }

 private:
  void step() {
    queue_.front()();
    queue_.pop_front();
  }
  Interpreter* now() {
    while (!queue_.empty()) step();
    return inner_.get();
  }

  std::unique_ptr<Interpreter> inner_;
  std::vector<int>& profiled_;
  std::deque<std::function<void()>> queue_;
  std::map<int, int> inner_tickets_;
  std::map<int, std::vector<double>> values_;
  int tickets_ = 0;
};

class LateBackend final : public test::WrappedBackend {
 public:
  LateBackend() : WrappedBackend(make_cpu_backend()) {}
  std::unique_ptr<Interpreter> make_interpreter(const Plan& plan, const Coord& coord) const override {
    return std::make_unique<LateInterpreter>(real_->make_interpreter(plan, coord), profiled);
  }

  mutable std::vector<int> profiled;  // number of requested results when profiling began; negative: when it ended
};

}  // namespace megalith
