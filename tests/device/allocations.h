// The number of heap allocations of the test program.
#pragma once

#include <atomic>
#include <cstdint>

namespace tapml::test {

// False under sanitizers, which replace operator new themselves.
extern const bool counts_allocations;
extern std::atomic<int64_t> allocation_count;

}  // namespace tapml::test
