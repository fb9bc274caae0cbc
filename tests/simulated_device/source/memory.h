// Device memory: host memory that is charged to a device's budget.
#pragma once
#include "state.h"
#include <ATen/core/Tensor.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

namespace simulated {

struct Block {
  void* start;
  size_t bytes;
  DeviceIndex index;
  at::Tensor owner;  // a CPU result whose memory the device took over; else the block owns `start`
};

inline void charge(DeviceIndex index, size_t bytes) {
  std::lock_guard<std::mutex> guard(machine().mutex);
  auto& on = device(index);
  if (on.lost) raise_lost(index);
  size_t taken = on.used_by_others + (size_t)on.stats.allocated_bytes[0].current;
  if (taken + bytes > on.total || striking(on, "oom", "")) {
    on.stats.num_ooms++;
    TORCH_CHECK_WITH(OutOfMemoryError, false, "simulated device ", int(or_current(index)), " out of memory. Tried to allocate ",
                     bytes, " bytes (", on.total, " in total, ", taken, " already taken)");
  }
  on.stats.allocated_bytes[0].increase(bytes);
  on.stats.reserved_bytes[0].increase(bytes);
  on.stats.allocation[0].increase(1);
}
inline void give_back(void* context) {
  auto* block = static_cast<Block*>(context);
  {
    std::lock_guard<std::mutex> guard(machine().mutex);
    auto& stats = machine().devices[block->index].stats;
    stats.allocated_bytes[0].decrease(block->bytes);
    stats.reserved_bytes[0].decrease(block->bytes);
    stats.allocation[0].decrease(1);
  }
  if (!block->owner.defined()) c10::free_cpu(block->start);
  delete block;
}

struct Memory final : c10::DeviceAllocator {
  c10::DataPtr make(DeviceIndex index, size_t bytes) {
    charge(index, bytes);
    auto* block = new Block{bytes ? c10::alloc_cpu(bytes) : nullptr, bytes, or_current(index), {}};
    return {block->start, block, &give_back, c10::Device(kSimulated, block->index)};
  }
  c10::DataPtr take_over(DeviceIndex index, const at::Tensor& result) {
    size_t bytes = result.storage().nbytes();
    charge(index, bytes);
    auto* block = new Block{const_cast<void*>(result.storage().data()), bytes, or_current(index), result};
    return {block->start, block, &give_back, c10::Device(kSimulated, block->index)};
  }
  c10::DataPtr allocate(size_t bytes) override { return make(current, bytes); }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  Stats getDeviceStats(DeviceIndex index) override {
    std::lock_guard<std::mutex> guard(machine().mutex);
    return device(index).stats;
  }
  void resetAccumulatedStats(DeviceIndex index) override {
    std::lock_guard<std::mutex> guard(machine().mutex);
    device(index).stats.allocated_bytes[0].reset_accumulated();
  }
  void resetPeakStats(DeviceIndex index) override {
    std::lock_guard<std::mutex> guard(machine().mutex);
    auto& stats = device(index).stats;
    stats.allocated_bytes[0].reset_peak();
    stats.reserved_bytes[0].reset_peak();
  }
  std::pair<size_t, size_t> getMemoryInfo(DeviceIndex index) override {
    require_alive(index);
    std::lock_guard<std::mutex> guard(machine().mutex);
    auto& on = device(index);
    size_t taken = on.used_by_others + (size_t)on.stats.allocated_bytes[0].current;
    return {on.total - std::min(on.total, taken), on.total};
  }
};
inline Memory& memory() {
  static Memory one;
  return one;
}

}  // namespace simulated
