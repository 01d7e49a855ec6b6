// Remote devices compared with bare sockets and with the same device in this process. Servers and
// bare peers are separate processes.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <tuple>

#include "cases.h"
#include "codegen/llvm/native.h"
#include "conformance/programs.h"
#include "device/cpu/cpu_device.h"
#include "device/null/null_device.h"
#include "frontend/huggingface/model.h"
#include "ir/exceptions.h"
#include "llm/engine.h"
#include "pipeline/compile.h"
#include "programs.h"
#include "rpc/session/remote_session.h"
#include "rpc/transport/listener.h"
#include "rpc/transport/server.h"
#include "runtime/local_session.h"
#include "runtime/offload.h"

namespace tapml::bench {

namespace {

constexpr const char* kDemoFolder = "models/demo";
constexpr size_t kEchoBytes = 64;
constexpr size_t kBulkBytes = size_t{64} << 20;

std::string place_of(const std::string& way) {
  static int count = 0;
  if (way == "tcp") return "127.0.0.1:0";
  return "unix:" + (std::filesystem::temp_directory_path() /
                    ("tapml-bench-" + std::to_string(getpid()) + "-" + std::to_string(++count)))
                       .string();
}

// A process that listens on its own endpoint until the object is destroyed.
class Background {
 public:
  // `serve` runs in the process and reports its listening endpoint through `ready`.
  template <class Serve>
  explicit Background(const Serve& serve) {
    rpc::PipePair ready = unwrap(rpc::make_pipe());
    process_ = ::fork();
    if (process_ == 0) {
      serve([&](const std::string& endpoint) {
        if (::write(ready.write.get(), endpoint.data(), endpoint.size()) < 0) ::_exit(1);
        ready.write.reset();
      });
      ::_exit(0);
    }
    ready.write.reset();
    char text[256];
    const ssize_t count = ::read(ready.read.get(), text, sizeof text);
    endpoint_ = unwrap(rpc::parse_endpoint(std::string_view(text, static_cast<size_t>(count))));
  }
  ~Background() {
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
  }
  Background(const Background&) = delete;
  const rpc::Endpoint& endpoint() const { return endpoint_; }

 private:
  pid_t process_ = 0;
  rpc::Endpoint endpoint_;
};

std::atomic<bool> g_stop_server = false;

std::shared_ptr<Background> start_server(const std::string& way) {
  return std::make_shared<Background>([way](const auto& ready) {
    std::signal(SIGTERM, [](int) { g_stop_server = true; });
    rpc::ListenOptions options;
    options.server.open_device =
        [](const std::string& target) -> Result<std::shared_ptr<runtime::Device>> {
      if (target == "null") return std::make_shared<device::NullDevice>();
      return std::make_shared<device::CpuDevice>(0, codegen::make_jit_loader());
    };
    auto server = rpc::Server::listen(*rpc::parse_endpoint(place_of(way)), options);
    if (!server) ::_exit(1);
    ready((*server)->endpoint().text());
    std::ignore = (*server)->run(g_stop_server);
  });
}

// Transfer everything or return false if the peer is gone.
bool send_whole(int fd, const void* bytes, size_t size) {
  const auto* next = static_cast<const char*>(bytes);
  for (size_t left = size; left > 0;) {
    const ssize_t sent = ::send(fd, next, left, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    next += sent;
    left -= static_cast<size_t>(sent);
  }
  return true;
}
bool receive_whole(int fd, void* bytes, size_t size) {
  auto* next = static_cast<char*>(bytes);
  for (size_t left = size; left > 0;) {
    const ssize_t count = ::recv(fd, next, left, 0);
    if (count <= 0) return false;
    next += count;
    left -= static_cast<size_t>(count);
  }
  return true;
}

// The bare peer: answers `in` bytes with `out` bytes.
std::shared_ptr<Background> start_bare(const std::string& way, size_t in, size_t out) {
  return std::make_shared<Background>([=](const auto& ready) {
    auto listener = rpc::Listener::open(*rpc::parse_endpoint(place_of(way)), false);
    if (!listener) ::_exit(1);
    ready((*listener)->endpoint().text());
    rpc::wait_ready((*listener)->get(), false, -1, {});
    const rpc::FileDescriptor socket = (*listener)->accept();
    std::vector<char> bytes(std::max(in, out));
    while (receive_whole(socket.get(), bytes.data(), in) &&
           send_whole(socket.get(), bytes.data(), out)) {
    }
    (*listener).reset();
    while (true) ::pause();
  });
}

// Our end of the connection, and its process.
struct Bare {
  std::shared_ptr<Background> process;
  rpc::FileDescriptor socket;
  size_t out, in;
  std::vector<char> bytes;

  Bare(const std::string& way, size_t send, size_t receive)
      : process(start_bare(way, send, receive)), out(send), in(receive), bytes(std::max(out, in)) {
    const auto address = unwrap(rpc::resolve(process->endpoint(), false)).front();
    socket = unwrap(rpc::open_socket(address, false, "bench"));
    if (::connect(socket.get(), address.get(), address.size) != 0) {
      throw_platform(PlatformFault::kAbsent, "the bare peer does not answer", "bench");
    }
    rpc::tune_connection(socket.get());
  }
  void exchange() {
    if (!send_whole(socket.get(), bytes.data(), out) ||
        !receive_whole(socket.get(), bytes.data(), in)) {
      throw_platform(PlatformFault::kLost, "the bare peer is gone", "bench");
    }
  }
};

std::unique_ptr<rpc::RemoteSession> open_remote(const Background& server,
                                                const std::string& target) {
  rpc::ConnectOptions options;
  options.target = target;
  return unwrap(rpc::RemoteSession::connect(unwrap(rpc::connect(server.endpoint())), options));
}

// A remote device that computes nothing, with a buffer and a kernel.
struct Remote {
  std::shared_ptr<Background> process;
  std::unique_ptr<rpc::RemoteSession> session;
  runtime::BufferId buffer{};
  runtime::KernelId kernel{};

  explicit Remote(const std::string& way) : process(start_server(way)) {
    session = open_remote(*process, "null");
    buffer = runtime::BufferId(session->new_handle());
    kernel = runtime::KernelId(session->new_handle());
    const auto module = runtime::ModuleId(session->new_handle());
    ModuleBlob blob;
    blob.platform = "null";
    blob.format = "none";
    blob.entries = {"kernel"};
    unwrap(session->allocate(buffer, kBulkBytes));
    unwrap(session->load_module(module, blob));
    unwrap(session->get_kernel(kernel, module, "kernel"));
  }
  void call() {
    const runtime::BufferRange range{buffer, 0};
    const int64_t scalar = 7;
    runtime::LaunchRequest request;
    request.kernel = kernel;
    request.buffers = {&range, 1};
    request.scalars = {&scalar, 1};
    request.extent = 1;
    unwrap(session->launch(runtime::kDefaultStream, request));
    unwrap(session->synchronize(runtime::kDefaultStream));
  }
};

double microseconds_each(const std::function<void()>& work, int count) {
  const double start = seconds_now();
  for (int i = 0; i < count; ++i) work();
  return 1e6 * (seconds_now() - start) / count;
}

Case small_call(const std::string& way) {
  Case result{.name = "rpc/call/" + way,
              .unit = "us",
              .peer = "bare echo of 64 bytes",
              .bound = Bound::kAtMost,
              .bar = 3,
              .prepare = {}};
  result.prepare = [way](std::string&) {
    auto remote = std::make_shared<Remote>(way);
    auto bare = std::make_shared<Bare>(way, kEchoBytes, kEchoBytes);
    constexpr int kCalls = 2000;
    return Pair{[remote] { return microseconds_each([&] { remote->call(); }, kCalls); },
                [bare] { return microseconds_each([&] { bare->exchange(); }, kCalls); }};
  };
  return result;
}

// A run on a remote VM whose three kernel calls are all computed locally: four round trips, since
// inputs are already local and results are sent with the message that resumes the run.
Case dispatched(const std::string& way) {
  constexpr int kTrips = 4;
  Case result{.name = "rpc/dispatch/" + way,
              .unit = "us",
              .peer = "four bare echoes of 64 bytes",
              .bound = Bound::kAtMost,
              .bar = 3,
              .prepare = {}};
  result.prepare = [way](std::string&) {
    struct Hybrid {
      explicit Hybrid(const std::string& way) : there(way) {
        here = unwrap(runtime::LocalSession::create(std::make_shared<device::NullDevice>()));
        ModuleBlob blob;
        blob.platform = "null";
        blob.format = "none";
        blob.entries = {"add", "scale"};
        vm = unwrap(
            there.session->open_vm(std::make_shared<const Executable>(test::chain_program(blob))));
        target = unwrap(runtime::KernelRunner::create(
            *here, std::make_shared<const Executable>(test::kernels_only(blob))));
        residency.emplace(*here);
        offload.emplace(*target, *residency);
        unwrap(vm->set_dispatch({{0, 1, 2}}, &*offload));
        const HostTensor values = HostTensor::zeros(DType::kF32, {16});
        for (int i = 0; i < 2; ++i) args.emplace_back(unwrap(upload(*there.session, values)));
      }
      void run() { unwrap(vm->call("main", args)); }

      Remote there;
      std::unique_ptr<runtime::LocalSession> here;
      std::unique_ptr<runtime::KernelRunner> target;
      std::optional<runtime::Residency> residency;
      std::optional<runtime::Offload> offload;
      std::unique_ptr<runtime::VirtualMachine> vm;
      std::vector<runtime::Value> args;
    };
    auto hybrid = std::make_shared<Hybrid>(way);
    auto bare = std::make_shared<Bare>(way, kEchoBytes, kEchoBytes);
    constexpr int kRuns = 500;
    return Pair{
        [hybrid] { return microseconds_each([&] { hybrid->run(); }, kRuns); },
        [bare] { return kTrips * microseconds_each([&] { bare->exchange(); }, kRuns * kTrips); }};
  };
  return result;
}

Case bulk(const std::string& way, bool up) {
  Case result{.name = std::string("rpc/") + (up ? "upload" : "download") + "/64MiB/" + way,
              .unit = "GB/s",
              .peer = "bare socket",
              .bar = 0.5,
              .prepare = {}};
  result.prepare = [way, up](std::string&) {
    auto remote = std::make_shared<Remote>(way);
    auto bare = std::make_shared<Bare>(way, up ? kBulkBytes : 1, up ? 1 : kBulkBytes);
    auto bytes = std::make_shared<std::vector<std::byte>>(kBulkBytes);
    const auto rate = [](const std::function<void()>& work) {
      return 1e-3 * static_cast<double>(kBulkBytes) / microseconds_each(work, 3);
    };
    const auto ours = [=] {
      runtime::Session& session = *remote->session;
      if (up) {
        unwrap(session.write(runtime::kDefaultStream, {remote->buffer, 0}, *bytes));
        unwrap(session.synchronize(runtime::kDefaultStream));
      } else {
        unwrap(session.read(runtime::kDefaultStream, {remote->buffer, 0}, *bytes));
      }
    };
    ours();
    bare->exchange();
    return Pair{[=] { return rate(ours); }, [=] { return rate([&] { bare->exchange(); }); }};
  };
  return result;
}

// The demo model's decode on a cpu device, through an engine.
struct Demo {
  std::shared_ptr<Background> process;  // for a remote one
  std::shared_ptr<runtime::Session> session;
  std::unique_ptr<llm::Engine> engine;

  // Calls `beside` for each token.
  double milliseconds_a_token(const std::function<void()>& beside = [] {}) const {
    engine->reset();
    unwrap(engine->set_sampler({}));
    int32_t token =
        unwrap(engine->sample(unwrap(engine->prefill(std::vector<int32_t>{1, 2, 3, 4}))));
    constexpr int kTokens = 64;
    const auto one = [&] {
      token = unwrap(engine->sample(unwrap(engine->decode(token))));
      beside();
    };
    return microseconds_each(one, kTokens) / 1e3;
  }
};

// The memory layout of a process can make every token up to a quarter slower, so a single local and
// a single remote process would compare that. Measure several, alternating.
class Demos {
 public:
  void add(Demo demo) { demos_.push_back(std::move(demo)); }
  const Demo& next() { return demos_[next_++ % demos_.size()]; }

 private:
  std::vector<Demo> demos_;
  size_t next_ = 0;
};

Case decode(const std::string& way) {
  constexpr int kDemos = 5;
  Case result{.name = "rpc/decode/demo/" + way,
              .unit = "ms",
              .peer = "the same locally, and two bare echoes",
              .bound = Bound::kAtMost,
              .bar = 1,
              .prepare = {},
              .pairs = 20 * kDemos};
  result.prepare = [way](std::string&) {
    // Fork before this process has threads.
    std::vector<std::shared_ptr<Background>> processes;
    for (int i = 0; i < kDemos; ++i) processes.push_back(start_server(way));
    auto bare = std::make_shared<Bare>(way, kEchoBytes, kEchoBytes);
    const frontend::HuggingFaceModel files = frontend::read_model(kDemoFolder);
    auto executable = pipeline::compile(files.module, target::parse_target("cpu"));
    auto there = std::make_shared<Demos>(), here = std::make_shared<Demos>();
    for (const auto& process : processes) {
      Demo remote{.process = process, .session = open_remote(*process, "cpu"), .engine = {}};
      remote.engine =
          unwrap(llm::Engine::create(unwrap(remote.session->open_vm(executable)), files.weights));
      remote.milliseconds_a_token();
      there->add(std::move(remote));
      Demo local{.process = {}, .session = cpu_session(), .engine = {}};
      local.engine = unwrap(llm::Engine::create(*local.session, executable, files.weights));
      local.milliseconds_a_token();
      here->add(std::move(local));
    }
    return Pair{[there] { return there->next().milliseconds_a_token(); },
                // The bare peer idles for a token before each request, as the remote one does.
                [here, bare] {
                  return here->next().milliseconds_a_token([&] {
                    bare->exchange();
                    bare->exchange();
                  });
                }};
  };
  return result;
}

}  // namespace

std::vector<Case> rpc_cases() {
  std::vector<Case> cases;
  for (const char* way : {"unix", "tcp"}) {
    cases.push_back(small_call(way));
    cases.push_back(dispatched(way));
    cases.push_back(bulk(way, true));
    cases.push_back(bulk(way, false));
    cases.push_back(decode(way));
  }
  return cases;
}

}  // namespace tapml::bench
