// Quantization toolkit, public: all of it in one header, with ruy_like.h.
//
// The CMake target is ruy_like::quantize; the names are in namespace ruy_like.
//
//   QuantParams, ChooseSymmetric, ChooseAffine             quant_params.h
//   QuantizeMultiplier, SetMultipliers                     multiplier.h
//   Quantize, Dequantize, per row and column; DequantizeAcc
//                                                   quantize_dequantize.h
//   Observer: calibration                                  observer.h
//   ChannelObserver, MovingAverageObserver          of the same names
//   thresholds of a histogram                              thresholds.h
//   Calibration: saved and loaded, ncnn's tables      calibration_file.h
//   QuantizedAdd8p8To32, QuantizedAdd8p8To8                quantized_add.h
//   QuantizeGroups: 4- and 8-bit weights with group scales
//                                                       quantize_groups.h
//   Requantize: int32 to 8 or 16 bits                      requantize.h
//   QuantizeBias                                           bias.h
//   FoldBatchNorm                                          batch_norm.h
//   EqualizeLayers, CorrectBias        equalization.h, bias_correction.h
//   TensorView, Window, Workspace, PackedWeights           of the same names
//   FullyConnected, Conv2D                  fully_connected.h, conv.h
//   QuantizedLayer: their constants, made once             layer.h
//   MakeConv2D, ...: layers from float weights             make_layer.h
//   DepthwiseConv2D                                        depthwise_conv.h
//   MaxPool2D, AveragePool2D                               pooling.h
//   QuantizedMul, QuantizedAdd        elementwise_mul.h, elementwise_add.h
//   ByteTable: any function; Requantize of 8 bits          byte_table.h
//   Concat                                                 concat.h
//   EqSearch: scales by cosine                             eq_search.h
//   ReportLayer: SNR, clipping, histogram               layer_report.h
#ifndef RUY_LIKE_QUANTIZE_QUANTIZE_H_
#define RUY_LIKE_QUANTIZE_QUANTIZE_H_

#include "ruy_like/quantize/batch_norm.h"
#include "ruy_like/quantize/bias.h"
#include "ruy_like/quantize/bias_correction.h"
#include "ruy_like/quantize/byte_table.h"
#include "ruy_like/quantize/calibration_file.h"
#include "ruy_like/quantize/channel_observer.h"
#include "ruy_like/quantize/concat.h"
#include "ruy_like/quantize/conv.h"
#include "ruy_like/quantize/depthwise_conv.h"
#include "ruy_like/quantize/elementwise_add.h"
#include "ruy_like/quantize/elementwise_mul.h"
#include "ruy_like/quantize/eq_search.h"
#include "ruy_like/quantize/equalization.h"
#include "ruy_like/quantize/fully_connected.h"
#include "ruy_like/quantize/layer.h"
#include "ruy_like/quantize/layer_report.h"
#include "ruy_like/quantize/make_layer.h"
#include "ruy_like/quantize/moving_average_observer.h"
#include "ruy_like/quantize/multiplier.h"
#include "ruy_like/quantize/observer.h"
#include "ruy_like/quantize/packed_weights.h"
#include "ruy_like/quantize/pooling.h"
#include "ruy_like/quantize/quant_params.h"
#include "ruy_like/quantize/quantize_dequantize.h"
#include "ruy_like/quantize/quantize_groups.h"
#include "ruy_like/quantize/quantized_add.h"
#include "ruy_like/quantize/requantize.h"
#include "ruy_like/quantize/tensor.h"
#include "ruy_like/quantize/thresholds.h"
#include "ruy_like/quantize/window.h"
#include "ruy_like/quantize/workspace.h"
#include "ruy_like/ruy_like.h"

#endif  // RUY_LIKE_QUANTIZE_QUANTIZE_H_
