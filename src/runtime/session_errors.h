// Errors of all kinds of sessions for invalid requests.
#pragma once

#include <span>

#include "runtime/session.h"

namespace tapml::runtime {

// Maximum buffers of one launch; far above any kernel's signature.
inline constexpr size_t kMaxLaunchBuffers = 64;

template <class Id>
uint64_t raw_handle(Id id) {
  return static_cast<uint64_t>(id);
}

inline Error unknown_handle(const char* kind, uint64_t handle) {
  return internal_error(std::string("the session has no ") + kind + " " + std::to_string(handle));
}

inline Error handle_in_use(const char* kind, uint64_t handle) {
  return internal_error(std::string("the session already has a ") + kind + " " +
                        std::to_string(handle));
}

// `what`: "write".
inline Error read_only_buffer(uint64_t handle, const char* what) {
  return internal_error(std::string("a ") + what + " into buffer " + std::to_string(handle) +
                        ", which is read-only host memory");
}

inline Error negative_allocation(int64_t bytes) {
  return internal_error("an allocation of " + std::to_string(bytes) + " bytes");
}

// Ok if `size` bytes from the range's offset on are in its buffer of `bytes`. `what`: "write".
inline Status check_range(BufferRange range, int64_t size, int64_t bytes, const char* what) {
  if (range.offset >= 0 && size >= 0 && range.offset <= bytes && size <= bytes - range.offset) {
    return {};
  }
  return fail(internal_error(
      std::string("a ") + what + " outside of its buffer: " + std::to_string(size) +
      " bytes at offset " + std::to_string(range.offset) + " of buffer " +
      std::to_string(raw_handle(range.buffer)) + ", which has " + std::to_string(bytes)));
}

inline Status check_launch_buffers(size_t count) {
  if (count <= kMaxLaunchBuffers) return {};
  return fail(platform_error(PlatformFault::kLimit, "a launch takes " + std::to_string(count) +
                                                        " buffers; the session allows " +
                                                        std::to_string(kMaxLaunchBuffers)));
}

inline Status check_launch_argument(size_t index, int64_t offset, int64_t bytes,
                                    const std::string& entry) {
  if (offset >= 0 && offset <= bytes) return {};
  return fail(internal_error("buffer argument " + std::to_string(index) + " of kernel " + entry +
                             " begins outside of its buffer"));
}

// `launch`: LaunchArgs or a LaunchRequest.
template <class Launch>
Status check_launch_size(const Launch& launch) {
  if (launch.extent < 0 || launch.workgroup_threads < 1) {
    return fail(internal_error("a launch of " + std::to_string(launch.extent) +
                               " work items in groups of " +
                               std::to_string(launch.workgroup_threads)));
  }
  if (launch.grid[0] < 0 || launch.grid[1] < 0) {
    return fail(internal_error("a launch of " + std::to_string(launch.grid[0]) + " by " +
                               std::to_string(launch.grid[1]) +
                               " work groups in its second and third dimension"));
  }
  if (launch.shared.size() > kMostSharedBuffers) {
    return fail(platform_error(PlatformFault::kLimit,
                               "a launch has " + std::to_string(launch.shared.size()) +
                                   " shared buffers of its own size; the session allows " +
                                   std::to_string(kMostSharedBuffers)));
  }
  for (const SharedSize& size : launch.shared) {
    if (size.elements >= 1 && size.bytes >= size.elements) continue;
    return fail(internal_error("a shared buffer of " + std::to_string(size.elements) +
                               " elements in " + std::to_string(size.bytes) + " bytes"));
  }
  return {};
}

// Whether there is nothing to launch.
template <class Launch>
bool is_empty_launch(const Launch& launch) {
  return launch.extent == 0 || launch.grid[0] == 0 || launch.grid[1] == 0;
}

inline Error past_deadline(const std::string& platform) {
  return platform_error(PlatformFault::kTimeout,
                        "the device did not finish its work before the deadline", platform);
}

inline Error wait_cancelled(const std::string& platform) {
  return platform_error(PlatformFault::kCancelled, "the wait for the device was cancelled",
                        platform);
}

inline bool passed(const Deadline& deadline) {
  return deadline && std::chrono::steady_clock::now() >= *deadline;
}

inline Error snapshot_mismatch(size_t held, BufferId buffer, int64_t bytes) {
  return internal_error("the snapshot holds " + std::to_string(held) + " bytes of buffer " +
                        std::to_string(raw_handle(buffer)) + ", which has " +
                        std::to_string(bytes));
}

}  // namespace tapml::runtime
