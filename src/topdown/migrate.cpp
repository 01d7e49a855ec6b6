#include "topdown/migrate.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "interp/interpreter.h"
#include "ir/exceptions.h"
#include "topdown/carve.h"

namespace tapml::topdown {

namespace {

// Sends the kernels that have moved to the target's runner.
class MigratedKernels : public runtime::Dispatcher {
 public:
  explicit MigratedKernels(runtime::KernelRunner& runner) : runner_(runner) {}

  void add(const std::string& kernel) {
    kernels_[kernel] = runner_.executable().find_kernel(kernel);
  }
  void remove(const std::string& kernel) { kernels_.erase(kernel); }
  Route route(const runtime::CallSite& site) noexcept override {
    auto it = kernels_.find(site.kernel->name);
    return it == kernels_.end() ? Route{} : Route{&runner_, it->second};
  }

 private:
  runtime::KernelRunner& runner_;
  std::map<std::string, int32_t> kernels_;
};

void check_cancelled(const MigrateOptions& options) {
  if (options.cancelled && options.cancelled()) {
    throw_platform(PlatformFault::kCancelled, "interrupted");
  }
}

// Logits of the last prompt token and of every forced token after it.
std::vector<HostTensor> forced_logits(llm::Engine& engine, const std::vector<int32_t>& prompt,
                                      const std::vector<int32_t>& forced,
                                      const MigrateOptions& options) {
  std::vector<HostTensor> logits;
  // A kernel that leaves the cache as it was must not profit from an earlier run.
  unwrap(engine.clear());
  logits.push_back(unwrap(runtime::download(unwrap(engine.prefill(prompt)))));
  for (int32_t token : forced) {
    check_cancelled(options);
    logits.push_back(unwrap(runtime::download(unwrap(engine.decode(token)))));
  }
  return logits;
}

// The judge's logits of every token of `tokens`: the whole model at operator level in f64.
op::RefTensor judge_logits(const Module& module, const ModelInterface& model,
                           const std::map<std::string, HostTensor>& weights,
                           const std::vector<int32_t>& tokens) {
  auto count = static_cast<int64_t>(tokens.size());
  int64_t page = model.kv.page_size, pages = (count + page - 1) / page;
  auto argument = [](const HostTensor& tensor) {
    return interp::Value::tensor(op::RefTensor::from(tensor));
  };
  std::vector<int32_t> table;
  for (int64_t i = 0; i < pages; ++i) table.push_back(static_cast<int32_t>(i));
  std::vector<interp::Value> args;
  args.push_back(argument(HostTensor::from<int32_t>(DType::kI32, {1, count}, tokens)));
  args.push_back(argument(HostTensor::from<int32_t>(DType::kI32, {1, pages}, table)));
  args.push_back(argument(HostTensor::zeros(DType::kI32, {1})));
  for (int64_t i = 0; i < 2 * model.kv.layers; ++i) {
    args.push_back(argument(
        HostTensor::zeros(model.kv.dtype, {pages, page, model.kv.kv_heads, model.kv.head_dim})));
  }
  for (const std::string& name : model.weights) args.push_back(argument(weights.at(name)));
  return interp::call(module, "logits_all", args).as_tuple().at(0).as_tensor();
}

int64_t argmax(const double* values, int64_t count) {
  return std::max_element(values, values + count) - values;
}

// What the whole model is held against.
class ModelJudge {
 public:
  ModelJudge(op::RefTensor logits, size_t prompt, const std::vector<HostTensor>& source)
      : logits_(std::move(logits)), first_(static_cast<int64_t>(prompt) - 1) {
    vocabulary_ = logits_.shape.back();
    double largest = 1;
    for (double value : logits_.values) largest = std::max(largest, std::abs(value));
    for (size_t i = 0; i < source.size(); ++i) {
      source_error_ = std::max(source_error_, error(source[i], i));
    }
    // A source that computes no numbers excuses nothing.
    bound_ = (std::isfinite(source_error_) ? 4 * source_error_ : 0) + 1e-4 * largest;
  }

  ModelCheck check(const std::vector<HostTensor>& logits) const {
    ModelCheck result;
    result.bound = bound_;
    result.source_error = source_error_;
    for (size_t i = 0; i < logits.size(); ++i) {
      double worst = error(logits[i], i);
      result.max_abs = std::max(result.max_abs, worst);
      std::vector<double> own;
      for (int64_t v = 0; v < vocabulary_; ++v) own.push_back(logits[i].at_f64(v));
      int64_t top = argmax(own.data(), vocabulary_), judged = argmax(row(i), vocabulary_);
      if (row(i)[judged] - row(i)[top] > 2 * bound_) ++result.top1_changes;
    }
    // Not "<=" alone: a NaN must fail.
    result.passed = result.max_abs <= bound_ && result.top1_changes == 0;
    return result;
  }

  // How much likelier the judge finds its first choice than `token` after forced token `i`.
  double margin(size_t i, int32_t token) const {
    const double* values = row(i);
    return values[argmax(values, vocabulary_)] - values[token];
  }
  double bound() const { return bound_; }
  size_t rows() const { return static_cast<size_t>(logits_.shape[1] - first_); }

 private:
  const double* row(size_t i) const {
    return logits_.values.data() + (first_ + static_cast<int64_t>(i)) * vocabulary_;
  }
  double error(const HostTensor& logits, size_t i) const {
    double worst = 0;
    for (int64_t v = 0; v < vocabulary_; ++v) {
      double difference = std::abs(logits.at_f64(v) - row(i)[v]);
      if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
      worst = std::max(worst, difference);
    }
    return worst;
  }

  op::RefTensor logits_;
  int64_t first_, vocabulary_;
  double source_error_ = 0, bound_ = 0;
};

class Migrator {
 public:
  Migrator(const Module& module, const std::map<std::string, HostTensor>& weights,
           const std::vector<int32_t>& prompt, const Platform& source, const Platform& target,
           const MigrateOptions& options)
      : weights_(weights),
        prompt_(prompt),
        source_(source),
        target_(target),
        options_(options),
        module_(module) {}

  Migration run() {
    auto start = std::chrono::steady_clock::now();
    progress("compile for " + source_.target.text);
    pipeline::ImplementOptions implement;
    implement.instruments.poll = [this] { check_cancelled(options_); };
    implement.libraries = options_.libraries;
    fixed_ = pipeline::fix_kernels(module_, implement.instruments);
    auto source_executable = pipeline::implement(fixed_, source_.target, implement);
    engine_ = unwrap(llm::Engine::create(*source_.session, source_executable, weights_));
    engine_->vm().set_interrupt(options_.interrupt);
    result_.source = source_.target.text;
    result_.target = target_.target.text;
    result_.source_info = source_.session->info();
    result_.target_info = target_.session->info();

    progress("run on " + source_.target.text);
    result_.source_tokens = generate(*engine_, options_.max_tokens);
    progress("carve");
    carve(*source_executable);
    Judge judge(suite_);
    judge.set_poll([this] { check_cancelled(options_); });

    progress("judge the whole model");
    forced_.assign(result_.source_tokens.begin(),
                   result_.source_tokens.begin() +
                       std::min<std::ptrdiff_t>(options_.validation_tokens,
                                                std::ssize(result_.source_tokens)));
    std::vector<int32_t> sequence = prompt_;
    sequence.insert(sequence.end(), forced_.begin(), forced_.end());
    ModelJudge model_judge(judge_logits(module_, engine_->model(), weights_, sequence),
                           prompt_.size(), forced_logits(*engine_, prompt_, forced_, options_));

    progress("compile for " + target_.target.text);
    if (!options_.plant.empty()) {
      auto [kernel, kind] = parse_plant(options_.plant);
      PlantedKernel planted =
          plant(suite_, judge, kernel, kind, target_.target, *target_.session, options_.cancelled);
      implement.rewrite = [planted](const std::string& name, tir::PrimFuncRef scheduled) {
        return name == planted.kernel ? planted.implementation : scheduled;
      };
    }
    auto target_executable = pipeline::implement(fixed_, target_.target, implement);
    auto runner = unwrap(runtime::KernelRunner::create(*target_.session, target_executable));
    move_kernels(judge, model_judge, *runner);
    if (result_.culprits().empty()) run_target(target_executable, model_judge);
    result_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(result_);
  }

 private:
  void progress(const std::string& step, int64_t done = 0, int64_t total = 0) {
    if (options_.progress) options_.progress(step, done, total);
  }

  std::vector<int32_t> generate(llm::Engine& engine, int64_t tokens) {
    llm::GenerateOptions generate;
    generate.max_tokens = tokens;
    generate.eos = options_.eos;
    generate.on_token = [this](int32_t) { return !options_.cancelled || !options_.cancelled(); };
    std::vector<int32_t> result = unwrap(engine.generate(prompt_, generate)).tokens;
    check_cancelled(options_);
    return result;
  }

  void carve(const Executable& executable) {
    unwrap(engine_->clear());
    Carver carver(executable);
    engine_->vm().call_point().set_observer(&carver);
    std::vector<int32_t> tokens =
        generate(*engine_, std::min(options_.max_tokens, options_.validation_tokens));
    engine_->vm().call_point().set_observer(nullptr);
    suite_ = carver.take();
    if (!std::equal(tokens.begin(), tokens.end(), result_.source_tokens.begin())) {
      throw_internal("the observed run produced other tokens than the plain run");
    }
  }

  void move_kernels(Judge& judge, const ModelJudge& model_judge, runtime::KernelRunner& runner) {
    MigratedKernels migrated(runner);
    runtime::CallPoint& call_point = engine_->vm().call_point();
    call_point.set_dispatcher(&migrated);
    auto total = static_cast<int64_t>(suite_.kernels.size());
    for (int32_t kernel = 0; kernel < total; ++kernel) {
      const std::string& name = suite_.kernels[static_cast<size_t>(kernel)].name;
      progress(name, kernel, total);
      MigrationStep step;
      step.verdict = unwrap(replay_kernel(suite_, judge, kernel, runner));
      if (step.verdict.passed) {
        migrated.add(name);
        int64_t before = call_point.dispatched();
        const runtime::CopyCount copies = call_point.copies();
        step.hybrid = model_judge.check(forced_logits(*engine_, prompt_, forced_, options_));
        step.dispatched = call_point.dispatched() - before;
        step.copies = call_point.copies() - copies;
        step.migrated = step.hybrid.passed;
        if (!step.migrated) migrated.remove(name);
      }
      result_.steps.push_back(std::move(step));
    }
    call_point.set_dispatcher(nullptr);
    progress("kernels", total, total);
  }

  void run_target(const std::shared_ptr<const Executable>& executable,
                  const ModelJudge& model_judge) {
    progress("run on " + target_.target.text);
    auto engine = unwrap(llm::Engine::create(*target_.session, executable, weights_));
    engine->vm().set_interrupt(options_.interrupt);
    result_.target_ran = true;
    result_.whole = model_judge.check(forced_logits(*engine, prompt_, forced_, options_));
    result_.target_tokens = generate(*engine, options_.max_tokens);
    const auto &a = result_.source_tokens, &b = result_.target_tokens;
    size_t common = std::min(a.size(), b.size());
    for (size_t i = 0; i < common && result_.first_divergence < 0; ++i) {
      if (a[i] != b[i]) result_.first_divergence = static_cast<int64_t>(i);
    }
    if (result_.first_divergence < 0 && a.size() != b.size()) {
      result_.first_divergence = static_cast<int64_t>(common);
    }
    auto at = static_cast<size_t>(std::max<int64_t>(result_.first_divergence, 0));
    if (result_.first_divergence >= 0 && at < common) result_.tie = is_tie(at);
  }

  // Both choices at position `at` are as likely as the judge can tell.
  bool is_tie(size_t at) {
    std::vector<int32_t> sequence = prompt_;
    sequence.insert(sequence.end(), result_.source_tokens.begin(),
                    result_.source_tokens.begin() + static_cast<std::ptrdiff_t>(at));
    op::RefTensor logits = judge_logits(module_, engine_->model(), weights_, sequence);
    ModelJudge judge(std::move(logits), sequence.size(), {});
    double largest = std::max(judge.margin(0, result_.source_tokens[at]),
                              judge.margin(0, result_.target_tokens[at]));
    return largest <= 2 * result_.whole.bound;
  }

  const std::map<std::string, HostTensor>& weights_;
  const std::vector<int32_t>& prompt_;
  const Platform &source_, &target_;
  const MigrateOptions& options_;
  Module module_, fixed_;
  std::unique_ptr<llm::Engine> engine_;
  Suite suite_;
  std::vector<int32_t> forced_;
  Migration result_;
};

}  // namespace

bool Migration::passed() const {
  return culprits().empty() && target_ran && whole.passed && (first_divergence < 0 || tie);
}

std::vector<const MigrationStep*> Migration::culprits() const {
  std::vector<const MigrationStep*> result;
  for (const MigrationStep& step : steps) {
    if (!step.migrated) result.push_back(&step);
  }
  return result;
}

Migration migrate(const Module& module, const std::map<std::string, HostTensor>& weights,
                  const std::vector<int32_t>& prompt, const Platform& source,
                  const Platform& target, const MigrateOptions& options) {
  return Migrator(module, weights, prompt, source, target, options).run();
}

}  // namespace tapml::topdown
