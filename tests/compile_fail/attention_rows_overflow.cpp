// expect: in int8 attention of more than 66311 rows
#include <zeropoint/layer/transformer_encoder.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr int most_rows = 66312;
#else
constexpr int most_rows = 16;
#endif

constexpr int outputs = zp::multi_head_attention<8, 2, most_rows>::outputs;
