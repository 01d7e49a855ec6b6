// How often the test program has taken memory from the heap.
#pragma once

#include <atomic>
#include <cstdint>

namespace tapml::test {

// False under sanitizers, which bring an operator new of their own.
extern const bool counts_allocations;
extern std::atomic<int64_t> allocation_count;

}  // namespace tapml::test
