#include "browser/page_device.h"

#include "browser/page.h"
#include "device/wasm/wasm_device.h"
#include "device/webgpu/webgpu_device.h"
#include "worker/host.h"
#include "worker/host_gpu.h"
#include "worker/module_loader.h"

namespace tapml::browser {

namespace {

std::string platform_of(const std::string& target) { return target.substr(0, target.find(':')); }

// `poll` is called between kernels.
Result<std::shared_ptr<runtime::Device>> open_device(const std::string& target,
                                                     std::function<void()> poll) {
  const std::string platform = platform_of(target);
  if (platform == "webgpu") {
    return device::create_webgpu_device(worker::make_host_gpu(std::move(poll)));
  }
  if (platform == "wasm") {
    device::WasmOptions options;
    options.loader = worker::make_module_loader();
    options.name = "WebAssembly of this browser";
    options.poll = std::move(poll);
    return std::make_shared<device::WasmDevice>(std::move(options));
  }
  return fail(user_error("the executable was made for another platform", "target",
                         "webgpu or wasm, which pages run", target,
                         "compile it with --target webgpu or --target wasm"));
}

}  // namespace

Result<std::unique_ptr<runtime::LocalSession>> open_session(const std::string& target,
                                                            std::function<void()> poll) {
  TAPML_ASSIGN(auto device, open_device(target, std::move(poll)));
  TAPML_ASSIGN(auto session, runtime::LocalSession::create(std::move(device)));
  session->set_watcher([](const Work& work) {
    page::tapml_page_progress(work.what.data(), static_cast<uint32_t>(work.what.size()),
                              static_cast<double>(work.done), static_cast<double>(work.total));
  });
  return session;
}

Json device_json(const DeviceInfo& info) {
  const Limits& limits = info.limits;
  return Json::object({
      {"platform", Json::string(info.platform)},
      {"name", Json::string(info.name)},
      {"version", Json::string(info.version)},
      {"max_buffer_bytes", Json::integer(limits.max_allocation_bytes)},
      {"max_binding_bytes", Json::integer(limits.max_binding_bytes)},
      {"max_bindings", Json::integer(limits.max_bindings)},
      {"max_workgroup_bytes", Json::integer(limits.max_local_memory)},
  });
}

}  // namespace tapml::browser
