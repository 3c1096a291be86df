// Test support: the goldens' random numbers, which any language can make again.
#ifndef RUY_LIKE_TEST_QUANTIZE_LCG_H_
#define RUY_LIKE_TEST_QUANTIZE_LCG_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ruy_like {

// x <- 1664525 x + 1013904223 modulo 2^32.
class Lcg final {
 public:
  explicit Lcg(std::uint32_t seed) : state_(seed) {}
  // In [0, 1).
  double Uniform() {
    state_ = 1664525u * state_ + 1013904223u;
    return (state_ >> 8) * 0x1p-24;
  }
  // Nearly Gaussian, standard deviation 1: twelve uniform ones less 6.
  float Gauss() {
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += Uniform();
    return static_cast<float>(sum - 6);
  }

 private:
  std::uint32_t state_;
};

inline std::vector<float> GaussVector(std::size_t n, std::uint32_t seed) {
  Lcg lcg(seed);
  std::vector<float> values(n);
  for (float& value : values) value = lcg.Gauss();
  return values;
}

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_QUANTIZE_LCG_H_
