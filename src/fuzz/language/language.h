// Random programs with every construct of the graph language: functions of the module, closures,
// loops, ifs, tuples, shape and prim values, match_casts, data-dependent sizes, packed calls,
// hand-written tensor programs, storage, calls of the operator table, and patterns for them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "interp/interpreter.h"
#include "ir/module.h"
#include "op/operator.h"
#include "relax/expr.h"

namespace tapml::fuzz {

struct RandomLanguageProgram {
  Module module;
  std::vector<interp::Value> arguments;  // for main, which runs without an error with these
};

struct LanguageOptions {
  bool packed = true;   // calls of extern "test.double"
  bool storage = true;  // copy, views, writes
};

// Grows functions binding by binding. Every value has a type with concrete extents, those for the
// arguments of the program; in half of the programs the extents are symbolic.
class LanguageGenerator {
 public:
  explicit LanguageGenerator(uint64_t seed, LanguageOptions options = {});
  // About `size` bindings in each function.
  RandomLanguageProgram make(int size);

 private:
  enum class Kind : uint8_t { kTensor, kShape, kPrim, kTuple, kFunction };
  // A tensor's elements in that run; null if they are unknown in advance.
  using Elements = std::shared_ptr<const op::RefTensor>;
  // The type of a value in the run with these arguments.
  struct Type {
    Kind kind = Kind::kTensor;
    DType dtype = DType::kF32;  // kTensor, kPrim
    std::vector<int64_t> dims;  // kTensor, kShape; the value of a kPrim
    std::vector<Type> fields;   // kTuple; for a kFunction the parameters, then the result
    bool pure = true;           // kFunction
    bool operator==(const Type&) const = default;
  };
  struct Known {
    relax::Expr value;
    std::optional<Type> type;  // none: data-dependent
    bool given = false;        // a parameter or a constant, with the same bits everywhere
    Elements elements = nullptr;
  };
  // A tensor that may be written.
  struct Written {
    relax::Expr tensor;
    Type type;
    bool compact = true;  // certainly
  };
  // Visible symbolic variables, by value.
  using Names = std::map<int64_t, Var>;
  struct Scope {
    std::vector<Known> values;
    Names names;
    std::vector<relax::Block> blocks;
    bool dataflow = false;
    bool pure = true;
    bool growable = false;      // parameters may be added
    std::vector<Known> hidden;  // of the dataflow block, invisible after it
    std::vector<Written> written;
    std::vector<relax::Variable>* params = nullptr;
    std::vector<interp::Value>* arguments = nullptr;  // of main
  };

  uint32_t below(size_t bound) { return rng_.below(static_cast<uint32_t>(bound)); }
  bool chance(double probability) { return rng_.chance(probability); }
  std::string fresh(const std::string& hint) { return hint + std::to_string(++names_); }

  Type random_type(int depth, bool functions);
  std::vector<int64_t> random_dims(size_t most);
  static bool is_small(const std::vector<int64_t>& dims);
  // With `bind`, dimensions bind new variables where they have none.
  PrimExpr dim(int64_t extent, Scope& scope, bool bind);
  // A host scalar, which may be negative.
  PrimExpr scalar(int64_t value, Scope& scope, bool bind);
  // An index of unknown sign that uses one of the scope's variables, if it has one.
  PrimExpr index(const Scope& scope);
  Dims dims_of(const std::vector<int64_t>& extents, Scope& scope, bool bind);
  relax::Annotation annotate(const Type& type, Scope& scope, bool bind);
  // The same for a parameter or a cast, sometimes less precise.
  relax::Annotation loosely(const Type& type, Scope& scope);
  // The same annotation, less precise in places.
  relax::Annotation coarser(const relax::Annotation& annotation);
  interp::Value argument(const Type& type);
  // Adds a parameter to `scope`'s function, with an argument if it is main.
  void give(Scope& scope, const relax::Variable& param, const Type& type);

  relax::Variable bind(Scope& scope, relax::Expr value, const std::string& hint,
                       relax::Annotation match_cast = nullptr);
  void keep(Scope& scope, relax::Expr value, std::optional<Type> type, bool given = false);
  // The type that an annotation describes; none if it is incomplete.
  std::optional<Type> type_of(const relax::Annotation& annotation);
  // A value of that type from the scope, or a new one. Null if there is none.
  relax::Expr value_of(const Type& type, Scope& scope, bool fresh_one = false);
  relax::Expr constant(const Type& type);
  relax::Expr condition(Scope& scope);

  void grow(Scope& scope, int depth);
  bool grow_once(Scope& scope, int depth);
  bool call_operator(Scope& scope);
  bool call_function(Scope& scope);
  bool call_value(Scope& scope);
  bool make_tuple(Scope& scope);
  bool take_field(Scope& scope);
  bool cast(Scope& scope);
  bool branch(Scope& scope, int depth);
  bool lambda(Scope& scope, int depth);
  bool loop(Scope& scope, int depth);
  bool packed(Scope& scope);
  bool program(Scope& scope);
  bool cut(Scope& scope);
  void take_turn(const PrimExpr& counter, Scope& scope);
  bool write(Scope& scope);
  std::optional<Written> view(const Written& of, Scope& scope);
  bool depends_on_data(Scope& scope);
  bool find_nonzero(Scope& scope);
  bool find_distinct(Scope& scope);
  bool find_unknown(Scope& scope);
  Elements known_elements(Scope& scope, relax::Expr& value);
  relax::Variable cast_found(const relax::Expr& found, const Type& type, Scope& scope);
  void toggle_dataflow(Scope& scope);

  // A scope inside another.
  Scope inner(const Scope& outer) const;
  // Grows `scope` and closes it with a result of the type, or of a type that it chooses.
  relax::Expr close(Scope& scope, const relax::Expr& result);
  relax::FunctionRef function(const std::vector<Type>& params, const std::optional<Type>& result,
                              Scope scope, int size, int depth, Type& type,
                              std::vector<interp::Value>* arguments);
  void add_recursive();
  void add_library();

  RandomStream rng_;
  LanguageOptions options_;
  bool symbolic_ = true;
  bool writes_parameters_ = false;  // functions may write to their parameters
  std::vector<int64_t> extents_;
  Module module_;
  std::map<std::string, Type> functions_;      // callable functions
  std::map<const ExprNode*, int64_t> values_;  // of all symbolic variables
  Var symbol(const std::string& hint, int64_t value);
  int names_ = 0;
};

}  // namespace tapml::fuzz
