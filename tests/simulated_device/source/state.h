// What a simulated device is: a byte budget, faults that wait for their moment, and a count of what ran.
#pragma once
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace simulated {

using c10::DeviceIndex;
using Stats = c10::CachingDeviceAllocator::DeviceStats;
constexpr auto kSimulated = c10::DeviceType::PrivateUse1;

struct Fault {
  std::string kind;   // oom, nan, wrong, refused, lost, async, slow, hang, crash
  std::string op;     // part of an operator's name; empty: any
  int64_t after;      // how many times the operator still runs well
  int64_t times;      // how often it strikes; -1: for ever
  int64_t milliseconds;
  std::string type;   // number format of the operator's first tensor, as c10 names it; empty: any
  std::string once;   // a file that is created when it strikes; it never strikes where the file is
};

struct Simulated {
  size_t total = 0;
  size_t used_by_others = 0;
  Stats stats;
  std::vector<Fault> faults;
  bool lost = false;
  std::string pending;  // an error that the next synchronisation raises, as real devices do
  std::map<std::string, int64_t> ops;
  std::atomic<uint64_t>* tally = nullptr;  // operators run by all processes, in a file that outlives them
};

struct Machine {
  std::mutex mutex;
  std::vector<Simulated> devices;
  std::set<std::string> refused_ops;
  std::set<std::string> refused_types;  // as c10 names them: Double, BFloat16
};
inline Machine& machine() {
  static Machine one;
  return one;
}
inline thread_local DeviceIndex current = 0;

inline DeviceIndex or_current(DeviceIndex index) {
  return index < 0 ? current : index;
}
inline Simulated& device(DeviceIndex index) {
  auto& devices = machine().devices;
  index = or_current(index);
  TORCH_CHECK(index < (DeviceIndex)devices.size(), "invalid device ordinal ", int(index), ", ", devices.size(), " visible");
  return devices[index];
}
[[noreturn]] inline void raise_lost(DeviceIndex index) {
  throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, 507899,
      "simulated device " + std::to_string(or_current(index)) + " lost, error code is 507899");
}
inline bool first_to_create(const std::string& path) {
  int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0644);
  if (file < 0) return false;
  ::close(file);
  return true;
}
// The fault of this kind that strikes now, if one does. Call with the lock held.
inline const Fault* striking(Simulated& on, const char* kind, const std::string& op, const std::string& type = "") {
  for (auto& fault : on.faults) {
    if (fault.kind != kind || fault.times == 0 || op.find(fault.op) == std::string::npos) continue;
    if (!fault.type.empty() && fault.type != type) continue;
    if (fault.after > 0) { fault.after--; continue; }
    if (!fault.once.empty() && !first_to_create(fault.once)) { fault.times = 0; continue; }
    if (fault.times > 0) fault.times--;
    return &fault;
  }
  return nullptr;
}
inline void require_alive(DeviceIndex index) {
  std::lock_guard<std::mutex> guard(machine().mutex);
  if (device(index).lost) raise_lost(index);
}
// A point at which the host waits for the device: errors of earlier operators come to light here.
inline void synchronize(DeviceIndex index) {
  require_alive(index);
  std::string error;
  {
    std::lock_guard<std::mutex> guard(machine().mutex);
    error.swap(device(index).pending);
  }
  TORCH_CHECK(error.empty(), error);
}
inline std::atomic<uint64_t>* open_tally(const std::string& path) {
  int file = ::open(path.c_str(), O_CREAT | O_RDWR, 0644);
  TORCH_CHECK(file >= 0 && ::ftruncate(file, sizeof(uint64_t)) == 0, "cannot open ", path);
  void* memory = ::mmap(nullptr, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  TORCH_CHECK(memory != MAP_FAILED, "cannot map ", path);
  return static_cast<std::atomic<uint64_t>*>(memory);
}

}  // namespace simulated
