"""The demo: a stuck agent and a healthy one, watched from outside over OTLP; nothing that the package imports."""
