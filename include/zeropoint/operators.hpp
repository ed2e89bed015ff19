// The layers beyond those of composition.hpp: sums, products and comparisons of two activations, reductions, norms, softmax,
// what moves values. A header of its own, because zeropoint.hpp compiles a quarter faster without them.
#pragma once

#include <zeropoint/layer/operators/argmax.hpp>
#include <zeropoint/layer/operators/attention.hpp>
#include <zeropoint/layer/operators/batch_norm.hpp>
#include <zeropoint/layer/operators/batch_space.hpp>
#include <zeropoint/layer/operators/binary.hpp>
#include <zeropoint/layer/operators/compare.hpp>
#include <zeropoint/layer/operators/embedding.hpp>
#include <zeropoint/layer/operators/full_like.hpp>
#include <zeropoint/layer/operators/gather.hpp>
#include <zeropoint/layer/operators/gather_nd.hpp>
#include <zeropoint/layer/operators/group_norm.hpp>
#include <zeropoint/layer/operators/interpolate.hpp>
#include <zeropoint/layer/operators/l2_normalization.hpp>
#include <zeropoint/layer/operators/layer_norm.hpp>
#include <zeropoint/layer/operators/matmul.hpp>
#include <zeropoint/layer/operators/mul_scalar.hpp>
#include <zeropoint/layer/operators/normalize.hpp>
#include <zeropoint/layer/operators/pad.hpp>
#include <zeropoint/layer/operators/permute.hpp>
#include <zeropoint/layer/operators/prelu.hpp>
#include <zeropoint/layer/operators/recurrent.hpp>
#include <zeropoint/layer/operators/reduce.hpp>
#include <zeropoint/layer/operators/requantize.hpp>
#include <zeropoint/layer/operators/reshape.hpp>
#include <zeropoint/layer/operators/shuffle.hpp>
#include <zeropoint/layer/operators/slice.hpp>
#include <zeropoint/layer/operators/softmax.hpp>
#include <zeropoint/layer/operators/sum.hpp>
#include <zeropoint/layer/operators/topk.hpp>
#include <zeropoint/layer/operators/variance.hpp>
#include <zeropoint/layer/operators/volume_pooling.hpp>
#include <zeropoint/layer/operators/where.hpp>
