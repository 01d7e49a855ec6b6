#include "base/physical_memory.h"

#if !defined(__wasm__)
#include <unistd.h>
#endif

namespace tapml {

#if defined(__wasm__)
int64_t physical_memory() noexcept { return 0; }
#else
int64_t physical_memory() noexcept {
  const int64_t pages = sysconf(_SC_PHYS_PAGES);
  const int64_t page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? pages * page : 0;
}
#endif

}  // namespace tapml
