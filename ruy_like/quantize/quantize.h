// ruy_like::quantize, public: the whole quantization toolkit in one header.
//
//   QuantParams, ChooseSymmetric, ChooseAffine             quant_params.h
//   QuantizeMultiplier, SetMultipliers                     multiplier.h
//   Quantize, Dequantize, per row and column; DequantizeAcc
//                                                   quantize_dequantize.h
//   Observer: calibration                                  observer.h
//   thresholds of a histogram                              thresholds.h
//   QuantizedAdd8p8To32, QuantizedAdd8p8To8                quantized_add.h
//   Requantize: int32 to 8 or 16 bits                      requantize.h
#ifndef RUY_LIKE_QUANTIZE_QUANTIZE_H_
#define RUY_LIKE_QUANTIZE_QUANTIZE_H_

#include "ruy_like/quantize/multiplier.h"
#include "ruy_like/quantize/observer.h"
#include "ruy_like/quantize/quant_params.h"
#include "ruy_like/quantize/quantize_dequantize.h"
#include "ruy_like/quantize/quantized_add.h"
#include "ruy_like/quantize/requantize.h"
#include "ruy_like/quantize/thresholds.h"

#endif  // RUY_LIKE_QUANTIZE_QUANTIZE_H_
