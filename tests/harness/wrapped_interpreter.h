// Wraps an interpreter, so that a test can change a part of it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "plan/interpreter.h"

namespace megalith::test {

class WrappedInterpreter : public Interpreter {
 public:
  explicit WrappedInterpreter(std::unique_ptr<Interpreter> real = {}) : real_(std::move(real)) {}
  void run(int program, bool first, int slot) override { real_->run(program, first, slot); }
  int send(const Leaf& leaf, int slot, int peer, int channel) override {
    return real_->send(leaf, slot, peer, channel);
  }
  int receive(const Leaf& leaf, int slot, int peer, int channel) override {
    return real_->receive(leaf, slot, peer, channel);
  }
  void join(int ticket) override { real_->join(ticket); }
  void write(const Leaf& leaf, const void* data, int slot) override { real_->write(leaf, data, slot); }
  void read(const Leaf& leaf, void* data) override { real_->read(leaf, data); }
  void write_part(const Leaf& leaf, i64 begin, std::span<const std::byte> data) override {
    real_->write_part(leaf, begin, data);
  }
  void read_part(const Leaf& leaf, i64 begin, std::span<std::byte> out) override { real_->read_part(leaf, begin, out); }
  void make_ready(int program, bool first, int slot) override { real_->make_ready(program, first, slot); }
  void copy_on_device(i64 bytes) override { real_->copy_on_device(bytes); }
  std::byte* host_memory(i64 bytes) override { return real_->host_memory(bytes); }
  void begin_copies(std::span<const Copy> copies) override { real_->begin_copies(copies); }
  void wait_for_copies() override { real_->wait_for_copies(); }
  void draw(const Leaf& leaf, const Draw& draw) override { real_->draw(leaf, draw); }
  std::byte* host_view(const Leaf& leaf) override { return real_->host_view(leaf); }
  std::span<const double> scalars(int program, const std::string& output) override {
    return real_->scalars(program, output);
  }
  void read_output(int program, const std::string& output, void* data) override {
    real_->read_output(program, output, data);
  }
  int request(int program, const std::string& output) override { return real_->request(program, output); }
  bool ready(int ticket) override { return real_->ready(ticket); }
  double arrived(int ticket) override { return real_->arrived(ticket); }
  std::vector<double> take(int ticket) override { return real_->take(ticket); }
  void write_after(int ticket, const Leaf& leaf, Fill fill) override {
    real_->write_after(ticket, leaf, std::move(fill));
  }
  void profile(bool on) override { real_->profile(on); }
  double busy_seconds() override { return real_->busy_seconds(); }
  double own_seconds() override { return real_->own_seconds(); }
  std::vector<double> time_instructions(int program) override { return real_->time_instructions(program); }
  bool watch(RunWatch* watch) override { return real_->watch(watch); }

 protected:
  std::unique_ptr<Interpreter> real_;
};

}  // namespace megalith::test
