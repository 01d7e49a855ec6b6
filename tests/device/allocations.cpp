// Counting operator new and delete for the whole test program. They are in a separate file:
// compilers that see them next to their uses report a mismatch.
#include "device/allocations.h"

#include <cstdlib>
#include <new>

#include "support/sanitized.h"

namespace tapml::test {

std::atomic<int64_t> allocation_count{0};

#if TAPML_SANITIZED

extern const bool counts_allocations = false;

}  // namespace tapml::test

#else

extern const bool counts_allocations = true;

}  // namespace tapml::test

void* operator new(size_t size) {
  ++tapml::test::allocation_count;
  void* block = std::malloc(size == 0 ? 1 : size);
  if (!block) std::abort();
  return block;
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, size_t) noexcept { std::free(block); }

#endif
