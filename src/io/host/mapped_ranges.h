// Files that are mapped into memory, watched: a file that shrinks under the program is an error and
// not the end of the process.
#pragma once

#include <sys/stat.h>

#include <csignal>
#include <cstddef>
#include <memory>
#include <string>

#include "base/result.h"

namespace tapml {

// Takes over a mapping of `size` bytes of the file at `path`, whose state at that time is `info`.
// It is unmapped with the last copy. From the first mapping on, the process has a handler of
// SIGBUS: reads of what the file lost give zeros, and the mapping is marked. Any other SIGBUS goes
// to the handler that was there before.
std::shared_ptr<const void> watch_mapping(void* memory, size_t size, const std::string& path,
                                          const struct stat& info);

// UserError where a mapping was read beyond the end of its file: what was computed from it is
// worthless. Costs nothing while there is none. Reports a mapping that is still held each time, and
// one that is gone once.
Status check_lost_files();

// The same, and UserError too for a file that was written since it was mapped and still is. A file
// that was replaced (renamed, removed) is as good as before. Commands ask before they report.
Status check_mapped_files();

// For handlers of SIGBUS that take the place of the one above: whether the fault lay in a mapped
// file and is mended, so that the handler may return. Async-signal-safe.
bool mend_mapping(int signal, const siginfo_t& info) noexcept;

}  // namespace tapml
