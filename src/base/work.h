// Progress of a long piece of work, as reported by the worker to the display.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace tapml {

struct Work {
  std::string_view what;        // "reference"
  int64_t done = 0, total = 0;  // `total` 0: unknown; `done` == `total`: finished
  std::string_view unit;        // "kernels"; "bytes" are shown as MiB
};

// Called often and from any thread: it must be cheap and must not throw. May be empty.
using WorkWatcher = std::function<void(const Work&)>;

inline void tell(const WorkWatcher& watcher, const Work& work) {
  if (watcher) watcher(work);
}

}  // namespace tapml
