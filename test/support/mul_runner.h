// Test support: runs a MulProblem and judges the result.
//
// Builds the problem's buffers between guard pages and knows what is right:
// ReferenceMul for integers, a wider type for floats.
#ifndef RUY_LIKE_TEST_SUPPORT_MUL_RUNNER_H_
#define RUY_LIKE_TEST_SUPPORT_MUL_RUNNER_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "ruy_like/context.h"
#include "test/support/mul_problem.h"
#include "test/support/typed_mul.h"

namespace ruy_like {

class MulRunner final {
 public:
  explicit MulRunner(const MulProblem& problem);
  ~MulRunner();
  MulRunner(const MulRunner&) = delete;
  MulRunner& operator=(const MulRunner&) = delete;

  // Runs Mul with fresh garbage in dst. Success if it returns OK, dst holds
  // what ReferenceMul gives, bit for bit (floats: what a wider type gives,
  // within the error bound of a sum of `depth` terms in any order), and nothing
  // else has changed: gaps, slack, operands.
  testing::AssertionResult Check(Context* context);

  // The same with another way to the product than Mul's templates.
  using MulFn = std::function<absl::Status(const Call& call)>;
  testing::AssertionResult CheckBy(const MulFn& mul);

  // dst as Check left it: all of its span, gaps included. Of an element the
  // lowest byte comes first, whatever the byte order of the machine.
  std::vector<char> DstBytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The whole of it, for a single use. Runs on the problem's number of threads;
// leaves nothing in the prepacked cache.
testing::AssertionResult CheckProblem(const MulProblem& problem,
                                      Context* context);

// Sets of orders, as SetOrders has them: MakeProblem's, this one and that of a
// row-major dst, all.
inline const std::vector<int> kPlainOrders = {1}, kOrdersOfDst = {1, 5},
                              kAllOrders = {0, 1, 2, 3, 4, 5, 6, 7};

// True if every path leaves the problem to the portable one, as it does
// doubles.
inline bool IsPortables(const MulProblem& p) {
  return FamilyOf(p.lhs.scalar, p.rhs.scalar, p.accum, p.dst.scalar) ==
         Family::kF64;
}

// CheckProblem for each of the types, in each of the orders and of each shape,
// after change(&problem, count), which counts from 1 on; where another path
// than the portable one is permitted, for one in seven of the problems that are
// left to that. Ends at the first that is wrong, with a fatal failure.
template <typename Change>
void CheckEach(const std::vector<Types>& types, const std::vector<int>& orders,
               const std::vector<Shape>& shapes, Context* context,
               const Change& change) {
  int count = 0;
  for (const Types& one : types) {
    for (const int bits : orders) {
      for (const Shape& shape : shapes) {
        MulProblem problem = MakeProblem(one, shape);
        SetOrders(bits, &problem);
        change(&problem, ++count);
        if (IsPortables(problem) && count % 7 != 0 &&
            context->runtime_enabled_paths() != Path::kPortable) {
          continue;
        }
        ASSERT_TRUE(CheckProblem(problem, context));
      }
    }
  }
}

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_MUL_RUNNER_H_
