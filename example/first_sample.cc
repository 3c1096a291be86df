#include <iostream>

#include "ruy_like/ruy_like.h"

int main() {
  const float x[] = {1, 2, 3, 4, 5, 6}, w[] = {1, 0, 0, 1, 1, 1};
  float y[4];
  auto dst = ruy_like::RowMajor(y, 2, 2);
  ruy_like::Context context;
  const absl::Status status =
      Mul(ruy_like::RowMajor(x, 2, 3), ruy_like::RowMajor(w, 3, 2),
          ruy_like::MulParams<float, float>(), &context, &dst);
  std::cout << status << "\n" << dst;
}
