// Test support for the fuzzers: an input's bytes as choices.
#ifndef RUY_LIKE_TEST_FUZZ_FUZZ_INPUT_H_
#define RUY_LIKE_TEST_FUZZ_FUZZ_INPUT_H_

#include <cstddef>
#include <cstdint>

namespace ruy_like {

// Bytes from the front, zeros when there are no more.
class FuzzInput final {
 public:
  FuzzInput(const std::uint8_t* data, std::size_t size)
      : data_(data), left_(size) {}

  std::uint8_t Byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  // In [0, end), where end is at most 256.
  int Below(int end) { return Byte() % end; }
  std::uint32_t Word() {
    std::uint32_t word = 0;
    for (int i = 0; i < 4; ++i) word = word << 8 | Byte();
    return word;
  }

  std::size_t left() const { return left_; }
  const std::uint8_t* Rest() const { return data_; }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_FUZZ_FUZZ_INPUT_H_
