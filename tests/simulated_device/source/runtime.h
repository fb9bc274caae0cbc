// The parts of a device runtime that torch asks for: current device, streams and events, random generators.
#pragma once
#include "memory.h"
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <cstring>

namespace simulated {

// One stream that does everything at once; an event has always happened.
struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kSimulated; }
  c10::Device getDevice() const override { return {kSimulated, current}; }
  void setDevice(c10::Device to) const override {
    device(to.index());
    current = or_current(to.index());
  }
  void uncheckedSetDevice(c10::Device to) const noexcept override { current = or_current(to.index()); }
  c10::Device exchangeDevice(c10::Device to) const override {
    auto before = getDevice();
    setDevice(to);
    return before;
  }
  DeviceIndex deviceCount() const noexcept override { return (DeviceIndex)machine().devices.size(); }

  c10::Stream getStream(c10::Device on) const override {
    return c10::Stream(c10::Stream::DEFAULT, c10::Device(kSimulated, or_current(on.index())));
  }
  c10::Stream getDefaultStream(c10::Device on) const override { return getStream(on); }
  c10::Stream getStreamFromGlobalPool(c10::Device on, bool) const override { return getStream(on); }
  c10::Stream getNewStream(c10::Device on, int) const override { return getStream(on); }
  c10::Stream exchangeStream(c10::Stream to) const override { return getStream(to.device()); }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream& stream) const override { synchronize(stream.device_index()); }
  void synchronizeDevice(const DeviceIndex index) const override { synchronize(index); }

  void record(void** event, const c10::Stream&, const DeviceIndex, const c10::EventFlag) const override {
    *event = reinterpret_cast<void*>(1);  // anything but null: "was recorded"
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void*) const override { synchronize(current); }
};

// A CPU generator that says it belongs to the device, so that equal seeds give equal numbers on both.
struct Generator final : c10::GeneratorImpl {
  at::Generator inner = at::detail::createCPUGenerator();
  explicit Generator(DeviceIndex index)
      : GeneratorImpl(c10::Device(kSimulated, index), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)) {}
  void set_current_seed(uint64_t seed) override { inner.set_current_seed(seed); }
  uint64_t current_seed() const override { return inner.current_seed(); }
  uint64_t seed() override { return inner.seed(); }
  void set_offset(uint64_t) override {}
  uint64_t get_offset() const override { return 0; }
  void set_state(const c10::TensorImpl& state) override { inner.unsafeGetGeneratorImpl()->set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override { return inner.unsafeGetGeneratorImpl()->get_state(); }
  Generator* clone_impl() const override {
    auto* copy = new Generator(device_.index());
    copy->inner = inner.clone();
    return copy;
  }
};

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return !machine().devices.empty(); }
  bool hasPrimaryContext(DeviceIndex) const override { return true; }
  DeviceIndex deviceCount() const override { return (DeviceIndex)machine().devices.size(); }
  DeviceIndex getCurrentDevice() const override { return current; }
  void setCurrentDevice(DeviceIndex index) const override {
    device(index);
    current = or_current(index);
  }
  DeviceIndex exchangeDevice(DeviceIndex index) const override {
    auto before = current;
    setCurrentDevice(index);
    return before;
  }
  DeviceIndex maybeExchangeDevice(DeviceIndex index) const override { return exchangeDevice(index); }
  at::Allocator* getPinnedMemoryAllocator() const override { return c10::GetCPUAllocator(); }
  at::Generator getNewGenerator(DeviceIndex index) const override { return at::make_generator<Generator>(or_current(index)); }
  const at::Generator& getDefaultGenerator(DeviceIndex index) const override {
    static std::map<DeviceIndex, at::Generator> generators;
    std::lock_guard<std::mutex> guard(machine().mutex);
    auto found = generators.find(or_current(index));
    if (found == generators.end())
      found = generators.emplace(or_current(index), at::make_generator<Generator>(or_current(index))).first;
    return found->second;
  }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    auto grown = memory().make(storage.device().index(), bytes);
    if (storage.data() && bytes) std::memcpy(grown.mutable_get(), storage.data(), std::min(bytes, storage.nbytes()));
    storage.unsafeGetStorageImpl()->set_data_ptr_noswap(std::move(grown));
    storage.unsafeGetStorageImpl()->set_nbytes(bytes);
  }
};

}  // namespace simulated
