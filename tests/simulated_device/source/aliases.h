// The same memory seen from two sides: a device tensor as a CPU tensor for the length of one operator, and back.
#pragma once
#include "runtime.h"
#include <ATen/ATen.h>

namespace simulated {

inline void require_type(c10::ScalarType type) {
  TORCH_CHECK_TYPE(!machine().refused_types.count(c10::toString(type)), "simulated device does not support ", type);
}

// A tensor with the shape of `like` over `storage`. A view of a normal tensor stays a normal tensor in inference mode,
// so it takes the key set of its base; without it torch ends with "Cannot set version_counter".
inline at::Tensor shaped_like(const at::Tensor& like, c10::Storage storage, c10::DispatchKeySet keys, bool is_view) {
  at::Tensor made = is_view
      ? at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, std::move(storage), keys, like.dtype())
      : at::detail::make_tensor<c10::TensorImpl>(std::move(storage), keys, like.dtype());
  auto* raw = made.unsafeGetTensorImpl();
  raw->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  if (like.is_conj()) raw->_set_conj(true);
  if (like.is_neg()) raw->_set_neg(true);
  if (like.unsafeGetTensorImpl()->is_wrapped_number()) raw->set_wrapped_number(true);
  return made;
}

class Aliases {
 public:
  DeviceIndex index = -1;  // the device of the tensors seen so far

  at::Tensor on_cpu(const at::Tensor& tensor) {
    if (!tensor.defined() || tensor.device().type() != kSimulated) return tensor;
    if (index < 0) index = tensor.device().index();
    TORCH_CHECK(index == tensor.device().index(), "Expected all tensors to be on the same device, but found at least two: ",
                int(index), " and ", int(tensor.device().index()));
    auto* own = tensor.storage().unsafeGetStorageImpl();
    auto found = cpu_of_.find(own);
    if (found == cpu_of_.end()) {
      auto* keep = new c10::Storage(tensor.storage());
      c10::DataPtr data(const_cast<void*>(own->data()), keep, [](void* held) { delete static_cast<c10::Storage*>(held); },
                        c10::Device(c10::DeviceType::CPU));
      c10::Storage alias(c10::Storage::use_byte_size_t{}, own->nbytes(), std::move(data), c10::GetCPUAllocator(), true);
      device_of_.emplace(alias.unsafeGetStorageImpl(), tensor);
      found = cpu_of_.emplace(own, std::move(alias)).first;
    }
    return shaped_like(tensor, found->second, c10::DispatchKeySet(c10::DispatchKey::CPU), false);
  }

  at::Tensor on_device(const at::Tensor& result, DeviceIndex where) {
    if (!result.defined() || result.device().type() != c10::DeviceType::CPU) return result;
    auto base = device_of_.find(result.storage().unsafeGetStorageImpl());
    if (base != device_of_.end()) {
      auto keys = base->second.key_set().remove(c10::DispatchKey::Conjugate).remove(c10::DispatchKey::Negative);
      return shaped_like(result, base->second.storage(), keys, true);
    }
    require_type(result.scalar_type());
    c10::Storage taken(c10::Storage::use_byte_size_t{}, result.storage().nbytes(), memory().take_over(where, result), &memory(), true);
    return shaped_like(result, std::move(taken), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), false);
  }

 private:
  std::map<c10::StorageImpl*, c10::Storage> cpu_of_;
  std::map<const void*, at::Tensor> device_of_;
};

}  // namespace simulated
