// An agent that is stuck: five equal tool calls, sent by the exporter of OpenTelemetry's SDK for Go.
// main grpc|http HOST:PORT
package main

import (
	"context"
	"log"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"
)

func main() {
	ctx := context.Background()
	protocol, endpoint := os.Args[1], os.Args[2]
	var client otlptrace.Client
	if protocol == "grpc" {
		client = otlptracegrpc.NewClient(otlptracegrpc.WithEndpoint(endpoint), otlptracegrpc.WithInsecure(), otlptracegrpc.WithCompressor("gzip"))
	} else {
		client = otlptracehttp.NewClient(otlptracehttp.WithEndpoint(endpoint), otlptracehttp.WithInsecure(), otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		log.Fatal(err)
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter))
	tracer := provider.Tracer("agent")
	for call := 0; call < 5; call++ {
		_, span := tracer.Start(ctx, "execute_tool search", api.WithAttributes(
			attribute.String("gen_ai.operation.name", "execute_tool"),
			attribute.String("gen_ai.tool.name", "search"),
			attribute.String("gen_ai.conversation.id", "go-"+protocol),
			attribute.String("gen_ai.tool.call.arguments", `{"q": "canary"}`),
			attribute.String("gen_ai.tool.call.result", "[]"),
		))
		time.Sleep(5 * time.Millisecond)
		span.End()
	}
	if err := provider.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
}
