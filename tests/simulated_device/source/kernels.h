// Operators: a handful written out, all others through one fallback that runs the CPU's kernel on aliases.
#pragma once
#include "aliases.h"
#include <ATen/EmptyTensor.h>
#include <ATen/autocast_mode.h>
#include <ATen/native/Resize.h>
#include <torch/library.h>
#include <chrono>
#include <csignal>
#include <limits>
#include <thread>

namespace simulated {

using Stack = torch::jit::Stack;

inline at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> type,
                                std::optional<at::Layout>, std::optional<c10::Device> on, std::optional<bool>) {
  auto chosen = at::dtype_or_default(type);
  require_type(chosen);
  c10::DeviceGuard guard(c10::Device(kSimulated, or_current(on ? on->index() : -1)));
  return at::detail::empty_strided_generic(size, stride, &memory(), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), chosen);
}
inline at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout>,
                        std::optional<c10::Device> on, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  auto chosen = at::dtype_or_default(type);
  require_type(chosen);
  c10::DeviceGuard guard(c10::Device(kSimulated, or_current(on ? on->index() : -1)));
  return at::detail::empty_generic(size, &memory(), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), chosen, format);
}
inline at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool) {
  if (from.device().type() == kSimulated) synchronize(from.device().index());
  if (to.device().type() == kSimulated) require_alive(to.device().index());
  Aliases source, target;  // two: a copy may go from one device to another
  target.on_cpu(to).copy_(source.on_cpu(from));
  return to;
}
inline at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  to.resize_(from.sizes());
  return copy_from(from, to, false);
}
inline at::Tensor& set_storage_view(at::Tensor& self, at::Storage source, int64_t offset, at::IntArrayRef size, at::IntArrayRef stride) {
  auto* raw = self.unsafeGetTensorImpl();
  raw->set_storage_keep_dtype(std::move(source));
  if (stride.data()) {
    raw->set_sizes_and_strides(size, stride, offset);
  } else {
    raw->set_storage_offset(offset);
    raw->set_sizes_contiguous(size);
  }
  return self;
}
inline at::Tensor& set_storage(at::Tensor& self, at::Storage source) {
  int64_t count = (int64_t)(source.nbytes() / self.dtype().itemsize());
  return set_storage_view(self, std::move(source), 0, {count}, {});
}
inline at::Tensor& set_tensor(at::Tensor& self, const at::Tensor& source) {
  return set_storage_view(self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
}
inline const at::Tensor& resize(const at::Tensor& self, at::IntArrayRef size, std::optional<at::MemoryFormat> format) {
  auto bytes = at::detail::computeStorageNbytesContiguous(size, self.dtype().itemsize(), self.storage_offset());
  if (bytes > self.storage().nbytes()) at::detail::getPrivateUse1Hooks().resizePrivateUse1Bytes(self.storage(), bytes);
  self.unsafeGetTensorImpl()->set_sizes_contiguous(size);
  if (format) self.unsafeGetTensorImpl()->empty_tensor_restride(*format);
  return self;
}

// What the faults of this moment do to an operator's result.
struct Spoilt {
  bool nan = false, wrong = false;
  bool any() const { return nan || wrong; }
};
// What the faults of this moment do before the operator runs, and what they will do to its result.
inline Spoilt suffer(DeviceIndex index, const std::string& op, const std::string& type) {
  bool hang = false, crash = false, refused = false;
  Spoilt spoilt;
  int64_t milliseconds = 0;
  {
    std::lock_guard<std::mutex> guard(machine().mutex);
    auto& on = device(index);
    if (on.lost) raise_lost(index);
    on.ops[op]++;
    if (on.tally) on.tally->fetch_add(1, std::memory_order_relaxed);
    if (striking(on, "lost", op, type)) {
      on.lost = true;
      raise_lost(index);
    }
    if (striking(on, "async", op, type)) on.pending = "synchronization of simulated device failed after " + op + ", error code is 507015";
    if (auto* slow = striking(on, "slow", op, type)) milliseconds = slow->milliseconds;
    spoilt.nan = striking(on, "nan", op, type) != nullptr;
    spoilt.wrong = striking(on, "wrong", op, type) != nullptr;
    refused = striking(on, "refused", op, type) != nullptr;
    hang = striking(on, "hang", op, type) != nullptr;
    crash = striking(on, "crash", op, type) != nullptr;
  }
  if (crash) std::raise(SIGSEGV);
  if (milliseconds) std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  while (hang) std::this_thread::sleep_for(std::chrono::seconds(1));
  TORCH_CHECK_NOT_IMPLEMENTED(!refused, "'", op, "' is not implemented for ", type, " on the simulated device");
  return spoilt;
}
inline void spoil(const at::Tensor& tensor, Spoilt how) {
  if (!how.any() || !tensor.defined() || !(tensor.is_floating_point() || tensor.is_complex())) return;
  if (how.nan) tensor.fill_(std::numeric_limits<double>::quiet_NaN());
  else tensor.mul_(1.5);
}

inline c10::IValue argument_on_cpu(const c10::IValue& value, Aliases& aliases) {
  if (value.isTensor()) return aliases.on_cpu(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const auto& tensor : value.toTensorVector()) list.push_back(aliases.on_cpu(tensor));
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor> tensor : value.toOptionalTensorList())
      list.push_back(tensor ? std::optional<at::Tensor>(aliases.on_cpu(*tensor)) : std::nullopt);
    return list;
  }
  if (value.isDevice() && value.toDevice().type() == kSimulated) {
    if (aliases.index < 0) aliases.index = or_current(value.toDevice().index());
    return c10::Device(c10::DeviceType::CPU);
  }
  if (value.isGenerator() && value.toGenerator().defined() && value.toGenerator().device().type() == kSimulated)
    return static_cast<Generator*>(value.toGenerator().unsafeGetGeneratorImpl())->inner;
  return value;
}

// Which argument an in-place or out= result is, or -1.
inline int written_argument(const c10::FunctionSchema& schema, size_t result) {
  const auto* alias = schema.returns()[result].alias_info();
  if (!alias || !alias->isWrite()) return -1;
  for (size_t number = 0; number < schema.arguments().size(); number++) {
    const auto* of = schema.arguments()[number].alias_info();
    if (of && *of == *alias) return (int)number;
  }
  return -1;
}
inline at::Tensor give_written(const at::Tensor& result, const at::Tensor& argument, DeviceIndex where) {
  auto* own = argument.storage().unsafeGetStorageImpl();
  if (result.storage().data() != own->data()) {  // the kernel grew an out= tensor: its memory becomes the device's
    own->set_data_ptr_noswap(memory().take_over(where, result));
    own->set_nbytes(result.storage().nbytes());
  }
  argument.unsafeGetTensorImpl()->set_sizes_and_strides(result.sizes(), result.strides(), result.storage_offset());
  return argument;
}

inline void run_on_cpu(const c10::OperatorHandle& op, Stack* stack) {
  const auto& schema = op.schema();
  const auto& name = schema.operator_name().name;
  TORCH_CHECK_NOT_IMPLEMENTED(!machine().refused_ops.count(name), "Could not run '", name,
                              "' with arguments from the simulated backend: it is not implemented there");
  const size_t count = schema.arguments().size(), begin = stack->size() - count;
  Aliases aliases;
  std::vector<at::Tensor> given(count);
  std::string type;
  for (size_t number = 0; number < count; number++) {
    auto& value = (*stack)[begin + number];
    if (value.isTensor()) given[number] = value.toTensor();
    if (type.empty() && given[number].defined()) type = c10::toString(given[number].scalar_type());
    value = argument_on_cpu(value, aliases);
  }
  const DeviceIndex where = or_current(aliases.index);
  const Spoilt spoilt = suffer(where, name, type);
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  const size_t results = schema.returns().size();
  for (size_t number = 0; number < results; number++) {
    auto& value = (*stack)[stack->size() - results + number];
    if (value.isTensor()) {
      auto tensor = value.toTensor();
      spoil(tensor, spoilt);
      int written = written_argument(schema, number);
      value = written >= 0 && given[written].defined() ? give_written(tensor, given[written], where)
                                                       : aliases.on_device(tensor, where);
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const auto& tensor : value.toTensorVector()) {
        spoil(tensor, spoilt);
        list.push_back(aliases.on_device(tensor, where));
      }
      value = std::move(list);
    }
  }
}
// torch asks other backends to override this one by name; it takes the same road as aten::convolution.
inline at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                              c10::SymIntArrayRef stride, c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation,
                              bool transposed, c10::SymIntArrayRef output_padding, c10::SymInt groups) {
  static auto handle = c10::Dispatcher::singleton().findSchemaOrThrow("aten::convolution", "");
  Stack stack;
  torch::jit::push(stack, input, weight, bias, c10::asIntArrayRefUnchecked(stride), c10::asIntArrayRefUnchecked(padding),
                   c10::asIntArrayRefUnchecked(dilation), transposed, c10::asIntArrayRefUnchecked(output_padding),
                   groups.expect_int());
  run_on_cpu(handle, &stack);
  return stack[0].toTensor();
}

}  // namespace simulated
