// How often the test program has taken memory from the heap.
#pragma once

#include <atomic>
#include <cstdint>

namespace tapml::test {

extern std::atomic<int64_t> allocation_count;

}  // namespace tapml::test
