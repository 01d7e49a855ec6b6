#include "topdown/suite/check_suite.h"

#include <set>

#include "analysis/verifier.h"
#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "text/parser.h"
#include "topdown/suite/parameter_shape.h"

namespace tapml::topdown {

namespace {

using relax::Annotation;
using tir::Param;

class KernelCheck {
 public:
  KernelCheck(const SuiteKernel& kernel, const std::string& file)
      : kernel_(kernel), where_(file + ", kernel " + kernel.name) {}

  void run() {
    module_ = text::parse(kernel_.spec, "spec of " + kernel_.name);
    analysis::verify_input(module_, where_);
    const auto* spec = relax::as_relax_function(module_.find(kernel_.name));
    const auto* name = spec && passes::is_kernel(spec)
                           ? find_attr<std::string>(spec->attrs, passes::kImplementationAttr)
                           : nullptr;
    program_ = name ? tir::as_prim_func(module_.find(*name)) : nullptr;
    if (!program_ || *name != kernel_.name + "_impl" ||
        module_.functions.size() != passes::kernel_alone(module_, kernel_.name).functions.size() ||
        !calls_programs(*spec)) {
      wrong("the text of a kernel is not its spec and implementation",
            "@" + kernel_.name + " and @" + kernel_.name + "_impl", "");
    }
    check_signature();
    check_results(*spec);
  }

  void check_call(const SuiteCall& call, const std::map<std::string, HostTensor>& tensors) const {
    if (call.scalars.size() != program_->scalars.size()) {
      wrong("a call does not fit its kernel", std::to_string(program_->scalars.size()) + " scalars",
            std::to_string(call.scalars.size()));
    }
    const arith::Values values = scalar_values(*program_, call.scalars);
    for (size_t i = 0; i < program_->params.size(); ++i) {
      const Param& param = program_->params[i];
      if (param.mode != AccessMode::kOut) check_tensor(param, tensors.at(call.before[i]), values);
      if (param.mode != AccessMode::kIn) check_tensor(param, tensors.at(call.after[i]), values);
    }
  }

 private:
  [[noreturn]] void wrong(const std::string& message, const std::string& expected,
                          const std::string& found) const {
    throw_user(message, where_, expected, found, "carve the suite again");
  }

  // What a spec calls beside operators are tensor programs, and never its own implementation.
  bool calls_programs(const relax::Function& spec) const {
    for (const std::string& name : passes::programs_of(spec)) {
      const auto* called = tir::as_prim_func(module_.find(name));
      if (!called || called->attrs.contains(passes::kSpecAttr)) return false;
    }
    return true;
  }

  void check_signature() const {
    if (program_->params.size() != kernel_.params.size()) {
      wrong("the signature of a kernel does not fit its spec",
            std::to_string(program_->params.size()) + " parameters",
            std::to_string(kernel_.params.size()));
    }
    bool writes = false;
    for (size_t i = 0; i < kernel_.params.size(); ++i) {
      AccessMode mode = program_->params[i].mode;
      bool known =
          mode == AccessMode::kIn || mode == AccessMode::kOut || mode == AccessMode::kInOut;
      if (!known || mode != kernel_.modes[i]) {
        wrong("the signature of a kernel does not fit its spec",
              kernel_.params[i] + " of mode " + access_mode_name(mode),
              access_mode_name(kernel_.modes[i]));
      }
      writes |= mode != AccessMode::kIn;
    }
    if (!writes) wrong("a kernel writes nothing", "an out or inout parameter", "");
  }

  static bool fits(const Annotation& annotation, const tir::Buffer& buffer) {
    const auto* tensor = relax::as_tensor(annotation);
    return tensor && tensor->shape && tensor->shape->size() == buffer->shape.size() &&
           tensor->dtype == buffer->dtype;
  }

  // Arguments and results of the spec are the program's parameters, each once.
  void check_results(const relax::Function& spec) const {
    std::vector<const Param*> read, fresh;
    for (const Param& param : program_->params) {
      (param.mode == AccessMode::kOut ? fresh : read).push_back(&param);
    }
    bool good = spec.params.size() >= read.size() && spec.params.size() <= read.size() + 1;
    for (size_t i = 0; good && i < read.size(); ++i) {
      good = fits(spec.params[i]->annotation, read[i]->buffer);
    }
    if (good && spec.params.size() > read.size()) {
      good = relax::as_shape(spec.params.back()->annotation) != nullptr;
    }
    std::vector<Annotation> results = {spec.result};
    if (const auto* tuple = relax::as_tuple(spec.result)) results = tuple->fields;
    const auto* inout = find_attr<std::vector<int64_t>>(spec.attrs, passes::kInoutAttr);
    std::set<const Param*> written;
    size_t next = 0;
    for (size_t j = 0; good && j < results.size(); ++j) {
      int64_t source = inout && j < inout->size() ? (*inout)[j] : -1;
      const Param* param = nullptr;
      if (source < 0) {
        param = next < fresh.size() ? fresh[next++] : nullptr;
      } else if (source < static_cast<int64_t>(read.size()) &&
                 read[static_cast<size_t>(source)]->mode == AccessMode::kInOut) {
        param = read[static_cast<size_t>(source)];
      }
      good = param && fits(results[j], param->buffer) && written.insert(param).second;
    }
    for (const Param& param : program_->params) {
      good = good && (param.mode == AccessMode::kIn) != written.contains(&param);
    }
    if (!good) wrong("the spec of a kernel does not fit its implementation", "", "");
  }

  void check_tensor(const Param& param, const HostTensor& tensor,
                    const arith::Values& values) const {
    const std::optional<Shape> shape = parameter_shape(param, values);
    if (!shape) wrong("a dimension of " + param.buffer->name + " has no value", "0 or more", "");
    if (tensor.dtype() == param.buffer->dtype && tensor.shape() == *shape) return;
    wrong("a carved tensor does not fit parameter " + param.buffer->name,
          std::string(dtype_name(param.buffer->dtype)) + shape_to_string(*shape),
          std::string(dtype_name(tensor.dtype())) + shape_to_string(tensor.shape()));
  }

  const SuiteKernel& kernel_;
  std::string where_;
  Module module_;
  const tir::PrimFunc* program_ = nullptr;
};

}  // namespace

Status check_suite(const Suite& suite, const std::string& file) {
  return guard([&] {
    std::set<std::string> names;
    std::vector<KernelCheck> checks;
    for (const SuiteKernel& kernel : suite.kernels) {
      if (!names.insert(kernel.name).second) {
        throw_user("two kernels of a suite have one name", file, "", kernel.name);
      }
      checks.emplace_back(kernel, file).run();
    }
    for (const SuiteCall& call : suite.calls) {
      checks[static_cast<size_t>(call.kernel)].check_call(call, suite.tensors);
    }
  });
}

}  // namespace tapml::topdown
