#include "example/detect/boxes.h"

#include <algorithm>

namespace detect {

float Overlap(const Box& a, const Box& b) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (width <= 0 || height <= 0) return 0;
  const float shared = width * height;
  const auto area = [](const Box& box) {
    return (box.right - box.left) * (box.bottom - box.top);
  };
  return shared / (area(a) + area(b) - shared);
}

std::vector<Box> Suppress(std::vector<Box> boxes, float most) {
  std::sort(boxes.begin(), boxes.end(),
            [](const Box& a, const Box& b) { return a.score > b.score; });
  std::vector<Box> kept;
  for (const Box& box : boxes) {
    if (BestOverlap(box, kept) <= most) kept.push_back(box);
  }
  return kept;
}

Agreement Compare(const std::vector<Box>& reference,
                  const std::vector<Box>& boxes) {
  constexpr float kPartner = 0.5f;
  Agreement agreement;
  for (const Box& box : reference) {
    const float best = BestOverlap(box, boxes);
    if (best >= kPartner) {
      agreement.least = std::min(agreement.least, best);
    } else {
      ++agreement.missed;
    }
  }
  for (const Box& box : boxes) {
    if (!(BestOverlap(box, reference) >= kPartner)) ++agreement.extra;
  }
  return agreement;
}

float BestOverlap(const Box& box, const std::vector<Box>& boxes) {
  float best = 0;
  for (const Box& other : boxes) best = std::max(best, Overlap(box, other));
  return best;
}

}  // namespace detect
