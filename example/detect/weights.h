// The float weights of a network as the npm package stores them: 8 bits each
// with a scale and an offset per tensor, or floats.
#ifndef RUY_LIKE_EXAMPLE_DETECT_WEIGHTS_H_
#define RUY_LIKE_EXAMPLE_DETECT_WEIGHTS_H_

#include <map>
#include <string>
#include <vector>

namespace detect {

// By name.
using Weights = std::map<std::string, std::vector<float>>;

// From <folder>/model/<network>_model*. False with a message, also where the
// listed tensors do not use all bytes.
bool LoadWeights(const std::string& folder, const std::string& network,
                 Weights* weights, std::string* error);

}  // namespace detect

#endif  // RUY_LIKE_EXAMPLE_DETECT_WEIGHTS_H_
