// ruy_like::quantize, public: the whole quantization toolkit in one header.
//
//   QuantParams, ChooseSymmetric, ChooseAffine             quant_params.h
//   Quantize, Dequantize, per row and column; DequantizeAcc
//                                                   quantize_dequantize.h
#ifndef RUY_LIKE_QUANTIZE_QUANTIZE_H_
#define RUY_LIKE_QUANTIZE_QUANTIZE_H_

#include "ruy_like/quantize/quant_params.h"
#include "ruy_like/quantize/quantize_dequantize.h"

#endif  // RUY_LIKE_QUANTIZE_QUANTIZE_H_
