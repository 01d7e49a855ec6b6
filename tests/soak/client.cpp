#include "soak/client.h"

#include <atomic>
#include <thread>

#include "soak/program.h"

namespace tapml::soak {

using runtime::BufferId;
using runtime::kDefaultStream;

namespace {

constexpr size_t kMostBuffers = 6;
constexpr size_t kMostElements = 100'000;
constexpr std::chrono::seconds kPatience{60};  // on a computer with many other sessions

runtime::Deadline soon() { return std::chrono::steady_clock::now() + kPatience; }

Status wrong(const std::string& what) { return fail(internal_error("a wrong result: " + what)); }

}  // namespace

Client::~Client() {
  buffers_.clear();
  vm_.reset();  // before its session
}

Status Client::step() noexcept {
  if (!session_) return count("connect", reconnect());
  if (buffers_.size() < 2) return count("allocate", allocate());
  const size_t kind = below(100);
  if (kind < 20) return count("write", write());
  if (kind < 40) return count("read", read());
  if (kind < 50) return count("copy", copy());
  if (kind < 55) return count("fill", clear());
  if (kind < 70) return count("launch", launch());
  if (kind < 82) return count("machine", call_machine());
  if (kind < 84) return count("cancel", cancel());
  if (kind < 90) return count("wait", wait());
  if (kind < 93) return count("nonsense", nonsense());
  if (kind < 94) return count("status", patiently(&Client::ask_status));
  if (kind < 96 || steady_) {
    if (buffers_.size() < kMostBuffers) return count("allocate", allocate());
    release();
    return count("release", {});
  }
  return count("connect", reconnect());
}

Status Client::patiently(Status (Client::*attempt)()) {
  const auto until = soon();
  while (true) {
    Status status = (this->*attempt)();
    const bool full = !status && status.error().fault == PlatformFault::kLimit;
    if (!full || std::chrono::steady_clock::now() >= *until) return status;
    ++calls_["refused"];
    std::this_thread::sleep_for(std::chrono::milliseconds(50 + below(200)));
  }
}

// With any requests still in flight in the old session.
Status Client::reconnect() {
  buffers_.clear();
  return patiently(&Client::open_session);
}

Status Client::open_session() {
  vm_.reset();  // also of a failed attempt; before its session
  session_.reset();
  TAPML_ASSIGN(auto channel, rpc::connect(endpoint_, soon()));
  rpc::ConnectOptions options;
  options.target = "cpu";
  options.handshake = kPatience;
  options.silence = kPatience;
  TAPML_ASSIGN(session_, rpc::RemoteSession::connect(std::move(channel), options));
  TAPML_ASSIGN(vm_, session_->open_vm(soak_program()));
  const auto module = runtime::ModuleId(session_->new_handle());
  fold_ = runtime::KernelId(session_->new_handle());
  TAPML_TRY(session_->load_module(module, test::native_blob()));
  return session_->get_kernel(fold_, module, "fold");
}

std::pair<size_t, size_t> Client::range(size_t size) {
  const size_t begin = below(size);
  size_t most = size - begin;
  if (below(4) != 0) most = std::min<size_t>(most, 300);
  return {begin, 1 + below(most)};
}

Status Client::allocate() {
  const size_t size = 1 + below(below(3) == 0 ? kMostElements : 2000);
  Buffer buffer{BufferId(session_->new_handle()), std::vector<uint32_t>(size)};
  const auto bytes = static_cast<int64_t>(size * 4);
  TAPML_TRY(session_->allocate(buffer.id, bytes));
  TAPML_TRY(session_->fill_zero(kDefaultStream, {buffer.id, 0}, bytes));
  buffers_.push_back(std::move(buffer));
  return {};
}

void Client::release() {
  const size_t index = below(buffers_.size());
  session_->release(buffers_[index].id);
  buffers_.erase(buffers_.begin() + static_cast<std::ptrdiff_t>(index));
}

Status Client::write() {
  Buffer& buffer = any();
  const auto [begin, size] = range(buffer.values.size());
  const std::span<uint32_t> part = std::span(buffer.values).subspan(begin, size);
  const auto first = static_cast<uint32_t>(random_());
  for (size_t i = 0; i < size; ++i) part[i] = first + static_cast<uint32_t>(i * 2654435761U);
  return session_->write(kDefaultStream, {buffer.id, static_cast<int64_t>(begin * 4)},
                         std::as_bytes(part));
}

Status Client::copy() {
  Buffer& from = any();
  Buffer& to = any();
  if (&from == &to) return {};
  const auto [begin, size] = range(std::min(from.values.size(), to.values.size()));
  const size_t target = below(to.values.size() - size + 1);
  std::copy_n(from.values.begin() + static_cast<std::ptrdiff_t>(begin), size,
              to.values.begin() + static_cast<std::ptrdiff_t>(target));
  return session_->copy(kDefaultStream, {from.id, static_cast<int64_t>(begin * 4)},
                        {to.id, static_cast<int64_t>(target * 4)}, static_cast<int64_t>(size * 4));
}

Status Client::clear() {
  Buffer& buffer = any();
  const auto [begin, size] = range(buffer.values.size());
  std::fill_n(buffer.values.begin() + static_cast<std::ptrdiff_t>(begin), size, 0U);
  return session_->fill_zero(kDefaultStream, {buffer.id, static_cast<int64_t>(begin * 4)},
                             static_cast<int64_t>(size * 4));
}

Status Client::read() {
  const Buffer& buffer = any();
  const auto [begin, size] = range(buffer.values.size());
  std::vector<uint32_t> came(size);
  TAPML_TRY(session_->read(kDefaultStream, {buffer.id, static_cast<int64_t>(begin * 4)},
                           std::as_writable_bytes(std::span(came)), soon()));
  const bool same = std::equal(came.begin(), came.end(),
                               buffer.values.begin() + static_cast<std::ptrdiff_t>(begin));
  return same ? Status() : wrong("what was read is not what was written");
}

Status Client::launch() {
  Buffer& buffer = any();
  const auto extent = static_cast<int64_t>(1 + below(buffer.values.size()));
  const auto term = static_cast<int64_t>(below(1000));
  for (int64_t i = 0; i < extent; ++i) {
    uint32_t& value = buffer.values[static_cast<size_t>(i)];
    value = value * 3U + static_cast<uint32_t>(term);
  }
  const runtime::BufferRange range{buffer.id, 0};
  return session_->launch(kDefaultStream,
                          {fold_, std::span(&range, 1), std::span(&term, 1), extent, 64});
}

// main(x, y) = (x + 2 y) * 3 in integers, so that nothing is rounded.
Status Client::call_machine() {
  const size_t size = 1 + below(500);
  auto x = HostTensor::zeros(DType::kF32, {static_cast<int64_t>(size)});
  auto y = HostTensor::zeros(DType::kF32, {static_cast<int64_t>(size)});
  for (float& value : x.mutable_values<float>()) value = static_cast<float>(below(1000));
  for (float& value : y.mutable_values<float>()) value = static_cast<float>(below(1000));
  TAPML_ASSIGN(runtime::Tensor x_there, runtime::upload(*session_, x));
  TAPML_ASSIGN(runtime::Tensor y_there, runtime::upload(*session_, y));
  const std::vector<runtime::Value> args = {std::move(x_there), std::move(y_there)};
  TAPML_ASSIGN(const runtime::Value result, vm_->call("main", args));
  if (!result.tensor()) return wrong("a call gave no tensor");
  TAPML_ASSIGN(const HostTensor came, runtime::download(*result.tensor()));
  for (size_t i = 0; i < size; ++i) {
    const float expected = (x.values<float>()[i] + 2 * y.values<float>()[i]) * 3;
    if (came.values<float>()[i] != expected) return wrong("a function computed something else");
  }
  return {};
}

Status Client::cancel() {
  std::atomic<bool> interrupt = false;
  vm_->set_interrupt(&interrupt);
  const std::chrono::microseconds after(below(5000));
  std::thread setter([&] {
    std::this_thread::sleep_for(after);
    interrupt = true;
  });
  auto result = vm_->call("spin", {});
  setter.join();
  vm_->set_interrupt(nullptr);
  if (result) return wrong("a function that never ends ended");
  if (result.error().fault != PlatformFault::kCancelled) return fail(result.error());
  return {};
}

Status Client::wait() {
  if (below(2) == 0) return session_->synchronize(kDefaultStream, soon());
  // A deadline that may pass: the session continues either way.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::microseconds(below(2000));
  const Status status = session_->synchronize(kDefaultStream, deadline);
  if (!status && status.error().fault != PlatformFault::kTimeout) return status;
  return {};
}

// Refused without effects.
Status Client::nonsense() {
  const Buffer& buffer = any();
  const auto bytes = static_cast<int64_t>(buffer.values.size() * 4);
  if (session_->fill_zero(kDefaultStream, {buffer.id, bytes}, 4))
    return wrong("a fill beyond the end");
  if (session_->allocate(BufferId(session_->new_handle()), -1)) return wrong("less than no bytes");
  // More than a session may have: reported at the next wait.
  const auto large = BufferId(session_->new_handle());
  Status status = session_->allocate(large, int64_t{1} << 40);
  if (status) status = session_->synchronize(kDefaultStream, soon());
  session_->release(large);
  if (status) return wrong("a terabyte");
  if (status.error().fault != PlatformFault::kOutOfMemory &&
      status.error().fault != PlatformFault::kLimit) {
    return status;
  }
  return {};
}

Status Client::ask_status() {
  TAPML_ASSIGN(const auto channel, rpc::connect(endpoint_, soon()));
  rpc::ConnectOptions options;
  options.handshake = options.silence = kPatience;
  TAPML_ASSIGN(const std::string text, rpc::query_status(*channel, options));
  return text == kStatus ? Status() : wrong("the server's status");
}

}  // namespace tapml::soak
