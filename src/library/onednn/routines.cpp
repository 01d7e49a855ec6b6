// oneDNN: matrix products with bias and activation, softmax, layer norm, convolution, in f32.
#include "device/cpu/library/adapters.h"
#include "signatures.h"

#if __has_include(<oneapi/dnnl/dnnl.h>)

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "device/cpu/library/product_shape.h"

// The functions of the library that are used.
#define TAPML_ONEDNN_FUNCTIONS(F)               \
  F(dnnl_engine_create)                         \
  F(dnnl_engine_destroy)                        \
  F(dnnl_stream_create)                         \
  F(dnnl_stream_destroy)                        \
  F(dnnl_stream_wait)                           \
  F(dnnl_memory_create)                         \
  F(dnnl_memory_destroy)                        \
  F(dnnl_memory_desc_init_by_strides)           \
  F(dnnl_memory_desc_init_by_tag)               \
  F(dnnl_memory_desc_equal)                     \
  F(dnnl_memory_desc_get_size)                  \
  F(dnnl_matmul_desc_init)                      \
  F(dnnl_softmax_forward_desc_init)             \
  F(dnnl_layer_normalization_forward_desc_init) \
  F(dnnl_dilated_convolution_forward_desc_init) \
  F(dnnl_post_ops_create)                       \
  F(dnnl_post_ops_destroy)                      \
  F(dnnl_post_ops_append_eltwise)               \
  F(dnnl_primitive_attr_create)                 \
  F(dnnl_primitive_attr_destroy)                \
  F(dnnl_primitive_attr_set_post_ops)           \
  F(dnnl_primitive_desc_create)                 \
  F(dnnl_primitive_desc_destroy)                \
  F(dnnl_primitive_desc_query_md)               \
  F(dnnl_reorder_primitive_desc_create)         \
  F(dnnl_primitive_create)                      \
  F(dnnl_primitive_destroy)                     \
  F(dnnl_primitive_execute)

namespace tapml::device {

namespace {

struct Api {
#define F(name) decltype(&::name) name = nullptr;
  TAPML_ONEDNN_FUNCTIONS(F)
#undef F
  void (*set_threads)(int) = nullptr;  // of the library's OpenMP runtime
  const char* failure = nullptr;

  Api() {
    // Its threads must not spin for long next to the device's own.
    setenv("GOMP_SPINCOUNT", "10000", 0);
    void* handle = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      failure = "libdnnl.so.2 cannot be loaded; install the Debian package libdnnl2";
      return;
    }
#define F(name)                                                  \
  name = reinterpret_cast<decltype(name)>(dlsym(handle, #name)); \
  if (!name) failure = "libdnnl.so.2 lacks " #name;
    TAPML_ONEDNN_FUNCTIONS(F)
#undef F
    set_threads = reinterpret_cast<void (*)(int)>(dlsym(handle, "omp_set_num_threads"));
  }
};

const Api& api() {
  static const Api table;
  return table;
}

// A primitive for given sizes: its operands, with reorders for those whose format differs from the
// caller's.
struct Operand {
  int argument = 0;          // DNNL_ARG_...
  int32_t tensor = 0;        // index in the call: inputs, then outputs
  dnnl_memory_desc_t own{};  // the caller's format
  dnnl_memory_desc_t inside{};
  dnnl_primitive_t reorder = nullptr;  // null: the formats are the same
  std::shared_ptr<std::byte[]> room;
};

struct Primitive {
  dnnl_primitive_t primitive = nullptr;
  std::vector<Operand> operands;
  ~Primitive() {
    for (Operand& operand : operands) {
      if (operand.reorder) api().dnnl_primitive_destroy(operand.reorder);
    }
    if (primitive) api().dnnl_primitive_destroy(primitive);
  }
};

struct State {
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;
  std::mutex mutex;
  // By routine, parameters and shapes.
  std::map<std::vector<int64_t>, std::unique_ptr<Primitive>> primitives;

  ~State() {
    primitives.clear();
    if (stream) api().dnnl_stream_destroy(stream);
    if (engine) api().dnnl_engine_destroy(engine);
  }
};

// Beyond this, all are dropped: a dynamic dimension must not fill the memory.
constexpr size_t kMostPrimitives = 512;

void* open_onednn(int32_t, char* message, size_t size) {
  if (api().failure) {
    say(message, size, "%s", api().failure);
    return nullptr;
  }
  auto state = std::make_unique<State>();
  if (api().dnnl_engine_create(&state->engine, dnnl_cpu, 0) != dnnl_success ||
      api().dnnl_stream_create(&state->stream, state->engine, dnnl_stream_default_flags) !=
          dnnl_success) {
    say(message, size, "oneDNN has no engine for this processor");
    return nullptr;
  }
  return state.release();
}

void close_onednn(void* state) { delete static_cast<State*>(state); }

using Shape = std::vector<int64_t>;

dnnl_memory_desc_t describe(const Shape& shape, const Shape& strides) {
  dnnl_memory_desc_t desc{};
  api().dnnl_memory_desc_init_by_strides(&desc, static_cast<int>(shape.size()), shape.data(),
                                         dnnl_f32, strides.data());
  return desc;
}

dnnl_memory_desc_t compact(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) {
    strides[d - 1] = strides[d] * std::max<int64_t>(shape[d], 1);
  }
  return describe(shape, strides);
}

dnnl_memory_desc_t any(const Shape& shape) {
  dnnl_memory_desc_t desc{};
  api().dnnl_memory_desc_init_by_tag(&desc, static_cast<int>(shape.size()), shape.data(), dnnl_f32,
                                     dnnl_format_tag_any);
  return desc;
}

// Activations by number: parameter `activation` of the routines that have one. 0: none.
struct Eltwise {
  dnnl_alg_kind_t kind;
  float alpha;
};
constexpr Eltwise kActivations[] = {{dnnl_alg_kind_undef, 0},   {dnnl_eltwise_relu, 0},
                                    {dnnl_eltwise_gelu_erf, 0}, {dnnl_eltwise_gelu_tanh, 0},
                                    {dnnl_eltwise_swish, 1},    {dnnl_eltwise_logistic, 0},
                                    {dnnl_eltwise_tanh, 0}};

class Routine {
 public:
  explicit Routine(const tapml_library_call& call)
      : call_(call), state_(*static_cast<State*>(call.state)) {}

  const DLTensor& tensor(int32_t i) const {
    return i < call_.input_count ? call_.inputs[i] : call_.outputs[i - call_.input_count];
  }
  int64_t parameter(int32_t i) const { return call_.parameters[i]; }
  int32_t output() const { return call_.input_count; }
  int32_t fail(const char* text) const {
    return say(call_.message, call_.message_size, "%s", text);
  }

  // Adds an operand of the primitive that is being created.
  void add(Primitive& made, int argument, int32_t tensor, const dnnl_memory_desc_t& desc) const {
    made.operands.push_back({argument, tensor, desc, desc, nullptr, nullptr});
  }

  // Creates the primitive of `desc`. `free_formats`: the library chooses the operands' formats
  // (`query` of the argument), and reorders are created as needed.
  bool finish(Primitive& made, const void* desc, int64_t activation, bool free_formats) const {
    dnnl_primitive_attr_t attr = nullptr;
    api().dnnl_primitive_attr_create(&attr);
    if (activation > 0 && activation < static_cast<int64_t>(std::size(kActivations))) {
      const Eltwise& eltwise = kActivations[activation];
      dnnl_post_ops_t ops = nullptr;
      api().dnnl_post_ops_create(&ops);
      api().dnnl_post_ops_append_eltwise(ops, 1.0f, eltwise.kind, eltwise.alpha, 0);
      api().dnnl_primitive_attr_set_post_ops(attr, ops);
      api().dnnl_post_ops_destroy(ops);
    }
    dnnl_primitive_desc_t description = nullptr;
    bool good = api().dnnl_primitive_desc_create(&description, desc, attr, state_.engine,
                                                 nullptr) == dnnl_success;
    good = good && api().dnnl_primitive_create(&made.primitive, description) == dnnl_success;
    for (Operand& operand : made.operands) {
      good = good && (!free_formats || fit(operand, description));
    }
    if (description) api().dnnl_primitive_desc_destroy(description);
    api().dnnl_primitive_attr_destroy(attr);
    return good;
  }

  // Runs the primitive for this call's sizes, which `make` creates on the first such call.
  template <class Make>
  int32_t run(int64_t routine, Make&& make) {
    Shape key = {routine};
    key.insert(key.end(), call_.parameters, call_.parameters + call_.parameter_count);
    for (int32_t i = 0; i < call_.input_count + call_.output_count; ++i) {
      key.push_back(tensor(i).ndim);
      key.insert(key.end(), tensor(i).shape, tensor(i).shape + tensor(i).ndim);
    }
    std::lock_guard lock(state_.mutex);
    if (api().set_threads) api().set_threads(call_.threads);
    std::unique_ptr<Primitive>& known = state_.primitives[key];
    if (!known) {
      auto made = std::make_unique<Primitive>();
      if (!make(*made)) return fail("oneDNN has no primitive for these sizes");
      if (state_.primitives.size() > kMostPrimitives) {
        state_.primitives.clear();
        state_.primitives[key] = std::move(made);
        return execute(*state_.primitives[key]);
      }
      known = std::move(made);
    }
    return execute(*known);
  }

 private:
  // Gets the format that the primitive chose for an operand, and creates the reorder for it.
  bool fit(Operand& operand, const_dnnl_primitive_desc_t description) const {
    dnnl_query_t query = operand.argument == DNNL_ARG_SRC       ? dnnl_query_src_md
                         : operand.argument == DNNL_ARG_WEIGHTS ? dnnl_query_weights_md
                         : operand.argument == DNNL_ARG_DST     ? dnnl_query_dst_md
                                                                : dnnl_query_undef;
    if (query == dnnl_query_undef) return true;
    const dnnl_memory_desc_t* chosen = api().dnnl_primitive_desc_query_md(description, query, 0);
    if (!chosen) return false;
    operand.inside = *chosen;
    if (api().dnnl_memory_desc_equal(chosen, &operand.own)) return true;
    operand.room.reset(new std::byte[api().dnnl_memory_desc_get_size(chosen)]);
    bool out = operand.argument == DNNL_ARG_DST;
    const dnnl_memory_desc_t *from = out ? chosen : &operand.own, *to = out ? &operand.own : chosen;
    dnnl_primitive_desc_t reorder = nullptr;
    bool good = api().dnnl_reorder_primitive_desc_create(&reorder, from, state_.engine, to,
                                                         state_.engine, nullptr) == dnnl_success;
    good = good && api().dnnl_primitive_create(&operand.reorder, reorder) == dnnl_success;
    if (reorder) api().dnnl_primitive_desc_destroy(reorder);
    return good;
  }

  bool move(const Operand& operand, dnnl_memory_t from, dnnl_memory_t to) const {
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    return api().dnnl_primitive_execute(operand.reorder, state_.stream, 2, args) == dnnl_success;
  }

  int32_t execute(const Primitive& primitive) const {
    std::vector<dnnl_exec_arg_t> args;
    std::vector<dnnl_memory_t> memories, outside(primitive.operands.size(), nullptr);
    bool good = true;
    auto memory = [&](const dnnl_memory_desc_t& desc, void* data) {
      dnnl_memory_t made = nullptr;
      good = good && api().dnnl_memory_create(&made, &desc, state_.engine, data) == dnnl_success;
      if (made) memories.push_back(made);
      return made;
    };
    for (size_t i = 0; i < primitive.operands.size(); ++i) {
      const Operand& operand = primitive.operands[i];
      dnnl_memory_t own = memory(operand.own, tensor(operand.tensor).data);
      dnnl_memory_t inside = own;
      if (operand.reorder) {
        inside = memory(operand.inside, operand.room.get());
        outside[i] = own;
        if (good && operand.argument != DNNL_ARG_DST) good = move(operand, own, inside);
      }
      args.push_back({operand.argument, inside});
    }
    good = good &&
           api().dnnl_primitive_execute(primitive.primitive, state_.stream,
                                        static_cast<int>(args.size()), args.data()) == dnnl_success;
    for (size_t i = 0; good && i < primitive.operands.size(); ++i) {
      const Operand& operand = primitive.operands[i];
      if (operand.reorder && operand.argument == DNNL_ARG_DST) {
        good = move(operand, args[i].memory, outside[i]);
      }
    }
    good = api().dnnl_stream_wait(state_.stream) == dnnl_success && good;
    for (dnnl_memory_t one : memories) api().dnnl_memory_destroy(one);
    return good ? 0 : fail("oneDNN failed to run its primitive");
  }

  const tapml_library_call& call_;
  State& state_;
};

bool is_empty(const DLTensor& tensor) {
  for (int32_t d = 0; d < tensor.ndim; ++d) {
    if (tensor.shape[d] == 0) return true;
  }
  return false;
}

// An operand of a product as [batch..., rows, columns], with the rank of the result.
dnnl_memory_desc_t matrix(const DLTensor& tensor, int32_t rank, bool transpose) {
  Shape shape(static_cast<size_t>(rank - tensor.ndim), 1);
  shape.insert(shape.end(), tensor.shape, tensor.shape + tensor.ndim);
  Shape strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) {
    strides[d - 1] = strides[d] * std::max<int64_t>(shape[d], 1);
  }
  if (transpose) {
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  }
  return describe(shape, strides);
}

// Inputs: a, b and, optionally, the bias of the columns. Parameters: transpose_a, transpose_b,
// activation.
int32_t onednn_matmul(const tapml_library_call* call) {
  Routine routine(*call);
  ProductShape p;
  if (call->parameter_count < 3 || !p.read(*call, 2)) {
    return routine.fail("the shapes are not those of a matrix product");
  }
  const DLTensor& c = call->outputs[0];
  if (is_empty(c)) return 0;
  if (p.k == 0) return routine.fail("the reduced dimension is 0");
  return routine.run(1, [&](Primitive& made) {
    const int32_t rank = c.ndim;
    dnnl_memory_desc_t a, b, out;
    if (p.batch == 1) {  // folded into m, or absent
      a = describe({p.m, p.k}, p.transpose_a ? Shape{1, p.m} : Shape{p.k, 1});
      b = describe({p.k, p.n}, p.transpose_b ? Shape{1, p.k} : Shape{p.n, 1});
      out = compact({p.m, p.n});
    } else {
      a = matrix(call->inputs[0], rank, p.transpose_a);
      b = matrix(call->inputs[1], rank, p.transpose_b);
      out = matrix(c, rank, false);
    }
    dnnl_memory_desc_t bias{};
    const bool biased = call->input_count > 2;
    if (biased) {
      Shape shape(static_cast<size_t>(out.ndims), 1);
      shape.back() = p.n;
      bias = compact(shape);
    }
    dnnl_matmul_desc_t desc;
    if (api().dnnl_matmul_desc_init(&desc, &a, &b, biased ? &bias : nullptr, &out) !=
        dnnl_success) {
      return false;
    }
    routine.add(made, DNNL_ARG_SRC, 0, a);
    routine.add(made, DNNL_ARG_WEIGHTS, 1, b);
    if (biased) routine.add(made, DNNL_ARG_BIAS, 2, bias);
    routine.add(made, DNNL_ARG_DST, routine.output(), out);
    return routine.finish(made, &desc, routine.parameter(2), false);
  });
}

// Parameters: axis, which is not negative.
int32_t softmax(const tapml_library_call* call) {
  Routine routine(*call);
  const DLTensor& x = call->inputs[0];
  if (is_empty(x)) return 0;
  const int64_t axis = routine.parameter(0);
  if (axis < 0 || axis >= x.ndim) return routine.fail("the axis is out of range");
  return routine.run(2, [&](Primitive& made) {
    int64_t outer = 1, inner = 1;
    for (int32_t d = 0; d < x.ndim; ++d) (d < axis ? outer : inner) *= d == axis ? 1 : x.shape[d];
    const int64_t n = x.shape[axis];
    dnnl_memory_desc_t data = inner == 1 ? compact({outer, n}) : compact({outer, n, inner});
    dnnl_softmax_desc_t desc;
    if (api().dnnl_softmax_forward_desc_init(&desc, dnnl_forward_inference, &data, 1) !=
        dnnl_success) {
      return false;
    }
    routine.add(made, DNNL_ARG_SRC, 0, data);
    routine.add(made, DNNL_ARG_DST, routine.output(), data);
    return routine.finish(made, &desc, 0, false);
  });
}

// Inputs: x, weight, bias. Parameters: the bits of epsilon as f32.
int32_t layer_norm(const tapml_library_call* call) {
  Routine routine(*call);
  const DLTensor &x = call->inputs[0], &weight = call->inputs[1];
  if (is_empty(x)) return 0;
  return routine.run(3, [&](Primitive& made) {
    int64_t rows = 1, columns = 1;
    for (int32_t d = 0; d < x.ndim; ++d) {
      (d < x.ndim - weight.ndim ? rows : columns) *= x.shape[d];
    }
    dnnl_memory_desc_t data = compact({rows, columns}), scale = compact({columns});
    auto bits = static_cast<uint32_t>(routine.parameter(0));
    float epsilon = 0;
    std::memcpy(&epsilon, &bits, sizeof epsilon);
    dnnl_layer_normalization_desc_t desc;
    if (api().dnnl_layer_normalization_forward_desc_init(
            &desc, dnnl_forward_inference, &data, nullptr, epsilon,
            dnnl_use_scale | dnnl_use_shift) != dnnl_success) {
      return false;
    }
    routine.add(made, DNNL_ARG_SRC, 0, data);
    routine.add(made, DNNL_ARG_SCALE, 1, scale);
    routine.add(made, DNNL_ARG_SHIFT, 2, scale);
    routine.add(made, DNNL_ARG_DST, routine.output(), data);
    return routine.finish(made, &desc, 0, false);
  });
}

// Inputs: x [batch, channels, spatial...], weight [filters, channels / groups, kernel...].
// Parameters: groups, then the strides of all spatial dimensions, then their padding before, their
// padding after, and their dilations.
int32_t convolution(const tapml_library_call* call) {
  Routine routine(*call);
  const DLTensor &x = call->inputs[0], &weight = call->inputs[1], &c = call->outputs[0];
  const int32_t spatial = x.ndim - 2;
  if (spatial < 1 || weight.ndim != x.ndim || c.ndim != x.ndim ||
      call->parameter_count != 1 + 4 * spatial) {
    return routine.fail("the shapes are not those of a convolution");
  }
  const int64_t groups = routine.parameter(0);
  if (groups < 1 || x.shape[1] != groups * weight.shape[1] || weight.shape[0] % groups != 0) {
    return routine.fail("the channels cannot be divided among the groups");
  }
  if (is_empty(c)) return 0;
  if (is_empty(x) || is_empty(weight)) return routine.fail("a tensor of the convolution is empty");
  return routine.run(4, [&](Primitive& made) {
    auto list = [&](int32_t which, int64_t less) {
      Shape values;
      for (int32_t d = 0; d < spatial; ++d) {
        values.push_back(routine.parameter(1 + which * spatial + d) - less);
      }
      return values;
    };
    Shape in(x.shape, x.shape + x.ndim), out(c.shape, c.shape + c.ndim);
    Shape filters(weight.shape, weight.shape + weight.ndim);
    if (groups > 1) {
      filters[0] /= groups;
      filters.insert(filters.begin(), groups);
    }
    dnnl_memory_desc_t a = any(in), b = any(filters), o = any(out);
    const Shape strides = list(0, 0), front = list(1, 0), back = list(2, 0), dilation = list(3, 1);
    dnnl_convolution_desc_t desc;
    if (api().dnnl_dilated_convolution_forward_desc_init(
            &desc, dnnl_forward_inference, dnnl_convolution_direct, &a, &b, nullptr, &o,
            strides.data(), dilation.data(), front.data(), back.data()) != dnnl_success) {
      return false;
    }
    routine.add(made, DNNL_ARG_SRC, 0, compact(in));
    routine.add(made, DNNL_ARG_WEIGHTS, 1, compact(filters));
    routine.add(made, DNNL_ARG_DST, routine.output(), compact(out));
    return routine.finish(made, &desc, 0, true);
  });
}

constexpr tapml_routine kOneDnnRoutines[] = {{"matmul", onednn_matmul, onednn::kMatmul},
                                             {"softmax", softmax, onednn::kSoftmax},
                                             {"layer_norm", layer_norm, onednn::kLayerNorm},
                                             {"convolution", convolution, onednn::kConvolution}};
constexpr tapml_library kOneDnnLibrary = {TAPML_LIBRARY_VERSION, 4,           "onednn",
                                          kOneDnnRoutines,       open_onednn, close_onednn};

}  // namespace

const tapml_library* onednn_library() { return &kOneDnnLibrary; }

}  // namespace tapml::device

#else

namespace tapml::device {

namespace {

void* open_onednn(int32_t, char* message, size_t size) {
  say(message, size, "this tapml was built without oneDNN; install libdnnl-dev and build it again");
  return nullptr;
}

void close_onednn(void*) {}

int32_t absent(const tapml_library_call*) { return 1; }

constexpr tapml_routine kOneDnnRoutines[] = {{"matmul", absent, onednn::kMatmul},
                                             {"softmax", absent, onednn::kSoftmax},
                                             {"layer_norm", absent, onednn::kLayerNorm},
                                             {"convolution", absent, onednn::kConvolution}};
constexpr tapml_library kOneDnnLibrary = {TAPML_LIBRARY_VERSION, 4,           "onednn",
                                          kOneDnnRoutines,       open_onednn, close_onednn};

}  // namespace

const tapml_library* onednn_library() { return &kOneDnnLibrary; }

}  // namespace tapml::device

#endif
