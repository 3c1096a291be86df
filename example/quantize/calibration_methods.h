// Example: all calibration methods, for the programs that compare them.
#ifndef EXAMPLE_QUANTIZE_CALIBRATION_METHODS_H_
#define EXAMPLE_QUANTIZE_CALIBRATION_METHODS_H_

#include "ruy_like/quantize/quantize.h"

inline constexpr ruy_like::CalibrationMethod kCalibrationMethods[] = {
    ruy_like::CalibrationMethod::kMinMax,
    ruy_like::CalibrationMethod::kPercentile,
    ruy_like::CalibrationMethod::kMse,
    ruy_like::CalibrationMethod::kAciqGauss,
    ruy_like::CalibrationMethod::kAciqLaplace,
    ruy_like::CalibrationMethod::kAciqRange,
    ruy_like::CalibrationMethod::kEntropy,
};

#endif  // EXAMPLE_QUANTIZE_CALIBRATION_METHODS_H_
