// SPDX-License-Identifier: BSD-3-Clause
// Keyword spotting from a packed image: the same program on a microcontroller, with its weights in flash, and on the machine that
// builds it. It prints how many words it reads right and a checksum of every output, which is the same on both.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <keyword_image.hpp>  // by zeropoint_embed()

#include "keyword_net.hpp"

#if defined(KEYWORDS_ON_BOARD)
#include "board/board.hpp"
#else
#include "host.hpp"
#endif

namespace {

using model_type = zp::in_place<int8_keyword_net>;
static_assert(keyword_image_bytes == model_type::image_bytes,
              "the image was packed from another network: pack it again");

model_type::workspace memory;
float spectrogram[features], scores[words];

void print_number(const char* what, std::uint32_t number) {
    char text[12];
    char* digit = text + sizeof text;
    *--digit = 0;
    do *--digit = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    board::print(what);
    board::print(digit);
    board::print("\n");
}

int heard() {
    int best = 0;
    for (int word = 1; word != words; ++word)
        if (scores[word] > scores[best]) best = word;
    return best;
}

}  // namespace

int main() {
    const model_type model(keyword_image());
    if (!model || !model.is_intact()) {
        board::print(zp::text_of(model.problem()));
        board::print("\n");
        return 1;
    }
    constexpr std::uint32_t said = 60;
    std::uint32_t right = 0, checksum = 2166136261u;
    for (std::uint32_t number = 0; number != said; ++number) {
        say(number, spectrogram);
        model(spectrogram, scores, memory);
        right += heard() == static_cast<int>(number % words);
        for (const float score : scores) {
            std::uint32_t bits;
            std::memcpy(&bits, &score, sizeof bits);
            for (int byte = 0; byte != 4; ++byte) checksum = (checksum ^ (bits >> 8 * byte & 255)) * 16777619u;
        }
    }
    board::paint_stack();
    board::start_clock();
    model(spectrogram, scores, memory);
    const std::uint32_t ticks = board::ticks();

    print_number("words ", said);
    print_number("right ", right);
    print_number("checksum ", checksum);
    print_number("image ", model_type::image_bytes);
    print_number("workspace ", sizeof memory);
    print_number("stack ", static_cast<std::uint32_t>(board::used_stack()));
    print_number("ticks ", ticks);
    return right * 10 >= said * 9 ? 0 : 1;
}
