// expect: 66311 rows: take fewer, or a policy with zp::attention_products::float32
#include <zeropoint/layer/attention.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr int most_rows = 66312;
#else
constexpr int most_rows = 16;
#endif

constexpr int outputs = zp::multi_head_attention<8, 2, most_rows>::outputs;
