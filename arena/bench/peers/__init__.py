"""Other engines under the same load: vLLM, llama.cpp, transformers, and whatever serves the OpenAI interface."""
