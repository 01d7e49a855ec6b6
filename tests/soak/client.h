// One session of the soak test: random calls, with each result compared with the expected one.
#pragma once

#include <map>
#include <optional>
#include <random>

#include "rpc/session/remote_session.h"
#include "rpc/transport/connect.h"

namespace tapml::soak {

class Client {
 public:
  // A `steady` client keeps its session the whole time.
  Client(rpc::Endpoint endpoint, uint64_t seed, bool steady)
      : endpoint_(std::move(endpoint)), random_(seed), steady_(steady) {}
  ~Client();

  // One random call. An error means that a valid call failed or a result is wrong.
  Status step() noexcept;
  // How often each kind of call was made.
  const std::map<std::string, int64_t>& calls() const { return calls_; }

 private:
  struct Buffer {
    runtime::BufferId id{};
    std::vector<uint32_t> values;  // expected contents
  };

  Status reconnect();
  Status open_session();
  // Retries while the server is full: processes of ended sessions take time to exit.
  Status patiently(Status (Client::*attempt)());
  Status allocate();
  Status write();
  Status copy();
  Status clear();
  Status read();
  Status launch();
  Status call_machine();
  Status cancel();
  Status wait();
  Status nonsense();
  Status ask_status();
  void release();

  size_t below(size_t limit) { return static_cast<size_t>(random_() % limit); }
  Buffer& any() { return buffers_[below(buffers_.size())]; }
  // A range of elements within `size`, rarely a long one.
  std::pair<size_t, size_t> range(size_t size);
  Status count(const char* kind, Status status) {
    ++calls_[kind];
    return status;
  }

  rpc::Endpoint endpoint_;
  std::mt19937_64 random_;
  bool steady_;
  std::unique_ptr<rpc::RemoteSession> session_;
  std::unique_ptr<runtime::VirtualMachine> vm_;
  runtime::KernelId fold_{};
  std::vector<Buffer> buffers_;
  std::map<std::string, int64_t> calls_;
};

}  // namespace tapml::soak
