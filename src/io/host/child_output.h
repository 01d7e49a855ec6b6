// The output and the end of a child process. Private to io/host.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <string>

namespace tapml {

struct ChildEnd {
  enum class Reason : uint8_t { kExited, kTimeout, kCancelled } reason = Reason::kExited;
  int exit_code = 0;   // 128 + n if signal n ended it
  std::string output;  // its end, if it is longer than `most_output`
};

// Reads what `child` writes into the pipe `output`, and waits for it. Kills it after `longest`, and
// once `cancelled`, which is polled and may be empty, returns true.
ChildEnd wait_for_child(pid_t child, int output, std::chrono::milliseconds longest,
                        const std::function<bool()>& cancelled,
                        size_t most_output = std::numeric_limits<size_t>::max());

}  // namespace tapml
