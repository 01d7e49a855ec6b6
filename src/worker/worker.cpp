// The program tapml_worker.wasm: serves one session on the WebAssembly device, or in a browser on
// its WebGPU. The JavaScript around it (src/web/) calls its exports.
#include <array>
#include <string_view>
#include <tuple>

#include "device/wasm/wasm_device.h"
#include "device/webgpu/webgpu_device.h"
#include "rpc/session/polled_link.h"
#include "rpc/session/server_session.h"
#include "worker/host.h"
#include "worker/host_channel.h"
#include "worker/host_gpu.h"
#include "worker/module_loader.h"

namespace tapml::worker {

namespace {

constexpr int kServed = 0, kBroken = 1;

// The session's channel. A crash is reported over it, so it outlives the call that crashed.
HostChannel& channel() {
  static HostChannel the_channel;
  return the_channel;
}

std::string_view platform_of(std::string_view target) { return target.substr(0, target.find(':')); }

device::WasmOptions describe_host() {
  std::array<char, 256> text;
  const size_t size = host::tapml_host_describe(text.data(), text.size());
  const std::string_view all(text.data(), std::min(size, text.size()));
  const size_t line = std::min(all.find('\n'), all.size());
  device::WasmOptions options;
  options.name = all.substr(0, line);
  options.version = all.substr(std::min(line + 1, all.size()));
  return options;
}

int serve() {
  rpc::ServerOptions options;
  rpc::PolledLink link(channel(), options.limits.heartbeat);
  options.open_device =
      [&link](const std::string& target) -> Result<std::shared_ptr<runtime::Device>> {
    const auto poll = [&link] { link.poll(); };
    if (platform_of(target) == "webgpu") return device::create_webgpu_device(make_host_gpu(poll));
    if (platform_of(target) != "wasm") {
      return fail(platform_error(PlatformFault::kAbsent,
                                 "this program serves only the devices wasm and webgpu",
                                 "target \"" + target + "\"", "--target wasm@pipe:..."));
    }
    device::WasmOptions device = describe_host();
    device.loader = make_module_loader();
    device.poll = poll;
    return std::make_shared<device::WasmDevice>(std::move(device));
  };
  options.describe = [] {
    const device::WasmOptions host = describe_host();
    return R"({"platforms": [{"platform": "wasm", "available": true, "name": ")" + host.name +
           R"(", "version": ")" + host.version +
           R"("}], "sessions": 1, "version": ")" TAPML_VERSION R"("})";
  };
  return rpc::serve_session_over(link, options) ? kServed : kBroken;
}

std::array<char, 4096> g_crash_text;

// The text of `size` bytes: its first line, and the rest.
std::pair<std::string, std::string> crash_text(uint32_t size) {
  const std::string_view text(g_crash_text.data(), std::min<size_t>(size, g_crash_text.size()));
  const size_t line = std::min(text.find('\n'), text.size());
  return {std::string(text.substr(0, line)),
          std::string(text.substr(std::min(line + 1, text.size())))};
}

}  // namespace

extern "C" {

// Serves the session; returns 0 if the client closed it in good order.
__attribute__((export_name("tapml_serve"))) int tapml_serve() { return serve(); }

// The buffer for the host's crash report, and its size.
__attribute__((export_name("tapml_crash_text"))) char* tapml_crash_text() {
  return g_crash_text.data();
}
__attribute__((export_name("tapml_crash_room"))) uint32_t tapml_crash_room() {
  return g_crash_text.size();
}

// Reports a crash of the session to the client: the first line of the text is the message, the rest
// the location. Called after a trap, which leaves tapml_serve() without unwinding.
__attribute__((export_name("tapml_crashed"))) void tapml_crashed(uint32_t size) {
  auto [message, location] = crash_text(size);
  const Error error =
      platform_error(PlatformFault::kCrash, "the session's process crashed: " + message,
                     std::move(location), "a new session can be opened at once");
  std::ignore = channel().send(rpc::encode_failure(error), {}, {});
}

// Reports that the host cannot serve a session: the first line of the text is the message, the rest
// what to do about it.
__attribute__((export_name("tapml_refused"))) void tapml_refused(uint32_t size) {
  auto [message, hint] = crash_text(size);
  const Error error = platform_error(PlatformFault::kAbsent, message, "", std::move(hint));
  std::ignore = channel().send(rpc::encode_failure(error), {}, {});
}

}  // extern "C"

}  // namespace tapml::worker
