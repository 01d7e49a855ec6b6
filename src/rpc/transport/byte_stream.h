// An ordered stream of bytes in both directions, which carries frames (stream_channel).
#pragma once

#include <signal.h>

#include <atomic>
#include <memory>
#include <span>
#include <string>

#include "rpc/transport/descriptor.h"

namespace tapml::rpc {

// One thread may read while another writes; any thread may close. Errors are PlatformErrors: kLost,
// kTimeout (nothing was read or written).
class ByteStream {
 public:
  using Parts = std::span<const std::span<const std::byte>>;
  static constexpr size_t kMostParts = 4;

  // `peer` names the other side in messages.
  explicit ByteStream(std::string peer) : peer_(std::move(peer)) {}
  virtual ~ByteStream() = default;
  ByteStream(const ByteStream&) = delete;

  const std::string& peer() const noexcept { return peer_; }
  bool closed() const noexcept { return closed_; }
  // Returns how many bytes were read, at least one; 0: the other side has ended its direction.
  virtual Result<size_t> read_some(std::span<std::byte> to,
                                   runtime::Deadline deadline) noexcept = 0;
  // Returns how many bytes of `parts` (in sequence) were written, at least one. After a timeout the
  // next call must begin with the same bytes.
  virtual Result<size_t> write_some(Parts parts, runtime::Deadline deadline) noexcept = 0;
  // A descriptor that is readable when bytes arrive; -1: there is none.
  virtual int wake_fd() const noexcept { return -1; }
  // Ends both directions; calls in progress on this stream return kLost.
  virtual void close() noexcept = 0;

  // "the connection <why>", or that it was closed locally.
  Error lost(const std::string& why) const;

 protected:
  Status wait(int fd, bool writing, int wake, runtime::Deadline deadline) const noexcept;
  std::atomic<bool> closed_ = false;

 private:
  std::string peer_;
};

// A stream over a socket or two pipes. Without `out`, `in` is a socket for both directions.
std::unique_ptr<ByteStream> make_file_stream(FileDescriptor in, FileDescriptor out,
                                             std::string peer);

// During its lifetime, writing to a pipe without a reader raises no SIGPIPE in this thread.
class WithoutBrokenPipe {
 public:
  WithoutBrokenPipe() noexcept;
  ~WithoutBrokenPipe();
  WithoutBrokenPipe(const WithoutBrokenPipe&) = delete;

 private:
  sigset_t pipe_, before_;
  bool was_pending_ = false;
};

}  // namespace tapml::rpc
