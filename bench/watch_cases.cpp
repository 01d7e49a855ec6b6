// A hand-written kernel of the demo that is validated again when its file is saved: the time from
// saving the file to the verdict printed by `tapml replay --watch`.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "cases.h"
#include "device/opencl/opencl_device.h"
#include "device/vulkan/vulkan_device.h"
#include "ir/exceptions.h"
#include "rpc/transport/descriptor.h"

namespace tapml::bench {

namespace {

constexpr const char* kWatchingProgram = "build/tapml";
constexpr const char* kKernel = "rms_norm_485247dc";

// A temporary folder, removed with the object.
struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "tapml-bench-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw_internal("no temporary folder");
    path = name;
  }
  Folder(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

// `out`: redirects its standard output; -1: discards it.
pid_t start(const std::vector<std::string>& words, int out = -1) {
  const pid_t process = ::fork();
  if (process != 0) return process;
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) ::_exit(127);
  ::dup2(out >= 0 ? out : nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  std::vector<char*> arguments = {const_cast<char*>(kWatchingProgram)};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execv(kWatchingProgram, arguments.data());
  ::_exit(127);
}

void run_program(const std::vector<std::string>& words) {
  int status = 0;
  if (::waitpid(start(words), &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw_internal("tapml " + words.front() + " failed");
  }
}

// The reason why the platform is not available on this machine.
std::optional<std::string> missing_driver(const std::string& target) {
  const auto why = [](const auto& device) -> std::optional<std::string> {
    if (device) return std::nullopt;
    return device.error().message;
  };
  if (target == "opencl") return why(device::create_opencl_device());
  if (target == "vulkan") return why(device::create_vulkan_device());
  return std::nullopt;
}

class Watched {
 public:
  Watched(const std::string& target, const std::string& ending)
      : kernels_(folder_.path / "kernels"), file_(kernels_ / ("rms_norm" + ending)) {
    const std::string suite = (folder_.path / "suite").string();
    std::filesystem::create_directory(kernels_);
    run_program({"carve", "models/demo", "--prompt", "Once", "--max-tokens", "2", "-o", suite});
    run_program({"kernel", "skeleton", suite, kKernel, "--target", target, "-o", file_.string()});
    rpc::PipePair said = unwrap(rpc::make_pipe());
    process_ = start({"replay", suite, "--target", target, "--kernel", kKernel, "--custom-kernels",
                      kernels_.string(), "--watch"},
                     said.write.get());
    said.write.reset();
    said_ = std::move(said.read);
    wait();
  }
  Watched(const Watched&) = delete;
  ~Watched() {
    ::kill(process_, SIGINT);
    ::waitpid(process_, nullptr, 0);
  }

  // Seconds. The file's content is new to every cache.
  double save() {
    {
      std::ofstream file(file_, std::ios::app);
      file << "// " << ++saved_ << "\n";
    }
    return seconds_of([&] { wait(); });
  }

 private:
  // Reads a line, which must be the verdict of a correct kernel.
  void wait() {
    std::string line;
    char next = 0;
    while (::read(said_.get(), &next, 1) == 1 && next != '\n') line += next;
    if (line.find(": pass") == std::string::npos) throw_internal("unexpected output: " + line);
  }

  Folder folder_;
  std::filesystem::path kernels_, file_;
  rpc::FileDescriptor said_;
  pid_t process_ = 0;
  int saved_ = 0;
};

}  // namespace

std::vector<Case> watch_cases() {
  std::vector<Case> cases;
  const std::pair<std::string, std::string> platforms[] = {
      {"cpu", ".c"}, {"opencl", ".cl"}, {"vulkan", ".comp"}};
  for (const auto& [target, ending] : platforms) {
    Case row;
    row.name = "watch/" + target;
    row.unit = "s";
    row.bound = Bound::kAtMost;
    row.bar = 1;
    row.figure = true;
    row.prepare = [target, ending](std::string& absent) -> Pair {
      if (auto missing = missing_driver(target)) {
        absent = *missing;
        return {};
      }
      auto watched = std::make_shared<Watched>(target, ending);
      return {[watched] { return watched->save(); }, nullptr};
    };
    cases.push_back(std::move(row));
  }
  return cases;
}

}  // namespace tapml::bench
