// An agent that is stuck: five equal tool calls, sent by the exporter of OpenTelemetry's SDK for Node.
// node agent.mjs grpc|http-protobuf|http-json ENDPOINT
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";

const [, , protocol, endpoint] = process.argv;
const packages = {
  grpc: "@opentelemetry/exporter-trace-otlp-grpc",
  "http-protobuf": "@opentelemetry/exporter-trace-otlp-proto",
  "http-json": "@opentelemetry/exporter-trace-otlp-http",
};
const { OTLPTraceExporter } = await import(packages[protocol]);
const url = protocol === "grpc" ? endpoint : `${endpoint}/v1/traces`;
const exporter = new OTLPTraceExporter({ url, compression: protocol === "http-json" ? "none" : "gzip" });
const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
const tracer = provider.getTracer("agent");
for (let call = 0; call < 5; call += 1) {
  const span = tracer.startSpan("execute_tool search", {
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "search",
      "gen_ai.conversation.id": `node-${protocol}`,
      "gen_ai.tool.call.arguments": '{"q": "canary"}',
      "gen_ai.tool.call.result": "[]",
    },
  });
  await new Promise((done) => setTimeout(done, 5));
  span.end();
}
await provider.shutdown();
