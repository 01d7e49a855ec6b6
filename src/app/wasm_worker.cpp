#include "app/wasm_worker.h"

#include <cstdlib>
#include <filesystem>

#include "rpc/transport/child_process.h"

namespace tapml::app {

namespace {

namespace fs = std::filesystem;

constexpr const char* kHost = "tapml_host.mjs";
constexpr const char* kBrowserHost = "tapml_browser.mjs";

bool has_worker(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / kHost, error) &&
         fs::is_regular_file(folder / kBrowserHost, error) &&
         fs::is_regular_file(folder / "tapml_worker.wasm", error);
}

Result<fs::path> find_worker() {
  if (const char* folder = std::getenv("TAPML_WASM"); folder && *folder) {
    if (has_worker(folder)) return fs::path(folder);
    return fail(platform_error(
        PlatformFault::kAbsent,
        "the folder has no tapml_host.mjs, tapml_browser.mjs and tapml_worker.wasm",
        std::string("TAPML_WASM=") + folder, "`make wasm` writes them to build/wasm"));
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  // Next to a build (build/tapml, build/dev/tapml), or installed.
  for (const char* endpoint : {"wasm", "../wasm", "../lib/tapml/wasm"}) {
    if (has_worker(program / endpoint)) return (program / endpoint).lexically_normal();
  }
  return fail(platform_error(PlatformFault::kAbsent, "the WebAssembly program is not built", "wasm",
                             "run `make wasm`, or set TAPML_WASM to the folder that has it"));
}

}  // namespace

Result<std::string> wasm_folder() noexcept {
  TAPML_ASSIGN(const fs::path folder, find_worker());
  return folder.string();
}

Result<std::unique_ptr<rpc::Channel>> start_wasm_worker(const std::string& platform) noexcept {
  TAPML_ASSIGN(const fs::path folder, find_worker());
  const char* given = std::getenv("TAPML_NODE");
  const std::string node = given && *given ? given : "node";
  auto channel =
      rpc::start_program({node, folder / (platform == "wasm" ? kHost : kBrowserHost)}, platform);
  if (!channel && channel.error().fault == PlatformFault::kAbsent) {
    Error error = channel.error();
    error.hint = "install Node.js 18 or later (Debian package nodejs)";
    return fail(std::move(error));
  }
  return channel;
}

}  // namespace tapml::app
