// ruy_like::quantize, public: the whole quantization toolkit in one header.
//
//   QuantParams, ChooseSymmetric, ChooseAffine             quant_params.h
//   QuantizeMultiplier, SetMultipliers                     multiplier.h
//   Quantize, Dequantize, per row and column; DequantizeAcc
//                                                   quantize_dequantize.h
//   Observer: calibration                                  observer.h
//   thresholds of a histogram                              thresholds.h
#ifndef RUY_LIKE_QUANTIZE_QUANTIZE_H_
#define RUY_LIKE_QUANTIZE_QUANTIZE_H_

#include "ruy_like/quantize/multiplier.h"
#include "ruy_like/quantize/observer.h"
#include "ruy_like/quantize/quant_params.h"
#include "ruy_like/quantize/quantize_dequantize.h"
#include "ruy_like/quantize/thresholds.h"

#endif  // RUY_LIKE_QUANTIZE_QUANTIZE_H_
