// Random calls of an operator, drawn from its generator: tensor program against reference.
#pragma once

#include "op/generate.h"
#include "op/operator.h"
#include "operator_case.h"

namespace tapml::testing {

// Draws and runs `count` calls for each dtype that the operator lists; at least half of the draws
// must give a call.
inline void expect_random_calls(const char* name, int count,
                                const std::vector<int64_t>& extents = {0, 1, 2, 3, 5, 8}) {
  const op::OperatorInfo* info = op::find_operator(name);
  ASSERT_NE(info, nullptr) << name;
  RandomStream rng(11, name);
  for (DType dtype : info->generator.dtypes) {
    int made = 0;
    for (int i = 0; i < count; ++i) {
      op::GeneratedCall call;
      if (!op::generate_call(*info, dtype, extents, rng, call)) continue;
      ++made;
      OperatorCase test{name, {}, call.attrs};
      std::string shapes;
      for (size_t a = 0; a < call.args.size(); ++a) {
        if (info->args[a].kind == op::ArgumentKind::kTensor) {
          test.args.push_back(op::random_tensor(call.args[a].tensors[0], rng));
          shapes += shape_to_string(call.args[a].tensors[0].shape) + " ";
        } else {
          test.args.push_back(call.args[a].ints);
        }
      }
      SCOPED_TRACE(std::string(name) + " " + dtype_name(dtype) + " " + shapes);
      expect_within_bounds(test);
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_GE(made * 2, count) << name << " " << dtype_name(dtype);
  }
}

}  // namespace tapml::testing
