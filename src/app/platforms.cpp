#include "app/platforms.h"

#include "app/kernel_loader.h"
#include "app/wasm_worker.h"
#include "base/strings.h"
#include "device/open.h"
#include "ir/exceptions.h"

namespace tapml::app {

namespace {

std::shared_ptr<runtime::Device> open_device(const target::Target& target,
                                             const CacheOptions& cache,
                                             const device::HostLibraries& libraries = {},
                                             bool under_test = false) {
  device::OpenOptions options;
  options.under_test = under_test;
  options.number = static_cast<int>(target.integer_option("device", -1, 0, 255));
  options.threads = static_cast<int>(target.integer_option("threads", 0, 1, 1024));
  options.validation = target.integer_option("validation", 0, 0, 1) == 1;
  options.open_cache = [&] { return open_disk_cache(cache); };
  options.loader = make_kernel_loader();
  options.libraries = libraries;
  return unwrap(target.open ? target.open(options)
                            : device::open_device(target.description.platform, options));
}

}  // namespace

bool has_own_process(const target::Target& target) {
  return !target.endpoint.empty() || target.description.own_process;
}

std::unique_ptr<runtime::Session> open_session(target::Target& target, const CacheOptions& cache,
                                               const device::HostLibraries& libraries,
                                               const RemoteOptions& remote) {
  if (!target.endpoint.empty()) {
    if (!libraries.empty()) {
      throw_user("--library goes with a local platform only", "target \"" + target.text + "\"",
                 "no endpoint", "@" + target.endpoint);
    }
    auto session = open_remote_session(target, remote);
    target::adopt_device(target, session->info());
    return session;
  }
  if (has_own_process(target)) {
    auto session =
        open_remote_session(unwrap(start_wasm_worker(target.description.platform)), target, remote);
    target::adopt_device(target, session->info());
    return session;
  }
  auto session = unwrap(runtime::LocalSession::create(open_device(target, cache, libraries)));
  session->set_watcher(remote.watcher);
  target::adopt_device(target, session->info());
  return session;
}

Result<std::shared_ptr<runtime::Device>> open_served_device(const std::string& target,
                                                            const device::HostLibraries& libraries,
                                                            bool under_test) {
  return guard([&] {
    const target::Target parsed = target::parse_target(target);
    if (!parsed.endpoint.empty()) {
      throw_user("a server only opens its own devices", "target " + in_quotes(target),
                 "no endpoint", "@" + parsed.endpoint);
    }
    return open_device(parsed, {}, libraries, under_test);
  });
}

std::vector<PlatformStatus> list_platforms(const target::PlatformTable& table) {
  std::vector<PlatformStatus> list;
  for (const target::Platform& platform : table) {
    const target::Description& description = platform.description;
    PlatformStatus status{description.platform, description.doc, false, {}, ""};
    target::Target target = target::parse_target(description.platform, table);
    auto info = guard([&] {
      return has_own_process(target) ? open_session(target)->info()
                                     : open_device(target, {})->info();
    });
    if (info) {
      status.available = true;
      status.info = std::move(*info);
    } else {
      status.reason = info.error().message;
      if (!info.error().hint.empty()) status.reason += "; " + info.error().hint;
    }
    list.push_back(std::move(status));
  }
  return list;
}

PlatformStatus status_of(const std::string& text, const RemoteOptions& remote) {
  target::Target target = target::parse_target(text);
  auto session = open_session(target, {}, {}, remote);
  return {text, target.description.doc, true, session->info(), ""};
}

std::string dtype_list(const std::set<DType>& set) { return join(set, dtype_name, " "); }

Json platform_json(const PlatformStatus& status) {
  Json json = Json::object({{"platform", Json::string(status.platform)},
                            {"available", Json::boolean(status.available)},
                            {"doc", Json::string(status.doc)}});
  if (!status.available) {
    json.set("reason", Json::string(status.reason));
    return json;
  }
  const DeviceInfo& info = status.info;
  json.set("name", Json::string(info.name));
  json.set("version", Json::string(info.version));
  if (info.kind != DeviceKind::kUnknown) {
    json.set("kind", Json::string(info.kind == DeviceKind::kProcessor ? "processor" : "gpu"));
  }
  if (!info.cpu.empty()) {
    json.set("processor", Json::string(info.cpu));
    json.set("processor_features", Json::string(info.cpu_features));
  }
  json.set(
      "limits",
      Json::object({{"threads", Json::integer(info.limits.threads)},
                    {"subgroup_width", Json::integer(info.limits.subgroup_width)},
                    {"max_workgroup_threads", Json::integer(info.limits.max_workgroup_threads)},
                    {"max_local_memory", Json::integer(info.limits.max_local_memory)},
                    {"max_binding_bytes", Json::integer(info.limits.max_binding_bytes)},
                    {"max_allocation_bytes", Json::integer(info.limits.max_allocation_bytes)}}));
  json.set("compute_dtypes", Json::string(dtype_list(info.features.compute_dtypes)));
  json.set("storage_dtypes", Json::string(dtype_list(info.features.storage_dtypes)));
  return json;
}

}  // namespace tapml::app
