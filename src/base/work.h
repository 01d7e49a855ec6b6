// How far a long piece of work is, told by who does it to who shows it.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace tapml {

struct Work {
  std::string_view what;        // "reference"
  int64_t done = 0, total = 0;  // `total` 0: not known; `done` == `total`: it has ended
  std::string_view unit;        // "kernels"; of "bytes" a reader sees MiB
};

// Called often and from any thread: it must be cheap, and must not throw. May be empty.
using WorkWatcher = std::function<void(const Work&)>;

inline void tell(const WorkWatcher& watcher, const Work& work) {
  if (watcher) watcher(work);
}

}  // namespace tapml
