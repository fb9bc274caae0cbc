// A simulated accelerator for tests, on torch's PrivateUse1 device: several ordinals with a byte budget each, and faults
// on demand. Memory is host memory and kernels are the CPU's on the same memory, so results equal the CPU's bit for bit.
// What it proves: placement, sharding, memory and fault handling. What it does not: numerics or operators of a real device.
#include "kernels.h"

using namespace simulated;

REGISTER_ALLOCATOR(kSimulated, &memory());
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());
}
TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", simulated::empty);
  library.impl("empty_strided", simulated::empty_strided);
  library.impl("_copy_from", copy_from);
  library.impl("_copy_from_and_resize", copy_from_and_resize);
  library.impl("set_.source_Storage_storage_offset", set_storage_view);
  library.impl("set_.source_Storage", set_storage);
  library.impl("set_.source_Tensor", set_tensor);
  library.impl("resize_", resize);
  library.impl("convolution_overrideable", convolution);
}
// copy_from honours the lazy conjugate and negative bits by itself; torch's own fallbacks would clone without end.
TORCH_LIBRARY_IMPL(aten, Conjugate, library) { library.impl("_copy_from", torch::CppFunction::makeFallthrough()); }
TORCH_LIBRARY_IMPL(aten, Negative, library) { library.impl("_copy_from", torch::CppFunction::makeFallthrough()); }
TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, library) { library.fallback(torch::CppFunction::makeFallthrough()); }

// What the stand-in packages call: plain operators, so that no Python binding has to be compiled.
TORCH_LIBRARY(simulated, library) {
  static Hooks hooks;
  at::RegisterPrivateUse1HooksInterface(&hooks);
  library.def("configure(int[] total, int[] used, str[] tallies) -> ()",
      [](at::IntArrayRef total, at::IntArrayRef used, c10::List<std::string> tallies) {
        std::lock_guard<std::mutex> guard(machine().mutex);
        machine().devices = std::vector<Simulated>(total.size());
        for (size_t number = 0; number < total.size(); number++) {
          auto& on = machine().devices[number];
          on.total = (size_t)total[number];
          on.used_by_others = (size_t)used[number];
          if (!tallies.empty()) on.tally = open_tally(tallies.get(number));
        }
      });
  library.def("inject(int device, str kind, str op, int after, int times, int milliseconds, str once, str type) -> ()",
      [](int64_t index, std::string kind, std::string op, int64_t after, int64_t times, int64_t milliseconds, std::string once,
         std::string type) {
        std::lock_guard<std::mutex> guard(machine().mutex);
        device((DeviceIndex)index).faults.push_back({kind, op, after, times, milliseconds, type, once});
      });
  library.def("heal(int device) -> ()", [](int64_t index) {
    std::lock_guard<std::mutex> guard(machine().mutex);
    auto& on = device((DeviceIndex)index);
    on.faults.clear();
    on.lost = false;
    on.pending.clear();
  });
  library.def("refuse(str[] ops, str[] types) -> ()", [](c10::List<std::string> ops, c10::List<std::string> types) {
    machine().refused_ops.clear();
    machine().refused_types.clear();
    for (const std::string op : ops) machine().refused_ops.insert(op);
    for (const std::string type : types) machine().refused_types.insert(type);
  });
  library.def("operators(int device) -> Dict(str, int)", [](int64_t index) {
    std::lock_guard<std::mutex> guard(machine().mutex);
    c10::Dict<std::string, int64_t> counts;
    for (const auto& [name, count] : device((DeviceIndex)index).ops) counts.insert(name, count);
    return counts;
  });
  library.def("synchronize(int device) -> ()", [](int64_t index) { synchronize((DeviceIndex)index); });
}
