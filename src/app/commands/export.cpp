#include "app/commands/export.h"

#include <atomic>
#include <cmath>
#include <filesystem>
#include <vector>

#include "app/gguf_tokenizer.h"
#include "app/model.h"
#include "base/clock.h"
#include "base/host/interrupt.h"
#include "base/host/thread_pool.h"
#include "base/strings.h"
#include "frontend/gguf/export.h"
#include "frontend/gguf/model.h"
#include "frontend/huggingface/folder.h"
#include "frontend/huggingface/foreign.h"
#include "io/gguf_quantize.h"
#include "io/host/atomic_file.h"
#include "io/host/files.h"
#include "io/host/mapped_ranges.h"
#include "ir/exceptions.h"

namespace tapml::app {

namespace {

using frontend::GgufExport;

constexpr int64_t kChunkElements = int64_t{1} << 22;  // quantized before they are written
constexpr float kLargestF16 = 65504;

// The type that loses nothing.
std::string stored_type(const std::string& folder) {
  const std::string path = folder + "/config.json";
  frontend::refuse_foreign_file(path);
  switch (frontend::parse_config(unwrap(read_text_file(path)), path).dtype) {
    case DType::kF16:
      return "F16";
    case DType::kBF16:
      return "BF16";
    default:
      return "F32";
  }
}

GgufExport plan_of(const std::string& model, const ExportCommand& command, std::string& type_name) {
  if (frontend::is_gguf_model(model)) {
    if (type_name.empty()) {
      throw_user("a GGUF file is exported to another type", "--type", "a type, such as Q4_K_M",
                 "none");
    }
    std::error_code ignored;
    if (std::filesystem::equivalent(model, command.gguf, ignored)) {
      throw_user("the file would replace the one that it is made of", "--gguf", "another path",
                 command.gguf);
    }
    return frontend::plan_gguf_conversion(model, frontend::find_gguf_file_type(type_name));
  }
  frontend::check_model_folder(model);
  if (type_name.empty()) type_name = stored_type(model);
  const frontend::GgufFileType& type = frontend::find_gguf_file_type(type_name);
  const Tokenizer tokenizer = load_tokenizer(model);
  const frontend::GgufTokenizerSource source = gguf_tokenizer_source(model, tokenizer);
  GgufExport plan = frontend::plan_gguf_export(model, type, &source);
  check_same_tokens(plan.file(), tokenizer, source.source);
  return plan;
}

// Why a tensor cannot be written in its type; empty: it can.
class ValueCheck {
 public:
  explicit ValueCheck(const GgufType& type)
      : is_checked_(type.plain != DType::kF32 && type.plain != DType::kBF16),
        is_bounded_(type.plain == DType::kF16) {}

  void row(std::span<const float> values) {
    if (!is_checked_) return;
    float largest = 0;
    bool is_finite = true;
    for (const float value : values) {
      is_finite = is_finite && value - value == 0;
      largest = std::max(largest, std::fabs(value));
    }
    if (!is_finite) is_finite_ = false;
    if (is_bounded_ && largest > kLargestF16) fits_ = false;
  }

  void refuse_if_bad(const GgufTensorInfo& tensor, const std::string& path) const {
    if (is_finite_ && fits_) return;
    throw_user("tensor " + in_quotes(tensor.name) + " has a value that " +
                   std::string(tensor.type->name) + " lacks",
               path, is_finite_ ? "numbers up to 65504" : "finite numbers",
               is_finite_ ? "a larger one" : "an infinity or a NaN",
               is_finite_ ? "--type BF16" : "");
  }

 private:
  bool is_checked_, is_bounded_;
  std::atomic<bool> is_finite_{true}, fits_{true};
};

class Writer {
 public:
  Writer(const std::string& path, int64_t total, const WorkWatcher& watcher)
      : path_(path), file_(unwrap(AtomicFile::create(path))), total_(total), watcher_(watcher) {}

  void write(std::span<const std::byte> bytes) {
    unwrap(file_->write(bytes));
    written_ += std::ssize(bytes);
    tell(watcher_, {"written", written_, total_, "bytes"});
  }

  void tensor(const GgufTensorInfo& info, const frontend::GgufRows& rows) {
    const int64_t columns = info.shape.back();
    const int64_t count = element_count(info.shape) / std::max<int64_t>(columns, 1);
    const size_t row_bytes = gguf_bytes(*info.type, {columns});
    const int64_t chunk = std::max<int64_t>(kChunkElements / std::max<int64_t>(columns, 1), 1);
    std::vector<std::byte> bytes;
    ValueCheck check(*info.type);
    for (int64_t first = 0; first < count; first += chunk) {
      unwrap(check_interrupted());
      const int64_t height = std::min(chunk, count - first);
      bytes.assign(static_cast<size_t>(height) * row_bytes, std::byte{0});
      pool_.parallel_for(height, [&](int64_t begin, int64_t end) {
        std::vector<float> row(static_cast<size_t>(columns));
        for (int64_t i = begin; i < end; ++i) {
          rows(first + i, row);
          check.row(row);
          quantize_gguf(*info.type, row, bytes.data() + static_cast<size_t>(i) * row_bytes);
        }
      });
      check.refuse_if_bad(info, path_);
      write(bytes);
    }
    const size_t size = gguf_bytes(*info.type, info.shape);
    write(std::vector<std::byte>(gguf_padded_bytes(size) - size));
  }

  void commit() { unwrap(file_->commit()); }
  int64_t written() const { return written_; }

 private:
  const std::string& path_;
  std::unique_ptr<AtomicFile> file_;
  int64_t total_, written_ = 0;
  const WorkWatcher& watcher_;
  ThreadPool pool_;
};

}  // namespace

ExportedFile export_model(const ExportCommand& command, const WorkWatcher& watcher) {
  if (is_compiled(command.model)) {
    throw_user("an executable or a package is not exported", "MODEL",
               "a model directory or a GGUF file", command.model,
               "give the directory that it was compiled from");
  }
  unwrap(check_writable(command.gguf));
  ExportedFile result;
  result.type = command.type;
  const std::string model = frontend::resolve_model_folder(command.model);
  const GgufExport plan = plan_of(model, command, result.type);
  result.type = frontend::find_gguf_file_type(result.type).name;
  result.architecture = plan.architecture;
  result.fallbacks = plan.fallbacks;
  const std::vector<std::byte> header = write_gguf_header(plan.metadata, plan.infos);
  int64_t total = std::ssize(header);
  for (const GgufTensorInfo& info : plan.infos) {
    ++result.types[std::string(info.type->name)];
    result.elements += element_count(info.shape);
    total += static_cast<int64_t>(gguf_padded_bytes(gguf_bytes(*info.type, info.shape)));
  }
  result.source_bytes = result.elements * static_cast<int64_t>(sizeof(float));
  const double start = seconds_now();
  Writer writer(command.gguf, total, watcher);
  writer.write(header);
  for (size_t i = 0; i < plan.infos.size(); ++i) {
    writer.tensor(plan.infos[i], plan.tensors[i].open());
  }
  unwrap(check_mapped_files());
  writer.commit();
  result.bytes = writer.written();
  result.seconds = seconds_now() - start;
  return result;
}

}  // namespace tapml::app
