"""Runs vLLM in an environment of its own; see `arena/bench/peers/vllm.py`. The one argument is JSON."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

from lines_driver import Message, claim_stdout, serve

BLOCK = 32  # tokens


async def main(descriptor: int, settings: dict[str, Any]) -> None:
    import torch
    import vllm
    from vllm import SamplingParams
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams
    from vllm.v1.engine.async_llm import AsyncLLM

    # Without AVX-512 products in bfloat16 are emulated, and slower than in float32.
    dtype = "float32" if torch.backends.cpu.get_cpu_capability() == "AVX2" else "bfloat16"
    engine = AsyncLLM.from_engine_args(
        AsyncEngineArgs(
            model=settings["model"],
            dtype=dtype,
            enable_prefix_caching=True,
            block_size=BLOCK,
            max_num_seqs=settings["slots"],
            max_num_batched_tokens=max(2048, settings["context"]),
            max_model_len=settings["context"],
            disable_log_stats=True,
            enforce_eager=settings["eager"],
        )
    )

    async def answer(message: Message) -> Message:
        if message.get("reset"):
            await engine.reset_prefix_cache()
            return {}
        choices = message["choices"]
        params = SamplingParams(
            temperature=0.0,
            max_tokens=message["max_tokens"],
            ignore_eos=choices is None,
            structured_outputs=None if choices is None else StructuredOutputsParams(choice=choices),
            output_kind=RequestOutputKind.CUMULATIVE,
        )
        asked = time.perf_counter()
        told: Message = {}
        async for output in engine.generate({"prompt_token_ids": message["prompt"]}, params, str(message["id"])):
            told.setdefault("ttft_ms", (time.perf_counter() - asked) * 1e3)
            told["text"] = output.outputs[0].text
            told["computed"] = len(message["prompt"]) - (output.num_cached_tokens or 0)
        return told

    await serve(descriptor, f"vllm {vllm.__version__}, {dtype}{', not compiled' * settings['eager']}", answer)


if __name__ == "__main__":  # vLLM starts processes that import this file again
    asyncio.run(main(claim_stdout(), json.loads(sys.argv[1])))
