// Loops of the reference rules on several threads.
#pragma once

#include "base/host/thread_pool.h"
#include "op/reference/helpers.h"

namespace tapml::op::reference {

// Operations below which a loop is not worth a second thread.
inline constexpr double kLeastShared = 1 << 16;

// Calls body(begin, end) for ranges that partition [0, count), on the threads of `out`. The body
// may put different elements of `out`, and must not throw. `operations`: of the whole loop. The
// ranges depend on the number of threads, so no result may.
template <class Body>
void in_parallel(RefTensor& out, size_t count, double operations, Body&& body) {
  if (!out.threads || operations < kLeastShared) return body(size_t{0}, count);
  allocate_parts(out);
  out.threads->parallel_for(static_cast<int64_t>(count), [&](int64_t begin, int64_t end) {
    body(static_cast<size_t>(begin), static_cast<size_t>(end));
  });
}

}  // namespace tapml::op::reference
