// A filter of system calls (seccomp) that a process puts on itself and on what it starts.
#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tapml {

// Allows every call but those that it names, and all calls of another architecture's interface.
// Refused calls fail with EPERM. Built before a fork, because the child may not allocate.
class SystemCallFilter {
 public:
  SystemCallFilter();

  void refuse(std::span<const long> numbers);
  // Allows these if the first argument is the process itself (or 0, which means the same).
  void only_on_itself(std::span<const long> numbers);
  // Allows it if the first argument has all of these bits.
  void only_with(long number, uint32_t bits);
  // The call fails with ENOSYS, so that programs use an older one in its place.
  void hide(long number);
  // The same for all calls after this one, in the order in which systems get new ones.
  void hide_after(long number);

  // Puts the filter on this process, permanently; it must have no_new_privs. Async-signal-safe.
  // False, with errno, if the system has no such filters.
  bool install() noexcept;

 private:
  void add(sock_filter one);

  std::vector<sock_filter> statements_;  // the last one allows
  std::vector<size_t> own_numbers_;      // the statements that compare with the process's number
};

}  // namespace tapml
