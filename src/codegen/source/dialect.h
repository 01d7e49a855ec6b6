// The differences between the C-like languages of kernels. The emitter (emitter.h) does everything
// else.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/lower/device_func.h"
#include "target/target.h"
#include "tir/subgroup.h"

namespace tapml::codegen {

// Whether a language has subgroup operations of a given width.
enum class Subgroups : uint8_t {
  kNone,
  kThere,
  kPerhaps,  // only the device's compiler and the running kernel know
};

// Operations on vectors of four elements (vector_type) that + - * / do not cover, and on masks of
// four truth values.
class VectorOperations {
 public:
  virtual ~VectorOperations() = default;
  virtual std::string splat(const std::string& type, const std::string& value) const {
    return type + "(" + value + ")";
  }
  virtual std::string splat_mask(const std::string& condition) const = 0;
  virtual std::string make_mask(const std::vector<std::string>& conditions) const = 0;
  // kEq, kNe, kLt or kLe.
  virtual std::string vector_compare(ExprKind kind, const std::string& a,
                                     const std::string& b) const {
    const char* op = kind == ExprKind::kEq   ? " == "
                     : kind == ExprKind::kNe ? " != "
                     : kind == ExprKind::kLt ? " < "
                                             : " <= ";
    return "(" + a + op + b + ")";
  }
  // kAnd or kOr, on masks.
  virtual std::string vector_logic(ExprKind kind, const std::string& a,
                                   const std::string& b) const {
    return "(" + a + (kind == ExprKind::kAnd ? " & " : " | ") + b + ")";
  }
  virtual std::string vector_not(const std::string& mask) const = 0;
  // a where the mask is set, otherwise b.
  virtual std::string vector_select(const std::string& mask, const std::string& a,
                                    const std::string& b) const {
    return "select(" + b + ", " + a + ", " + mask + ")";
  }
  // Dialect::hidden() for a vector.
  virtual std::string vector_hidden(const std::string& text) const { return text; }
};

// What a function calls its parts; names are unique.
struct KernelNames {
  std::vector<std::string> buffers, scalars;
  std::string item;
  std::vector<std::string> shared;        // what shared_declaration() returned
  std::vector<std::string> sized_shared;  // what sized_shared() returned, in order
  // How many elements of each buffer are accessed at once, 4 or 8; otherwise 0 (vector_access.h).
  std::vector<int> vectors;
};

// The head of a loop, and a statement at the start of its body (may be empty).
struct LoopText {
  std::string head;
  std::string first;
};

class Dialect {
 public:
  virtual ~Dialect() = default;

  // Whether names must avoid GLSL's keywords, for with_plain_names() (readable.h).
  virtual bool keeps_words_of_glsl() const { return false; }
  // Text before the first function of a file: extensions, and helpers called by `functions`.
  virtual std::string prelude(const std::string& functions) const = 0;
  // Type of a value in a register. f16 and bf16 are held in f32, rounded after every step. Where a
  // device computes f16 itself, a step is f32 values as f16, one operation, and back to f32:
  // drivers' compilers remove the conversions between two such steps.
  virtual std::string type_name(DType dtype) const = 0;
  virtual std::string int_literal(int64_t value, DType dtype) const = 0;
  virtual std::string float_literal(double value, DType dtype) const = 0;

  // Opens the function up to and including its loop over items.
  virtual std::string begin_kernel(const DeviceFunc& function, const KernelNames& names) const = 0;
  virtual std::string end_kernel() const = 0;

  // Access to a parameter: a pointer in some languages, an indexed binding in others.
  virtual std::string load(const std::string& buffer, const std::string& index,
                           DType dtype) const = 0;
  virtual std::string store(const std::string& buffer, const std::string& index, DType dtype,
                            const std::string& value) const = 0;
  // Loads or stores four 32-bit elements starting at element 4 * `index`; `type` is the type of a
  // value that holds them, with components "x" to "w".
  virtual std::string vector_type(DType dtype) const = 0;
  virtual std::string load_vector(const std::string& buffer, const std::string& index,
                                  DType dtype) const = 0;
  // Whether 16-bit floats can be loaded by fours or eights and stored by fours: a value that holds
  // them, starting at element 8 * `index`, its type, and its first or second four as a vector.
  virtual bool has_narrow_vectors() const { return false; }
  virtual std::string eight_type() const { return {}; }
  virtual std::string half_of_eight(const std::string& eight, bool second, DType dtype) const {
    static_cast<void>(second);
    static_cast<void>(dtype);
    return eight;
  }
  // `value`: four f32 for a buffer of 16-bit floats, which it rounds to nearest.
  virtual std::string store_vector(const std::string& buffer, const std::string& index, DType dtype,
                                   const std::string& value) const = 0;
  virtual std::string make_vector(const std::string& type,
                                  const std::vector<std::string>& parts) const {
    return type + "(" + parts[0] + ", " + parts[1] + ", " + parts[2] + ", " + parts[3] + ")";
  }
  // Null if vectors are only loaded, constructed and stored.
  virtual const VectorOperations* vectors() const { return nullptr; }
  // A store in a loop at a data-dependent index: several stores may hit one element, in order.
  virtual std::string ordered_store(const std::string& buffer, const std::string& index,
                                    DType dtype, const std::string& value) const {
    return store(buffer, index, dtype, value);
  }

  // A value that does not change.
  virtual std::string definition(const std::string& type, const std::string& name,
                                 const std::string& value) const {
    return "const " + type + " " + name + " = " + value + ";";
  }
  // The declaration of a variable, without its semicolon.
  virtual std::string variable(const std::string& type, const std::string& name) const {
    return type + " " + name;
  }
  // The head of a loop in which `var` counts from `first` to below `end`; step "" is 1.
  virtual std::string counting(const std::string& type, const std::string& var,
                               const std::string& first, const std::string& end,
                               const std::string& step) const {
    return "for (" + type + " " + var + " = " + first + "; " + var + " < " + end + "; " +
           (step.empty() ? "++" + var : var + " += " + step) + ")";
  }

  // A statement that adds to a sum that may be reordered.
  virtual std::string free_order(const std::string& statement) const { return statement; }

  // Memory private to one invocation or shared by one work group.
  virtual std::string local_declaration(const std::string& name, DType dtype,
                                        int64_t elements) const;
  virtual std::string shared_declaration(const std::string& name, DType dtype,
                                         int64_t elements) const = 0;
  // The `number`th shared buffer whose size the launcher gives.
  virtual std::string sized_shared(const std::string& name, DType dtype, size_t number) const = 0;
  // The loop of a group over [0, end) in dimension 1 or 2 of the grid; `index` is the type of
  // `var`.
  virtual LoopText group_loop(const std::string& var, const std::string& end, int dimension,
                              DType index) const = 0;
  virtual std::string barrier() const = 0;
  // The same value (i32 or bool), which all threads of a group have read from memory alike, for a
  // language that allows barriers only where its compilers see that.
  virtual std::string uniform(const std::string& text, DType dtype) const {
    static_cast<void>(dtype);
    return text;
  }
  // In [0, threads of the group). `subgroup_width`: width if the function uses subgroup operations,
  // otherwise 0; adjacent threads are then in one subgroup, in lane order.
  virtual std::string thread_index(int64_t subgroup_width) const = 0;
  virtual Subgroups subgroups(int64_t width) const {
    static_cast<void>(width);
    return Subgroups::kNone;
  }
  // Applies the operation to `value`; called for every language, used only if supported.
  virtual std::string subgroup(const tir::SubgroupCall& call, const std::string& value) const {
    static_cast<void>(call);
    return value;
  }
  // The condition for kPerhaps, uniform across the group.
  virtual std::string in_subgroups(int64_t width) const {
    static_cast<void>(width);
    return {};
  }
  // `thread` in a loop with barriers, written in terms of the loop's variable. Some compilers hoist
  // branches on the thread out of such loops; their language makes it look different in every
  // iteration.
  virtual std::string thread_in_turn(const std::string& thread, const std::string& turn) const {
    static_cast<void>(turn);
    return thread;
  }

  // Whether conditional() computes both values: those that read memory are then chosen by
  // statements.
  virtual bool computes_both() const { return false; }
  // a where the condition holds, otherwise b.
  virtual std::string conditional(const std::string& condition, const std::string& a,
                                  const std::string& b) const {
    return "(" + condition + " ? " + a + " : " + b + ")";
  }
  // a op b for an operator that the language has with the meaning of docs/semantics.md.
  virtual std::string infix(const std::string& a, const char* op, const std::string& b,
                            DType dtype) const {
    static_cast<void>(dtype);
    return "(" + a + " " + op + " " + b + ")";
  }
  // A comparison as infix(), without parentheses.
  virtual std::string compare(const std::string& a, const char* op, const std::string& b,
                              DType dtype) const {
    static_cast<void>(dtype);
    return a + " " + op + " " + b;
  }
  // Whether the float in variable `name` is NaN.
  virtual std::string is_nan(const std::string& name) const { return name + " != " + name; }
  // The low bits of an integer expression as a value of `dtype`, a type that the language computes
  // in a wider type (or leaves undefined on overflow).
  virtual std::string wrapped(const std::string& text, DType dtype) const = 0;
  // a op b for +, - and *, on wrapping integers.
  virtual std::string wrapping(const std::string& a, const char* op, const std::string& b,
                               DType dtype) const = 0;
  // a << n or a >> n (arithmetic for signed types) for 0 <= n < width.
  virtual std::string shift(const std::string& a, const std::string& n, DType dtype,
                            bool left) const = 0;
  // 0 <= n < width.
  virtual std::string shift_fits(const std::string& n, DType dtype) const = 0;
  // a * b + c of f32 or f64, rounded twice or once.
  virtual std::string multiply_add(const std::string& a, const std::string& b, const std::string& c,
                                   DType dtype) const;
  // Remainder of division toward zero; the divisor is neither 0 nor -1.
  virtual std::string remainder(const std::string& a, const std::string& b, DType dtype) const = 0;
  // The same value as an operand of arithmetic that might be a zero visible to the language's
  // compilers. If they then deviate from IEEE 754, hides it from them.
  virtual std::string hidden(const std::string& text, DType dtype) const {
    static_cast<void>(dtype);
    return text;
  }
  // Value of `text` (of `from`) as `to`; floats to integers saturate, NaN gives 0.
  virtual std::string convert(const std::string& text, DType from, DType to) const = 0;
  // Same bits.
  virtual std::string reinterpret(const std::string& text, DType from, DType to) const = 0;
  // Calls an intrinsic (ir/intrinsics.h) that a single function of the language computes.
  virtual std::string intrinsic(const std::string& name, const std::vector<std::string>& args,
                                DType dtype) const = 0;
  // Rounds an f32 register to the nearest value of f16 or bf16.
  virtual std::string round_narrow(const std::string& text, DType dtype) const = 0;
  // Whether narrow_infix() has the device's f16 arithmetic.
  virtual bool computes_f16() const { return false; }
  // + - * or / of f16 or bf16. f32 has more than twice the bits of f16, so rounding an f32 result
  // again gives what f16 arithmetic gives.
  virtual std::string narrow_infix(const std::string& a, const char* op, const std::string& b,
                                   DType dtype) const {
    return round_narrow(infix(a, op, b, dtype), dtype);
  }
};

const Dialect& opencl_c_dialect();
// With the device's f16 arithmetic if the description has it.
const Dialect& opencl_c_dialect(const target::Description& target);
// For CPUs, without work groups. Portable math may remain as calls to the C library.
const Dialect& host_c_dialect();
// For the features in the description: 8-bit and 16-bit storage (otherwise narrow loads extract
// fields of words, and narrow stores update words atomically), and arithmetic in f16 and in 64
// bits. PlatformError (kLimit) if a function needs more.
std::unique_ptr<const Dialect> glsl_dialect(const target::Description& target);
// Integers of 64 bits are pairs of words; narrow loads extract fields of words. PlatformError
// (kLimit) for f64.
std::unique_ptr<const Dialect> wgsl_dialect(const target::Description& target);

}  // namespace tapml::codegen
