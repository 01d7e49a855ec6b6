// Executables on disk and the compile cache, through the program.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "exec/executable_file.h"
#include "support/program.h"

namespace tapml {
namespace {

using testing::kDemoModel;
using testing::ProgramResult;
using testing::run_program;
using testing::TempFolder;

const std::vector<std::string> kPrompt = {"--prompt", "And God said", "--max-tokens", "8"};

std::vector<std::string> with(std::vector<std::string> args, const std::vector<std::string>& more) {
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

// The demo model as an executable, built once.
const std::string& demo_executable() {
  static TempFolder folder;
  static const std::string kPath = [] {
    std::string path = folder / "demo.tapml";
    ProgramResult result = run_program({"compile", kDemoModel, "-o", path, "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.all();
    EXPECT_GT(result.json().find("file_bytes")->as_integer(), 10000);
    return path;
  }();
  return kPath;
}

TEST(ExecutableFiles, RunAsTheModelDoes) {
  ProgramResult model = run_program(with({"run", kDemoModel, "--json"}, kPrompt));
  ProgramResult file = run_program(with({"run", demo_executable(), "--json"}, kPrompt));
  ASSERT_EQ(model.exit_code, 0) << model.all();
  ASSERT_EQ(file.exit_code, 0) << file.all();
  EXPECT_EQ(testing::integers(file.json().find("tokens")),
            testing::integers(model.json().find("tokens")));
  EXPECT_EQ(file.json().find("target")->as_string(), "cpu");
  EXPECT_EQ(file.json().find("timings")->find("compile")->as_double(), 0);
  // Other options of the same platform.
  ProgramResult one =
      run_program(with({"run", demo_executable(), "--target", "cpu:threads=1", "--json"}, kPrompt));
  EXPECT_EQ(testing::integers(one.json().find("tokens")),
            testing::integers(model.json().find("tokens")))
      << one.all();
}

TEST(ExecutableFiles, AreCarved) {
  TempFolder folder;
  ProgramResult carved = run_program({"carve", demo_executable(), "--prompt", "And", "--max-tokens",
                                      "2", "--calls", "1", "-o", folder / "suite", "--json"});
  ASSERT_EQ(carved.exit_code, 0) << carved.all();
  ProgramResult replay = run_program({"replay", folder / "suite", "--target", "cpu", "--json"});
  EXPECT_EQ(replay.exit_code, 0) << replay.all();
}

TEST(ExecutableFiles, KnowTheirWeights) {
  TempFolder folder;
  testing::copy_demo_model(folder / "moved");
  const std::string file = folder / "model.tapml";
  ASSERT_EQ(run_program({"compile", folder / "moved", "-o", file}).exit_code, 0);
  std::filesystem::rename(folder / "moved", folder / "elsewhere");
  testing::expect_failure(with({"run", file}, kPrompt), 2, {"does not exist", "--model DIR"});
  auto run_there = with({"run", file, "--model", folder / "elsewhere"}, kPrompt);
  ProgramResult there = run_program(run_there);
  EXPECT_EQ(there.exit_code, 0) << there.all();
  // One bit of one weight.
  std::string weights = testing::read_bytes(folder / "elsewhere/model.safetensors");
  weights[weights.size() - 100] = static_cast<char>(weights[weights.size() - 100] ^ 1);
  testing::write_bytes(folder / "elsewhere/model.safetensors", weights);
  testing::expect_failure(run_there, 2, {"is not the one that the executable was made for"});
}

TEST(ExecutableFiles, FromAConfigurationAlone) {
  TempFolder folder;
  std::filesystem::copy_file(kDemoModel + "/config.json", folder / "config.json");
  const std::string file = folder / "model.tapml";
  ProgramResult result =
      run_program({"compile", "--config", folder / "config.json", "-o", file, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  testing::expect_failure(with({"run", file}, kPrompt), 2, {"names no weights", "--model DIR"});
}

TEST(ExecutableFiles, BadFiles) {
  TempFolder folder;
  const std::string file = folder / "bad.tapml", good = testing::read_bytes(demo_executable());
  for (size_t size : {size_t{20}, good.size() / 2, good.size() - 1}) {
    testing::write_bytes(file, good.substr(0, size));
    testing::expect_failure(with({"run", file}, kPrompt), 2, {"bad.tapml is truncated"});
  }
  for (size_t at : {size_t{100}, good.size() / 2, good.size() - 1}) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    testing::write_bytes(file, bad);
    testing::expect_failure(with({"run", file}, kPrompt), 2, {"bad.tapml", "altered"});
  }
  std::string other = good;
  other[8] = 77;
  testing::write_bytes(file, other);
  testing::expect_failure(with({"run", file}, kPrompt), 2, {"version 77"});
  testing::expect_failure(with({"run", demo_executable(), "--target", "opencl"}, kPrompt), 2,
                          {"another platform"});
  testing::expect_failure(with({"run", kDemoModel, "--model", kDemoModel}, kPrompt), 2,
                          {"--model goes with an executable only"});
  testing::expect_failure({"compile", kDemoModel, "-o", folder / "none/x.tapml"}, 2, {"none"});
}

TEST(ExecutableFiles, AFileThatIsNotAnExecutableIsNotAModelEither) {
  TempFolder folder;
  const std::string file = folder / "x.tapml";
  for (const auto& [bytes, found] :
       {std::pair{std::string(), "an empty file"},
        std::pair{testing::read_bytes(demo_executable()).substr(0, 7), "of another format"}}) {
    testing::write_bytes(file, bytes);
    testing::expect_failure(
        with({"run", file}, kPrompt), 2,
        {"neither a model folder nor an executable", "config.json", "tapml compile -o", found});
  }
}

// Neither is a defect of the program.
TEST(ExecutableFiles, UnreadablePaths) {
  const std::string path(300, 'a');
  testing::expect_failure({"compile", path}, 2, {"cannot read", "File name too long"});
  testing::expect_failure(with({"run", path}, kPrompt), 2,
                          {"cannot be read", "File name too long"});
  testing::expect_failure(with({"run", demo_executable(), "--model", path}, kPrompt), 2,
                          {"--model DIR"});
}

TEST(ExecutableFiles, WithoutTheRightToReadThem) {
  TempFolder folder;
  const std::string file = folder / "x.tapml";
  std::filesystem::copy_file(demo_executable(), file);
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  // Root can read anything, so the test drops root's rights for a moment.
  const bool root = geteuid() == 0;
  std::filesystem::permissions(file, std::filesystem::perms(0));
  if (root) {
    ASSERT_EQ(seteuid(65534), 0);
  }
  const bool program_is_there = eaccess(TAPML_PROGRAM, X_OK) == 0;
  const ProgramResult result =
      program_is_there ? run_program(with({"run", file}, kPrompt)) : ProgramResult();
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  if (!program_is_there) GTEST_SKIP() << "other users may not run the program";
  EXPECT_EQ(result.exit_code, 2) << result.all();
  for (const char* part : {"cannot read", "x.tapml", "Permission denied"}) {
    EXPECT_NE(result.err.find(part), std::string::npos) << part << "\n" << result.all();
  }
}

TEST(ExecutableFiles, AreProfiledAsTheyAre) {
  TempFolder folder;
  testing::copy_demo_model(folder / "model");
  const std::string file = folder / "demo.tapml";
  ASSERT_EQ(
      run_program({"compile", folder / "model", "--target", "cpu:threads=1", "-o", file}).exit_code,
      0);
  std::filesystem::rename(folder / "model", folder / "elsewhere");
  const std::vector<std::string> profile = {"profile", file, "--max-tokens", "1"};
  testing::expect_failure(profile, 2, {"does not exist", "--model DIR"});
  ProgramResult result = run_program(with(profile, {"--model", folder / "elsewhere", "--json"}));
  ASSERT_EQ(result.exit_code, 0) << result.all();
  const Json json = result.json();
  EXPECT_EQ(json.find("target")->as_string(), "cpu:threads=1");
  EXPECT_GT(json.find("kernels")->items().size(), 5u);
  EXPECT_EQ(result.err.find("compile"), std::string::npos) << result.all();
  testing::expect_failure(with(profile, {"--target", "opencl"}), 2, {"another platform"});
}

// The target computes nothing, so all reads return zeros.
TEST(NullTarget, RunsAndProfilesAModel) {
  for (const char* command : {"run", "profile"}) {
    ProgramResult result = run_program({command, kDemoModel, "--target", "null", "--prompt",
                                        "And God said", "--max-tokens", "8", "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.all();
  }
}

TEST(ExecutableFiles, RefusedByAProcessorWithFewerFeatures) {
  TempFolder folder;
  std::string bytes = testing::read_bytes(demo_executable());
  auto file = read_executable(std::as_bytes(std::span(bytes)), nullptr, "demo");
  ASSERT_TRUE(file) << file.error().to_string();
  file->executable.modules[0].features += ",+quantum";
  auto altered = write_executable(*file);
  ASSERT_TRUE(altered);
  testing::write_bytes(folder / "x.tapml",
                       {reinterpret_cast<const char*>(altered->data()), altered->size()});
  testing::expect_failure(with({"run", folder / "x.tapml"}, kPrompt), 4,
                          {"a CPU with quantum, which this machine lacks"});
}

class CompileCache : public ::testing::Test {
 protected:
  ProgramResult compile(const std::string& cache, const std::vector<std::string>& more = {}) {
    std::vector<std::string> args = {"compile", "--config", kDemoModel + "/config.json", "--json"};
    return run_program(with(args, more), {.environment = {{"TAPML_CACHE", cache}}});
  }
  static int64_t cached(const ProgramResult& result) {
    EXPECT_EQ(result.exit_code, 0) << result.all();
    return result.json().find("cached_kernels")->as_integer();
  }
  Json summary(const std::vector<std::string>& more = {}) {
    ProgramResult result = run_program(with(with({"cache"}, more), {"--json"}),
                                       {.environment = {{"TAPML_CACHE", folder_ / "cache"}}});
    EXPECT_EQ(result.exit_code, 0) << result.all();
    return result.json();
  }

  TempFolder folder_;
};

TEST_F(CompileCache, ShownBoundedCleared) {
  EXPECT_EQ(cached(compile(folder_ / "cache")), 0);
  int64_t kernels = cached(compile(folder_ / "cache"));
  EXPECT_GT(kernels, 20);
  EXPECT_EQ(cached(compile(folder_ / "cache", {"--no-cache"})), 0);
  EXPECT_EQ(cached(compile("off")), 0);
  Json shown = summary();
  EXPECT_EQ(shown.find("folder")->as_string(), folder_ / "cache");
  // The executable as a whole, beside its kernels.
  const int64_t entries = shown.find("entries")->as_integer();
  EXPECT_GT(entries, 20);
  EXPECT_LE(entries, kernels + 1);
  EXPECT_EQ(shown.find("hits")->as_integer(), 1);
  EXPECT_EQ(shown.find("misses")->as_integer(), entries);
  const int64_t bound = shown.find("bytes")->as_integer() - 1;
  Json bounded = summary({"--max-size", std::to_string(bound)});
  EXPECT_LE(bounded.find("bytes")->as_integer(), bound);
  EXPECT_GT(bounded.find("entries")->as_integer(), 0);
  Json cleared = summary({"clear"});
  EXPECT_EQ(cleared.find("entries")->as_integer(), 0);
  EXPECT_GT(cleared.find("removed")->as_integer(), 0);
  // All options parse sizes the same way.
  for (const std::string bad :
       {"lots", "-5", "99999999999999999999GB", "9223372036854775808", "M"}) {
    testing::expect_failure({"cache", "--max-size=" + bad}, 2,
                            {"a size cannot be read", "--max-size", "512M or 2GiB", bad});
  }
  for (const std::string good : {"20480", "20K", "20kb", "20KiB"}) {
    EXPECT_EQ(summary({"--max-size", good}).find("max_bytes")->as_integer(), 20 << 10) << good;
  }
}

// The folder would look like a cache that is still empty.
TEST_F(CompileCache, UnusableFolderIsAnErrorIfRequested) {
  testing::write_bytes(folder_ / "file", "");
  std::filesystem::create_directory(folder_ / "open");
  std::filesystem::permissions(folder_ / "open", std::filesystem::perms::all);
  for (const auto& [folder, why] : {std::pair{folder_ / "file", "it is not a folder"},
                                    std::pair{folder_ / "file/in", "Not a directory"},
                                    std::pair{folder_ / "open", "everybody may write to "}}) {
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{}, {"clear"}, {"--max-size", "1G"}}) {
      ProgramResult result =
          run_program(with({"cache"}, more), {.environment = {{"TAPML_CACHE", folder}}});
      EXPECT_EQ(result.exit_code, 2) << result.all();
      EXPECT_NE(result.err.find(why), std::string::npos) << why << "\n" << result.all();
    }
  }
  ProgramResult homeless = run_program(
      {"cache"}, {.environment = {{"TAPML_CACHE", ""}, {"HOME", ""}, {"XDG_CACHE_HOME", ""}}});
  EXPECT_EQ(homeless.exit_code, 2) << homeless.all();
  EXPECT_NE(homeless.err.find("TAPML_CACHE"), std::string::npos) << homeless.all();
}

TEST_F(CompileCache, UnusableFolderWarnsOnce) {
  testing::write_bytes(folder_ / "file", "");
  ProgramResult result = compile(folder_ / "file");
  EXPECT_EQ(cached(result), 0);
  size_t at = result.err.find("is not used");
  ASSERT_NE(at, std::string::npos) << result.all();
  EXPECT_EQ(result.err.find("is not used", at + 1), std::string::npos) << result.all();
}

TEST_F(CompileCache, CorruptedEntriesAreReplaced) {
  compile(folder_ / "cache");
  int64_t kernels = cached(compile(folder_ / "cache"));
  std::vector<std::string> paths;
  for (const std::string& name : testing::names_under(folder_ / "cache/v1")) {
    if (name.size() > 10) paths.push_back(folder_ / "cache/v1/" + name);
  }
  ASSERT_GT(paths.size(), 3u);
  // The executable is larger than any kernel.
  std::ranges::sort(paths, std::ranges::greater{},
                    [](const std::string& path) { return std::filesystem::file_size(path); });
  testing::write_bytes(paths[0], "nonsense");
  testing::write_bytes(paths[1], "nonsense");
  testing::write_bytes(paths[2], "");
  EXPECT_EQ(cached(compile(folder_ / "cache")), kernels - 2);
  EXPECT_EQ(cached(compile(folder_ / "cache")), kernels);
}

// A whole executable is used for the same module, target and processor only.
TEST_F(CompileCache, WholeExecutablesAreTheSameFiles) {
  const std::string cache = folder_ / "cache";
  const std::vector<std::string> files = {folder_ / "a.tapml", folder_ / "b.tapml"};
  EXPECT_EQ(cached(compile(cache, {"-o", files[0]})), 0);
  EXPECT_GT(cached(compile(cache, {"-o", files[1]})), 20);
  EXPECT_EQ(testing::read_bytes(files[0]), testing::read_bytes(files[1]));
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--target", "cpu:threads=1"}, {"--activations", "bf16"}}) {
    const ProgramResult other = compile(cache, with(more, {"-o", files[1]}));
    ASSERT_EQ(other.exit_code, 0) << other.all();
    EXPECT_NE(testing::read_bytes(files[0]), testing::read_bytes(files[1])) << more[1];
    const std::string made = testing::read_bytes(files[1]);
    EXPECT_GT(cached(compile(cache, with(more, {"-o", files[1]}))), 20);
    EXPECT_EQ(testing::read_bytes(files[1]), made) << more[1];
  }
  // Bounds change the plan of the memory.
  ASSERT_EQ(compile(cache, {"-o", files[1], "--bound", "n=64,b=1,pages=8"}).exit_code, 0);
  EXPECT_NE(testing::read_bytes(files[0]), testing::read_bytes(files[1]));
}

TEST_F(CompileCache, TwoProcessesAtOnce) {
  std::vector<std::string> files = {folder_ / "a.tapml", folder_ / "b.tapml"};
  std::vector<ProgramResult> results(2);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] { results[i] = compile(folder_ / "cache", {"-o", files[i]}); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const ProgramResult& result : results) EXPECT_EQ(result.exit_code, 0) << result.all();
  EXPECT_EQ(testing::read_bytes(files[0]), testing::read_bytes(files[1]));
  EXPECT_GT(cached(compile(folder_ / "cache")), 20);
}

}  // namespace
}  // namespace tapml
