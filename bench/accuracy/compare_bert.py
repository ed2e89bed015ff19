# SPDX-License-Identifier: BSD-3-Clause
"""BERT over padded sentences beside transformers' BertModel: random weights, nothing is downloaded.

    pip install --extra-index-url https://download.pytorch.org/whl/cpu -r bench/accuracy/requirements.txt
    bench/accuracy/compare_bert.py                  # the table; fails where the limits of LIMITS are not kept

A BERT of MiniLM's extents (6 layers, 384 channels, 12 heads, 1536 within) over batches of sentences of 3 to 128 tokens, padded
to 128, with two token types. Float is judged by the largest difference over the largest value, at padding too; int8 by the
cosine of each sentence's vectors with transformers' in float, over its real tokens. Static int8 is calibrated with other
sentences. Weights are transformers' initial ones (normal, deviation 0.02) but for --deviation; larger ones make attention
sharper, and 8 bits lose more.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor

ROOT = Path(__file__).resolve().parent.parent.parent
LENGTH, VOCABULARY, SENTENCES, CALIBRATION = 128, 1000, 16, 16
LIMITS = {"float": 1e-4, "dynamic": 0.999}
PROGRAM = """// Written by compare_bert.py.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/models/bert.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>

constexpr std::size_t length = LENGTH;
struct net : zp::models::bert<zp::models::bert_extents{.length = LENGTH, .vocabulary = VOCABULARY}> {};

struct sentences {
    std::vector<std::int32_t> ids, types, mask;
    sentences(const zp::safetensors_file& file, const std::string& name) {
        const auto values = [&](const char* what) { return file.values<std::int32_t>(file.expect(name + what)); };
        ids = values("/ids"), types = values("/types"), mask = values("/mask");
    }
};
template <class Network> std::vector<float> vectors(const Network& network, const sentences& all) {
    const auto memory = std::make_unique<typename Network::workspace>();
    constexpr std::size_t size = Network::output_shape.size();
    std::vector<float> y(all.ids.size() / length * size);
    const auto part = [&](const std::vector<std::int32_t>& of, std::size_t i) { return std::span(of).subspan(i * length, length); };
    for (std::size_t i = 0; i != all.ids.size() / length; ++i)
        network(zp::in(part(all.ids, i), part(all.types, i), part(all.mask, i)), std::span(y).subspan(i * size, size), *memory);
    return y;
}
int main(int, char** arguments) {
    const std::string folder = arguments[1];
    const auto data = zp::safetensors_file::read(folder + "/sentences.safetensors");
    const sentences calibration(data, "calibration"), test(data, "test");
    const auto trained = zp::load<net>(folder + "/bert.safetensors");
    zp::safetensors_writer file;
    const auto add = [&](const char* what, const std::vector<float>& values) {
        file.add(what, {static_cast<std::int64_t>(values.size())}, values);
    };
    add("float", vectors(trained, test));
    add("dynamic", vectors(zp::quantize_dynamic(trained), test));
    const auto seen = zp::calibrate(zp::prepare<zp::accurate_qconfig>(trained), zp::in(calibration.ids, calibration.types, calibration.mask));
    add("static", vectors(zp::convert(seen), test));
    file.write(folder + "/outputs.safetensors");
}
"""


def sentences(count: int, seed: int) -> dict[str, Tensor]:
    """Token ids, 0 at padding; the second half of each sentence is of type 1."""
    draw = torch.Generator().manual_seed(seed)
    lengths = torch.randint(3, LENGTH + 1, (count, 1), generator=draw)
    lengths[0] = LENGTH
    place = torch.arange(LENGTH)
    mask = (place < lengths).long()
    ids = torch.randint(1, VOCABULARY, (count, LENGTH), generator=draw) * mask
    return {"ids": ids, "types": ((place >= lengths // 2) & (mask == 1)).long(), "mask": mask}


def transformers_model(deviation: float, implementation: str) -> torch.nn.Module:
    torch.manual_seed(5)
    config = transformers.BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536,
                                     vocab_size=VOCABULARY, initializer_range=deviation, attn_implementation=implementation)
    return transformers.BertModel(config, add_pooling_layer=False).eval()


def vectors_of(model: torch.nn.Module, batch: dict[str, Tensor]) -> Tensor:
    return model(input_ids=batch["ids"], token_type_ids=batch["types"], attention_mask=batch["mask"]).last_hidden_state


def least_cosine(found: Tensor, reference: Tensor, mask: Tensor) -> tuple[float, float]:
    """Of all sentences, over their real tokens; and of all tokens by themselves."""
    real = mask.bool()
    sentence = [torch.nn.functional.cosine_similarity(a[m].flatten(), b[m].flatten(), dim=0) for a, b, m in zip(found, reference, real)]
    token = torch.nn.functional.cosine_similarity(found[real], reference[real], dim=1)
    return float(min(sentence)), float(token.min())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deviation", type=float, default=0.02, help="of the random weights")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++") + " -O2 -march=native")
    parser.add_argument("--headers", type=Path, default=ROOT / "include", help="zeropoint to measure: another checkout's")
    parser.add_argument("--include", action="append", default=[], help="a folder with xsimd's headers, where needed")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name, torch.inference_mode():
        folder = Path(name)
        model, test = transformers_model(chosen.deviation, "eager"), sentences(SENTENCES, 1)
        save_file({key: value.contiguous() for key, value in model.state_dict().items()}, folder / "bert.safetensors")
        save_file({f"{group}/{key}": value.int() for group, batch in
                   (("test", test), ("calibration", sentences(CALIBRATION, 2))) for key, value in batch.items()},
                  folder / "sentences.safetensors")
        (folder / "bert.cpp").write_text(PROGRAM.replace("VOCABULARY", str(VOCABULARY)).replace("LENGTH", str(LENGTH)))
        subprocess.run([*chosen.compiler.split(), f"-I{chosen.headers}", *(f"-I{path}" for path in chosen.include), "-std=c++20",
                        folder / "bert.cpp", "-o", folder / "bert"], check=True)
        subprocess.run([folder / "bert", folder], check=True)
        reference = vectors_of(model, test)
        found = {key: value.reshape(reference.shape) for key, value in load_file(folder / "outputs.safetensors").items()}
        sdpa = vectors_of(transformers_model(chosen.deviation, "sdpa"), test)
        exact = vectors_of(model.double(), test)
        lengths = test["mask"].sum(1)
    largest = reference.abs().max()
    difference = float((found["float"] - reference).abs().max() / largest)
    print(f"transformers {transformers.__version__}, PyTorch {torch.__version__}; weights of deviation {chosen.deviation}; "
          f"{SENTENCES} sentences of {int(lengths.min())} to {int(lengths.max())} tokens, padded to {LENGTH}")
    print(f"float: within {difference:.1e} of transformers' largest value (its sdpa within "
          f"{float((sdpa - reference).abs().max() / largest):.1e}, float64 within {float((exact - reference).abs().max() / largest):.1e})")
    ours = {}
    for kind in ("dynamic", "static"):
        ours[kind], token = least_cosine(found[kind], reference, test["mask"])
        print(f"{kind} int8: least cosine of a sentence {ours[kind]:.5f}, of a token {token:.5f}")
    return int(difference > LIMITS["float"] or ours["dynamic"] < LIMITS["dynamic"])


if __name__ == "__main__":
    sys.exit(main())
