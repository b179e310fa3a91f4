package telemetry

import "go.opentelemetry.io/otel/attribute"

// The conventions for generative AI, as of version 1.41 of the semantic conventions with the name
// of cache_write that came after it. They are still being developed, so that all of them are here
// and nowhere else.
const (
	operationAgent = "invoke_agent"
	operationChat  = "chat"
	operationTool  = "execute_tool"

	metricDuration = "gen_ai.client.operation.duration"
	metricTokens   = "gen_ai.client.token.usage"

	tokenInput  = "input"
	tokenOutput = "output"
)

// The names of attributes.
const (
	keyOperation    = attribute.Key("gen_ai.operation.name")
	keyProvider     = attribute.Key("gen_ai.provider.name")
	keyConversation = attribute.Key("gen_ai.conversation.id")
	keyAgentName    = attribute.Key("gen_ai.agent.name")
	keyAgentID      = attribute.Key("gen_ai.agent.id")
	keyModel        = attribute.Key("gen_ai.request.model")
	keyMaxTokens    = attribute.Key("gen_ai.request.max_tokens")
	keyTemperature  = attribute.Key("gen_ai.request.temperature")
	keyReplyModel   = attribute.Key("gen_ai.response.model")
	keyReplyID      = attribute.Key("gen_ai.response.id")
	keyFinish       = attribute.Key("gen_ai.response.finish_reasons")
	keyInput        = attribute.Key("gen_ai.usage.input_tokens") // those of the cache included
	keyOutput       = attribute.Key("gen_ai.usage.output_tokens")
	keyCacheRead    = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	keyCacheWrite   = attribute.Key("gen_ai.usage.cache_write.input_tokens")
	keyToolName     = attribute.Key("gen_ai.tool.name")
	keyToolCall     = attribute.Key("gen_ai.tool.call.id")
	keyTokenType    = attribute.Key("gen_ai.token.type")
	keyError        = attribute.Key("error.type")

	// Content, only where a setting asks for it.
	keyInputMessages  = attribute.Key("gen_ai.input.messages")
	keyOutputMessages = attribute.Key("gen_ai.output.messages")
	keyToolArguments  = attribute.Key("gen_ai.tool.call.arguments")
	keyToolResult     = attribute.Key("gen_ai.tool.call.result")

	// Our own.
	keyPath   = attribute.Key("retinue.agent.path")
	keyDepth  = attribute.Key("retinue.agent.depth")
	keyTask   = attribute.Key("retinue.task.id")
	keyTenant = attribute.Key("retinue.tenant.id")
)
