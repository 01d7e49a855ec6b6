// How much memory the machine has.
#pragma once

#include <cstdint>

namespace tapml {

int64_t physical_memory() noexcept;  // bytes; 0: unknown, as in WebAssembly

}  // namespace tapml
