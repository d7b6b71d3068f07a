"""The streaming detector as a service: OTLP in, findings out, nothing lost in between."""
