// Memory in the address space of this program, for devices that run in it (cpu, wasm).
#pragma once

#include "runtime/device.h"

namespace tapml::device {

// Alignment of every allocation, in bytes, and the padding after it: whole vectors may be loaded up
// to its end.
inline constexpr int64_t kInlineAlignment = 64;

// `size` bytes that are aligned and padded; null if there is no memory. Large blocks are fresh
// pages (zero, except on WebAssembly), which are untouched until they are used.
std::shared_ptr<runtime::DeviceMemory> allocate_inline(int64_t size);

}  // namespace tapml::device
