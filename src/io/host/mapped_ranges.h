// Watched memory mappings of files: a file that shrinks while the program uses it causes an error
// instead of ending the process.
#pragma once

#include <sys/stat.h>

#include <csignal>
#include <cstddef>
#include <memory>
#include <string>

#include "base/result.h"

namespace tapml {

// Takes over a mapping of `size` bytes of the file at `path`, whose state at that time is `info`,
// and unmaps it with the last copy. The first mapping installs a SIGBUS handler: reads of parts
// that the file lost give zeros, and the mapping is marked. Any other SIGBUS goes to the previous
// handler.
std::shared_ptr<const void> watch_mapping(void* memory, size_t size, const std::string& path,
                                          const struct stat& info);

// UserError if a mapping was read beyond the end of its file: results computed from it are invalid.
// Costs nothing if there is none. Reports a mapping that is still held each time, and a released
// one once.
Status check_lost_files();

// The same, and also a UserError for a file that was modified since it was mapped and is still
// mapped. A file that was replaced (renamed, removed) stays valid. Commands check before they
// report.
Status check_mapped_files();

// For SIGBUS handlers that replace the one above: whether the fault was in a mapped file and is
// repaired, so that the handler may return. Async-signal-safe.
bool mend_mapping(int signal, const siginfo_t& info) noexcept;

}  // namespace tapml
