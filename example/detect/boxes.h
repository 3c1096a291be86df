// Boxes around faces: what is common to the detectors of this example, and to
// the comparison of their results.
#ifndef RUY_LIKE_EXAMPLE_DETECT_BOXES_H_
#define RUY_LIKE_EXAMPLE_DETECT_BOXES_H_

#include <vector>

namespace detect {

// In pixels of the photograph.
struct Box {
  float score, left, top, right, bottom;
};

// Area shared by area covered (intersection over union).
float Overlap(const Box& a, const Box& b);

// The boxes, best first, without those that overlap a better one by more than
// `most` (non-maximum suppression).
std::vector<Box> Suppress(std::vector<Box> boxes, float most);

// How boxes compare with those of a reference.
struct Agreement {
  // Boxes of the reference without a partner, and boxes without one in the
  // reference. Partners overlap by at least 1/2.
  int missed = 0, extra = 0;
  // The overlap of the reference's other boxes with their best partners: of the
  // worst, 1 where there are none.
  float least = 1;
};
Agreement Compare(const std::vector<Box>& reference,
                  const std::vector<Box>& boxes);

// The largest overlap of one of `boxes` with `box`, 0 without any.
float BestOverlap(const Box& box, const std::vector<Box>& boxes);

}  // namespace detect

#endif  // RUY_LIKE_EXAMPLE_DETECT_BOXES_H_
