"""Runs transformers' continuous batching; see `arena/bench/peers/transformers.py`. The one argument is JSON."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from lines_driver import Message, claim_stdout, serve

PAGE = 32  # tokens


async def main(descriptor: int, settings: dict[str, Any]) -> None:
    import torch
    import transformers
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig
    from transformers.generation import ContinuousBatchingConfig

    torch.set_num_threads(settings["threads"])
    tokenizer = AutoTokenizer.from_pretrained(settings["model"])
    # Without AVX-512 products in bfloat16 are emulated, and slower than in float32.
    dtype = torch.float32 if torch.backends.cpu.get_cpu_capability() == "AVX2" else torch.bfloat16
    model = AutoModelForCausalLM.from_pretrained(settings["model"], dtype=dtype, attn_implementation="sdpa")
    loop = asyncio.get_running_loop()

    def start() -> Any:
        manager = model.init_continuous_batching(
            generation_config=GenerationConfig(do_sample=False, eos_token_id=-1, pad_token_id=0),
            continuous_batching_config=ContinuousBatchingConfig(
                page_size=PAGE,
                num_blocks=2 * settings["slots"] * settings["context"] // PAGE,
                max_batch_tokens=2048,
            ),
        )
        manager.start()
        return manager

    manager = start()

    async def answer(message: Message) -> Message:
        nonlocal manager
        if message.get("reset"):
            await loop.run_in_executor(None, lambda: manager.stop(block=True))
            manager = start()
            return {}
        done: asyncio.Future[Any] = loop.create_future()
        name = str(message["id"])

        def deliver(output: Any) -> None:
            if output.is_finished() and not done.done():
                done.set_result(output)

        manager.register_result_handler(name, deliver)  # called on this loop
        taken = manager.add_request(
            message["prompt"], request_id=name, max_new_tokens=message["max_tokens"], record_timestamps=True
        )
        if taken is None:
            raise RuntimeError("the manager takes no requests")
        output = await done
        if output.error:
            raise RuntimeError(output.error)
        ttft = (output.timestamps[0] - output.created_time) * 1e3 if output.timestamps else None
        return {"text": tokenizer.decode(output.generated_tokens), "ttft_ms": ttft}

    await serve(descriptor, f"transformers {transformers.__version__}, {dtype}", answer)


if __name__ == "__main__":
    asyncio.run(main(claim_stdout(), json.loads(sys.argv[1])))
