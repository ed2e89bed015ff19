// SPDX-License-Identifier: BSD-3-Clause
// The layers beyond those of composition.hpp: sums, products and comparisons of two activations, reductions, norms, softmax,
// what moves values. A header of its own, because zeropoint.hpp compiles a quarter faster without them.
#pragma once

#include <zeropoint/operators/argmax.hpp>
#include <zeropoint/operators/attention.hpp>
#include <zeropoint/operators/causal_attention.hpp>
#include <zeropoint/operators/causal_conv1d.hpp>
#include <zeropoint/operators/batch_space.hpp>
#include <zeropoint/operators/binary.hpp>
#include <zeropoint/operators/compare.hpp>
#include <zeropoint/operators/constant.hpp>
#include <zeropoint/operators/decoder_layer.hpp>
#include <zeropoint/operators/embedding.hpp>
#include <zeropoint/operators/embedding_bag.hpp>
#include <zeropoint/operators/full_like.hpp>
#include <zeropoint/operators/gather.hpp>
#include <zeropoint/operators/gather_nd.hpp>
#include <zeropoint/operators/group_norm.hpp>
#include <zeropoint/operators/interpolate.hpp>
#include <zeropoint/operators/l2_normalization.hpp>
#include <zeropoint/operators/layer_norm.hpp>
#include <zeropoint/operators/lstm.hpp>
#include <zeropoint/operators/masked_softmax.hpp>
#include <zeropoint/operators/matmul.hpp>
#include <zeropoint/operators/mul_scalar.hpp>
#include <zeropoint/operators/normalize.hpp>
#include <zeropoint/operators/pad.hpp>
#include <zeropoint/operators/permute.hpp>
#include <zeropoint/operators/prelu.hpp>
#include <zeropoint/operators/rearrange.hpp>
#include <zeropoint/operators/reduce.hpp>
#include <zeropoint/operators/requantize.hpp>
#include <zeropoint/operators/reshape.hpp>
#include <zeropoint/operators/rms_norm.hpp>
#include <zeropoint/operators/shuffle.hpp>
#include <zeropoint/operators/slice.hpp>
#include <zeropoint/operators/softmax.hpp>
#include <zeropoint/operators/squeeze_excite.hpp>
#include <zeropoint/operators/sum.hpp>
#include <zeropoint/operators/svdf.hpp>
#include <zeropoint/operators/topk.hpp>
#include <zeropoint/operators/unfused_batch_norm.hpp>
#include <zeropoint/operators/variance.hpp>
#include <zeropoint/operators/volume_pooling.hpp>
#include <zeropoint/operators/where.hpp>

#if defined(ZEROPOINT_COMPILED)
#include <zeropoint/compiled/sequences.hpp>
#endif
