// Packages of the demo model, built once, and engines of the C interface that run them.
#pragma once

#include <gtest/gtest.h>
#include <tapml/engine.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/cache.h"
#include "app/executable.h"
#include "app/model.h"
#include "ir/exceptions.h"
#include "llm/package.h"
#include "pipeline/compile.h"
#include "support/temp_folder.h"

namespace tapml::testing {

// Builds the demo model's package for a platform; `change` may alter its contents.
inline void make_demo_package(const std::string& platform, const std::string& folder,
                              const std::function<void(llm::PackageContents&)>& change = {}) {
  const std::string demo = std::string(TAPML_SOURCE_DIR) + "/models/demo";
  app::LoadedModel model = app::load_model(demo);
  const target::Target target = target::parse_target(platform);
  app::CompileCache cache({});
  pipeline::ImplementOptions implement;
  implement.cache = cache.kernels();
  const Module fixed = pipeline::form_kernels(model.files.module, {});
  const auto executable = pipeline::implement(fixed, target, implement);
  llm::PackageContents contents{app::executable_file(*executable, target, fixed, {}),
                                model.files.weights, model.files.eos, demo};
  if (change) change(contents);
  EXPECT_GT(unwrap(llm::write_package(folder, contents)), 0);
}

// A package that all tests of this process share.
inline const std::string& demo_package(const std::string& platform) {
  static std::map<std::string, std::unique_ptr<TempFolder>> made;
  std::unique_ptr<TempFolder>& folder = made[platform];
  if (!folder) {
    folder = std::make_unique<TempFolder>();
    make_demo_package(platform, folder->path());
  }
  return folder->path();
}

// A session and an engine; null if the platform is absent.
class CEngine {
 public:
  explicit CEngine(const std::string& platform, const tapml_engine_options* options = nullptr)
      : CEngine(platform, demo_package(platform), options) {}
  CEngine(const std::string& platform, const std::string& folder,
          const tapml_engine_options* options = nullptr) {
    const tapml_status opened = tapml_session_open(platform.c_str(), 0, &session_);
    if (opened != TAPML_OK) return;
    EXPECT_EQ(tapml_engine_load(session_, folder.c_str(), options, &engine_), TAPML_OK)
        << tapml_last_error();
  }
  ~CEngine() {
    tapml_engine_free(engine_);
    tapml_session_close(session_);
  }
  CEngine(const CEngine&) = delete;
  CEngine& operator=(const CEngine&) = delete;

  tapml_engine* get() const { return engine_; }
  tapml_session* session() const { return session_; }
  int64_t length() const { return tapml_engine_length(engine_); }
  std::vector<int32_t> tokens() const {
    int64_t count = 0;
    const int32_t* first = tapml_engine_answer(engine_, &count);
    return {first, first + count};
  }

 private:
  tapml_session* session_ = nullptr;
  tapml_engine* engine_ = nullptr;
};

// The text that a call streams, and how it ends.
struct CAnswer {
  tapml_status status = TAPML_OK;
  std::vector<std::string> pieces;
  std::string text;
  tapml_generation generation = TAPML_GENERATION;
  size_t most_pieces = SIZE_MAX;    // the text function then ends the call
  tapml_engine* cancels = nullptr;  // canceled at the first piece

  static int32_t take(void* user, const char* text, size_t bytes) {
    auto* self = static_cast<CAnswer*>(user);
    self->pieces.emplace_back(text, bytes);
    self->text.append(text, bytes);
    if (self->cancels) tapml_engine_cancel(self->cancels);
    return self->pieces.size() >= self->most_pieces ? 1 : 0;
  }
  CAnswer& ask(tapml_engine* engine, const std::string& prompt,
               const tapml_generate_options& options) {
    status = tapml_engine_generate(engine, prompt.data(), prompt.size(), &options, take, this,
                                   &generation);
    return *this;
  }
};

inline tapml_generate_options at_most(int64_t tokens) {
  tapml_generate_options options = TAPML_GENERATE_OPTIONS;
  options.max_tokens = tokens;
  return options;
}

inline CAnswer ask(tapml_engine* engine, const std::string& prompt, int64_t tokens) {
  CAnswer answer;
  answer.ask(engine, prompt, at_most(tokens));
  EXPECT_EQ(answer.status, TAPML_OK) << tapml_last_error();
  return answer;
}

// The status is that of a caller's error, and the message contains all of `parts`.
inline void expect_refused(tapml_status status, const std::vector<std::string>& parts) {
  EXPECT_EQ(status, TAPML_BAD_INPUT) << tapml_last_error();
  for (const std::string& part : parts) {
    EXPECT_NE(std::strstr(tapml_last_error(), part.c_str()), nullptr)
        << "no \"" << part << "\" in\n"
        << tapml_last_error();
  }
}

}  // namespace tapml::testing
