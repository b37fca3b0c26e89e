"""Names of spans, attributes and events, in one place.

GenAI names follow the OpenTelemetry semantic conventions, which still move; ``VERSION`` says
which text these are from. Names of our own start with ``harness.``.
"""

from __future__ import annotations

VERSION = "semantic conventions 1.38, gen-ai (development)"
SCHEMA_URL = "https://opentelemetry.io/schemas/1.38.0"

OPERATION = "gen_ai.operation.name"
AGENT_NAME = "gen_ai.agent.name"
CONVERSATION_ID = "gen_ai.conversation.id"
REQUEST_MODEL = "gen_ai.request.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"
INPUT_TOKENS = "gen_ai.usage.input_tokens"  # cached ones included
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"  # reasoning included
CACHE_READ_TOKENS = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS = "gen_ai.usage.cache_creation.input_tokens"
REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens"
TOOL_NAME = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
EVALUATION_EVENT = "gen_ai.evaluation.result"
EVALUATION_NAME = "gen_ai.evaluation.name"
EVALUATION_SCORE = "gen_ai.evaluation.score.value"
EVALUATION_LABEL = "gen_ai.evaluation.score.label"
EVALUATION_EXPLANATION = "gen_ai.evaluation.explanation"
ERROR_TYPE = "error.type"

INVOKE_AGENT = "invoke_agent"
CHAT = "chat"
EXECUTE_TOOL = "execute_tool"
ITERATION_SPAN = "harness.iteration"

# An episode's span carries these after the prefix, and the columns of ``episodes`` are the same.
EPISODE = "harness.episode."
THRESHOLD = "harness.threshold."
DIRECTION = "harness.direction"  # which scores are better: higher or lower
# An iteration's span: its columns, one signal a guard, and what fired, by name.
ITERATION = "harness.iteration."
SIGNAL = "harness.signal."
FIRED = "harness.fired"
# An evaluation result that is a guard's verdict; the score's value is the signal.
VERDICT_FIRED = "harness.verdict.fired"
VERDICT_THRESHOLD = "harness.verdict.threshold"
VERDICT_COMPARISON = "harness.verdict.comparison"
UNKNOWN = "harness.unknown"
MECHANISMS = "harness.mechanisms"  # every run and skip
CHECKS = "harness.checks"
ROLE = "harness.role"
COST = "harness.cost_pico_usd"
CALL_OK = "harness.call.ok"
CALL_EXIT_CODE = "harness.call.exit_code"
TIME_KNOWN = "harness.time_known"
"""False where a duration was not recorded; the span is then as long as what is known."""
