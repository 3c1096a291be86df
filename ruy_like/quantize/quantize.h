// ruy_like::quantize, public: the whole quantization toolkit in one header.
//
//   QuantParams, ChooseSymmetric, ChooseAffine             quant_params.h
#ifndef RUY_LIKE_QUANTIZE_QUANTIZE_H_
#define RUY_LIKE_QUANTIZE_QUANTIZE_H_

#include "ruy_like/quantize/quant_params.h"

#endif  // RUY_LIKE_QUANTIZE_QUANTIZE_H_
