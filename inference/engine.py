"""The engine that callers see: an asyncio front, and one worker thread that runs the steps.

    async with Engine(EngineConfig(model="smollm2-135m")) as engine:
        reply = await engine.generate([Message("user", "Hello")], SamplingParams(max_tokens=16))

A call belongs to the event loop that it is made on; the engine itself to none. Results cross to a loop once a step.
"""

from __future__ import annotations

import asyncio
import math
import platform
import secrets
import threading
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import torch

from inference.choices import ChoiceTrie
from inference.core import EngineCore, Limits, Request
from inference.deciders import ChoiceDecider, Decider, GenerateDecider, ScoreDecider
from inference.errors import (
    EngineClosedError,
    EngineFailedError,
    InferenceError,
    InvalidRequestError,
    ModelError,
    QueueFullError,
)
from inference.formats import (
    KV_CHOICES,
    KV_MEMORY_MB,
    WEIGHT_CHOICES,
    KVChoice,
    KVFormat,
    WeightChoice,
    resolve,
    resolve_kv,
)
from inference.runner import ModelRunner, StepRunner
from inference.scheduler import SchedulerConfig
from inference.types import (
    ChoiceReply,
    EngineStats,
    Message,
    Prompt,
    Reply,
    SamplingParams,
    ScoreReply,
    Text,
    check_temperature,
)
from kernels.attention import KVCache
from kernels.cpu import CpuAttention

if TYPE_CHECKING:
    from inference.loader import LoadedModel
    from inference.models.config import ModelConfig
    from inference.pull import Progress

_STEP_LOCK = threading.Lock()
"""Two engines in one process take turns: each step wants all cores."""


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """What an engine is started with. The switches turn each technique off, to see what it is worth.

    `weights` is how the matrices of the model are held, unless a loaded one is given; `auto` is int8 where that is
    fast, else float32.
    `kv` is how keys and values are held: `auto` is bfloat16 where that is fast and weights are not in float32, else
    float32; int8, with a scale for each token and head, takes a quarter of float32's memory or little more.
    `kv_memory_mb` (MiB) sets the number of KV pages of `page_size` tokens, unless `pages` does.
    `max_batch` bounds the sequences of a step: 1 is a server that answers one request at a time. `continuous_batching`
    off is static batching. `select` is how a choice is made: `walk` decides token by token, `tree` computes all that
    the walk could meet in one pass, which takes more tokens and fewer passes. `shared_attention` off reads a page that
    several sequences share once for each of them. `pad_rows` off computes no more rows than there are tokens: that a
    result does not depend on what runs beside it, to the bit, then no longer holds in float32. `max_waiting` requests
    may wait, each `max_wait_s` seconds; a request may take `max_run_s` seconds in all. `threads` None leaves torch's
    own choice. After a step that answered requests, the next one waits up to `gather_ms` milliseconds for those who ask
    again at once, so that agents in a dialogue with the engine fill its batches.
    """

    model: str = "smollm2-135m"
    weights: WeightChoice = "auto"
    kv: KVChoice = "auto"
    threads: int | None = None
    page_size: int = 64
    pages: int | None = None
    kv_memory_mb: int = KV_MEMORY_MB
    max_batch_tokens: int = 256
    max_batch: int = 256
    max_waiting: int = 1024
    max_wait_s: float | None = 300.0
    max_run_s: float | None = 600.0
    gather_ms: float = 3.0
    prefix_cache: bool = True
    continuous_batching: bool = True
    chunked_prefill: bool = True
    jump_forward: bool = True
    select: Literal["walk", "tree"] = "walk"
    shared_attention: bool = True
    pad_rows: bool = True

    def __post_init__(self) -> None:
        if self.weights not in WEIGHT_CHOICES:
            raise ValueError(f"weights must be one of {', '.join(WEIGHT_CHOICES)}, not {self.weights!r}")
        if self.kv not in KV_CHOICES:
            raise ValueError(f"kv must be one of {', '.join(KV_CHOICES)}, not {self.kv!r}")
        for name in ("page_size", "kv_memory_mb", "max_batch_tokens", "max_batch", "max_waiting"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("threads", "pages"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.select not in ("walk", "tree"):
            raise ValueError(f"select must be walk or tree, not {self.select!r}")
        if not self.gather_ms >= 0:
            raise ValueError(f"gather_ms must be 0 or more, not {self.gather_ms}")
        for name in ("max_wait_s", "max_run_s"):
            if getattr(self, name) is not None and not getattr(self, name) > 0:
                raise ValueError(f"{name} must be more than 0, not {getattr(self, name)}")


class Engine:
    """Owns the model, the worker thread and, through the core, every request in flight.

    Invariant: each accepted call gets exactly one answer or error, or was cancelled by its caller.
    """

    def __init__(
        self,
        config: EngineConfig | None = None,
        *,
        model: LoadedModel | None = None,
        wrap_runner: Callable[[StepRunner], StepRunner] | None = None,
    ) -> None:
        """`model` spares loading it again; `wrap_runner` puts something between plan and model, to look at steps."""
        self.config = config or EngineConfig()
        self._model = model
        self._wrap_runner = wrap_runner
        self._core: EngineCore | None = None
        self._runner: ModelRunner | None = None
        self._thread: threading.Thread | None = None
        self._wake = threading.Condition()
        self._inbox: deque[Request] = deque()
        self._cancelled: deque[Request] = deque()
        self._closing = False
        self._waiting = 0  # in the core's line after the last step
        self._answered = 0  # requests, by the last step
        self._delivered_at = 0.0
        self._stats = EngineStats()
        self._outbox: dict[asyncio.AbstractEventLoop, list[Callable[[], None]]] = defaultdict(list)

    # --- life -----------------------------------------------------------------------------------------------------

    def start(self, progress: Progress | None = None) -> None:
        """Load the model, unless one was given, and start the worker. Blocks for seconds; `progress` is told what takes
        long. Raises ModelError."""
        if self._thread is not None:
            raise InferenceError("the engine is already started")
        with ThreadPoolExecutor(1, thread_name_prefix="inference-memory") as beside:
            # While this thread reads the model: to take the memory keeps the system busy, and Python free.
            if self._model is None:
                from inference.loader import find_model

                found = find_model(self.config.model, progress)
                cache = beside.submit(self._make_cache, found.config)
                self._model = found.load(weights=self.config.weights)
            else:
                cache = beside.submit(self._make_cache, self._model.config)
            if progress is not None:
                progress("preparing the inner loops: a first run compiles them")
            CpuAttention.prepare(getattr(torch, self.kv))
            self._model.transformer.prepare()
            self._core = self._make_core(self._model, cache.result())
        self._stats = self._core.stats()
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="inference-engine", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Fail what is in flight with EngineClosedError and stop the worker: at most the step under way."""
        thread = self._thread
        if thread is None:
            return
        with self._wake:
            self._closing = True
            self._wake.notify()
        thread.join()
        self._thread = self._core = None
        if self._runner is not None:
            self._runner.close()  # frees the KV memory, also where somebody holds on to a step or to the core
            self._runner = None

    async def __aenter__(self) -> Engine:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await asyncio.to_thread(self.close)

    @property
    def alive(self) -> bool:
        """Whether the worker runs and takes requests. A step that fails does not end it; closing and a fault do."""
        thread = self._thread
        return thread is not None and thread.is_alive() and not self._closing

    @property
    def model(self) -> LoadedModel:
        """The loaded model. Raises EngineClosedError before `start`."""
        if self._model is None:
            raise EngineClosedError("the engine has not been started")
        return self._model

    @property
    def model_name(self) -> str:
        return self.model.name

    @property
    def model_checksum(self) -> str:
        return self.model.checksum

    @property
    def kv(self) -> KVFormat:
        """How keys and values are held."""
        return resolve_kv(self.config.kv, self._model.weights if self._model else resolve(self.config.weights))

    def environment(self) -> dict[str, Any]:
        """What a result may depend on besides the request: recorded with every run."""
        padding = {} if self.config.pad_rows else {"pad_rows": False}
        return padding | {
            "device": "cpu",
            "dtype": "float32",
            "weights": self.model.weights,
            "kv": self.kv,
            "instruction_set": torch.backends.cpu.get_cpu_capability(),
            "machine": platform.machine(),
            "threads": self.config.threads or torch.get_num_threads(),
            "torch": torch.__version__,
        }

    def stats(self) -> EngineStats:
        """The figures after the last step."""
        return self._stats

    # --- requests -------------------------------------------------------------------------------------------------

    async def generate(
        self, prompt: Prompt, params: SamplingParams | None = None, *, timeout_s: float | None = None
    ) -> Reply:
        """Continue `prompt`. Raises InvalidRequestError, QueueFullError, RequestTimeoutError, EngineClosedError."""
        decider = self._generation(params)
        request = await self._answer(self._prompt_ids(prompt), decider, timeout_s)
        return decider.reply(request.usage(), request.timing(request.last_token_at))

    async def stream(
        self, prompt: Prompt, params: SamplingParams | None = None, *, timeout_s: float | None = None
    ) -> AsyncIterator[str]:
        """The text of `generate`, in pieces as they become certain. Leaving the loop cancels the request."""
        decider = self._generation(params)
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[str | InferenceError | None] = asyncio.Queue()
        sent = 0

        def progress(request: Request) -> None:
            nonlocal sent
            piece, sent = decider.text[sent : decider.stable], max(sent, decider.stable)
            if piece:
                self._outbox[loop].append(lambda: pieces.put_nowait(piece))

        def done(request: Request, error: InferenceError | None) -> None:
            progress(request)
            self._outbox[loop].append(lambda: pieces.put_nowait(error))

        request = Request(self._prompt_ids(prompt), decider, done, progress, self._limits(timeout_s))
        self._submit(request)
        try:
            while True:
                piece = await pieces.get()
                if piece is None:
                    return
                if isinstance(piece, InferenceError):
                    raise piece
                yield piece
        finally:
            self._cancel(request)

    async def choose(
        self,
        prompt: Prompt,
        choices: Sequence[str],
        *,
        temperature: float = 1.0,
        seed: int | None = None,
        terminator: str | None = None,
        timeout_s: float | None = None,
    ) -> ChoiceReply:
        """One of `choices`, by walking their token trie: at each branching node the model's probabilities are
        renormalised over the children, at `temperature`. Anything else cannot come out.

        A choice that another one begins with competes with it by the token that would follow: the end of the turn,
        or `terminator`, a text of one token.

        Raises InvalidRequestError for no, empty or equal choices, and what `generate` raises.
        """
        check_temperature(temperature)
        ids = self._prompt_ids(prompt)
        decider = ChoiceDecider(
            choices,
            self._trie(ids, choices, terminator),
            temperature=temperature,
            seed=_seed(seed),
            jump_forward=self.config.jump_forward,
            one_pass=self.config.select == "tree",
        )
        request = await self._answer(ids, decider, timeout_s)
        return decider.reply(request.usage(), request.timing(request.last_token_at or request.submitted_at))

    async def score(
        self,
        prompt: Prompt,
        choices: Sequence[str],
        *,
        terminator: str | None = None,
        timeout_s: float | None = None,
    ) -> ScoreReply:
        """The probability of each whole choice as the continuation of `prompt`: the exact sequence log-probability,
        not divided by length, and the same normalised over the choices. The whole trie is computed in one pass.

        Raises what `choose` raises.
        """
        ids = self._prompt_ids(prompt)
        decider = ScoreDecider(self._trie(ids, choices, terminator), len(choices))
        request = await self._answer(ids, decider, timeout_s)
        total = torch.logsumexp(torch.tensor(decider.logprobs, dtype=torch.float64), dim=0).item()
        return ScoreReply(
            logprobs=tuple(decider.logprobs),
            probabilities=tuple(math.exp(logprob - total) for logprob in decider.logprobs),
            usage=request.usage(),
            timing=request.timing(request.last_token_at),
        )

    # --- from call to request ---------------------------------------------------------------------------------------

    def _generation(self, params: SamplingParams | None) -> GenerateDecider:
        params = params or SamplingParams()
        return GenerateDecider(params, _seed(params.seed), self.model.tokenizer)

    def _prompt_ids(self, prompt: Prompt) -> tuple[int, ...]:
        """Token ids of a prompt. Raises InvalidRequestError for an empty one or ids outside the vocabulary."""
        if isinstance(prompt, str):
            raise InvalidRequestError(
                f"the prompt must be messages, a Text or token ids, not a string: {prompt[:40]!r}"
            )
        if isinstance(prompt, Text):
            return self.model.tokenizer.encode_text(prompt.content)
        if not prompt:
            raise InvalidRequestError("the prompt is empty: at least one message or token is needed")
        if isinstance(prompt[0], int):
            ids = tuple(cast(Sequence[int], prompt))
            size = self.model.config.vocab_size
            if bad := [token for token in ids if not 0 <= token < size]:
                raise InvalidRequestError(f"token id {bad[0]} is outside the vocabulary of {size}")
            return ids
        return self.model.tokenizer.encode_messages(cast(Sequence[Message], prompt))

    def _trie(self, ids: Sequence[int], choices: Sequence[str], terminator: str | None) -> ChoiceTrie:
        if isinstance(choices, str) or not choices:
            raise InvalidRequestError(f"choices must be a list of at least one string, not {choices!r}")
        if "" in choices:
            raise InvalidRequestError(f"choice {list(choices).index('')} is empty")
        if len(set(choices)) < len(choices):
            twice = next(choice for choice in choices if list(choices).count(choice) > 1)
            raise InvalidRequestError(f"the choices are not distinct: {twice!r} is there twice")
        tokenizer = self.model.tokenizer
        end = [tokenizer.end_of_turn_id] if terminator is None else tokenizer.encode(terminator)
        if len(end) != 1:
            raise InvalidRequestError(f"the terminator must be one token, and {terminator!r} is {len(end)}")
        return ChoiceTrie.build(tokenizer.encode_choices(ids, choices), end[0])

    def _limits(self, timeout_s: float | None) -> Limits:
        totals = [limit for limit in (timeout_s, self.config.max_run_s) if limit is not None]
        return Limits(wait_s=self.config.max_wait_s, total_s=min(totals, default=None))

    async def _answer(self, ids: Sequence[int], decider: Decider, timeout_s: float | None) -> Request:
        """Submit a request and wait for its end."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Request] = loop.create_future()

        def done(request: Request, error: InferenceError | None) -> None:
            self._outbox[loop].append(lambda: _settle(future, request, error))

        request = Request(ids, decider, done, limits=self._limits(timeout_s))
        self._submit(request)
        try:
            return await future
        finally:
            self._cancel(request)

    def _submit(self, request: Request) -> None:
        """Hand a request to the worker. Fails fast: raises QueueFullError, EngineClosedError, RequestTooLargeError."""
        core = self._core
        if core is None or self._thread is None or self._closing:
            raise EngineClosedError("the engine is not running: use `async with Engine(...)` or call start()")
        core.check(request.prompt, request.decider.max_new_tokens)
        with self._wake:
            if self._closing:
                raise EngineClosedError("the engine was closed")
            waiting = len(self._inbox) + self._waiting
            if waiting >= self.config.max_waiting:
                raise QueueFullError(f"{waiting} requests wait already; the limit is {self.config.max_waiting}")
            request.submitted_at = core.clock()
            self._inbox.append(request)
            self._wake.notify()

    def _cancel(self, request: Request) -> None:
        """Safe in every state, from any thread; what is done already stays done."""
        if request.done:
            return
        with self._wake:
            self._cancelled.append(request)
            self._wake.notify()

    # --- the worker ---------------------------------------------------------------------------------------------------

    def _make_cache(self, shape: ModelConfig) -> KVCache:
        config, dtype = self.config, getattr(torch, self.kv)
        page_bytes = KVCache.page_bytes(shape.layers, shape.kv_heads, config.page_size, shape.head_dim, dtype)
        pages = config.pages or config.kv_memory_mb * 2**20 // page_bytes
        if pages < 1:
            raise ModelError(
                f"kv_memory_mb={config.kv_memory_mb} holds no KV page of {config.model}: "
                f"a page of {config.page_size} tokens takes {page_bytes / 2**20:.1f} MiB"
            )
        return KVCache(shape.layers, pages + 1, shape.kv_heads, config.page_size, shape.head_dim, dtype=dtype)

    def _make_core(self, model: LoadedModel, cache: KVCache) -> EngineCore:
        config = self.config
        attention = CpuAttention(shared=config.shared_attention)
        self._runner = runner = ModelRunner(model.transformer, cache, attention, pad_rows=config.pad_rows)
        return EngineCore(
            runner=self._wrap_runner(runner) if self._wrap_runner else runner,
            pages=len(cache.k[0]) - 1,  # without the null page
            page_size=config.page_size,
            context_length=model.config.context_length,
            config=SchedulerConfig(
                max_batch_tokens=config.max_batch_tokens,
                max_running=config.max_batch,
                continuous_batching=config.continuous_batching,
                chunked_prefill=config.chunked_prefill,
                share_cold_prefixes=config.prefix_cache,
            ),
            prefix_cache=config.prefix_cache,
        )

    def _work(self) -> None:
        """The step loop: the one thread that touches the core."""
        core = self._core
        assert core is not None
        if self.config.threads is not None:
            torch.set_num_threads(self.config.threads)
        try:
            while self._take_in(core):
                done = core.metrics.finished
                with _STEP_LOCK:
                    core.step()
                self._answered = core.metrics.finished - done
                self._waiting = len(core.scheduler.waiting)
                self._stats = core.stats(len(self._inbox))
                self._deliver()
                self._delivered_at = time.perf_counter()
        except Exception as error:  # a bug in the engine itself: nobody may be left waiting
            failure = EngineFailedError(f"the engine stopped: {error!r}")
            failure.__cause__ = error
            self._shut(core, failure)
            raise
        self._shut(core, EngineClosedError("the engine was closed before the request was done"))

    def _take_in(self, core: EngineCore) -> bool:
        """Wait for work; take new requests and cancellations in. False when it is time to close."""
        with self._wake:
            while not (self._inbox or self._cancelled or self._closing or core.has_work):
                self._wake.wait()
            until = self._delivered_at + self.config.gather_ms / 1e3
            while len(self._inbox) < self._answered and not self._closing:
                left = until - time.perf_counter()
                if left <= 0 or not self._wake.wait(left):
                    break
            if self._closing:
                return False
            while self._inbox:
                core.add(self._inbox[0])
                self._inbox.popleft()
            while self._cancelled:
                core.cancel(self._cancelled.popleft())
            self._waiting = len(core.scheduler.waiting)
        return True

    def _shut(self, core: EngineCore, error: InferenceError) -> None:
        """Take no more requests and answer all there are with `error`, also where the core is at fault."""
        with self._wake:
            self._closing = True
            left = list(self._inbox)
            self._inbox.clear()
            self._cancelled.clear()
            self._waiting = 0
        try:
            core.abort_all(error)
        finally:
            for request in left:
                if not request.done:
                    request.done = True
                    request.on_done(request, error)
            self._deliver()
        self._stats = core.stats()

    def _deliver(self) -> None:
        """Send what the step decided, with one wake-up for each event loop."""
        outbox, self._outbox = self._outbox, defaultdict(list)
        for loop, calls in outbox.items():
            try:
                loop.call_soon_threadsafe(_run_all, calls)
            except RuntimeError:  # the caller's loop is closed: nobody is waiting there any more
                continue


def _run_all(calls: Sequence[Callable[[], None]]) -> None:
    for call in calls:
        call()


def _settle(future: asyncio.Future[Request], request: Request, error: InferenceError | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(request)


def _seed(seed: int | None) -> int:
    return secrets.randbits(63) if seed is None else seed
