// expect: the third argument must be an observer such as zp::min_max_observer
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>

struct net : zp::model<zp::input<8, 8, 3>, zp::conv2d<"stem", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1}>,
                       zp::relu, zp::adaptive_avg_pool2d<1>, zp::flatten, zp::linear<"fc", 10>> {};
#ifdef ZEROPOINT_MUST_FAIL
struct largest {
    static constexpr zp::merge_order order = zp::merge_order::exact_any_order;
    void observe(const zp::observation& seen) {
        ++batches;
        values += seen.values.size();
    }
    std::uint64_t samples() const { return batches; }
    std::uint64_t count() const { return values; }
    zp::observed_range range() const { return {0, 1}; }
    template <class D, class S, class R> std::vector<zp::qparams> calculate_qparams(std::string_view) const {
        return {zp::choose_qparams<D, S, R>(0.0f, 1.0f)};
    }
    std::uint64_t batches = 0, values = 0;
};
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, largest>, zp::default_qconfig::weight> {};
void use() { whole_program<net, config>(); }
#else
struct largest {
    static constexpr zp::merge_order order = zp::merge_order::exact_any_order;
    void observe(const zp::observation& seen) {
        ++batches;
        values += seen.values.size();
    }
    std::uint64_t samples() const { return batches; }
    std::uint64_t count() const { return values; }
    zp::observed_range range() const { return {0, 1}; }
    template <class D, class S, class R> std::vector<zp::qparams> calculate_qparams(std::string_view) const {
        return {zp::choose_qparams<D, S, R>(0.0f, 1.0f)};
    }
    std::uint64_t batches = 0, values = 0;
    void merge(const largest& other) { values += other.values; }
};
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, largest>, zp::default_qconfig::weight> {};
config made;
#endif
